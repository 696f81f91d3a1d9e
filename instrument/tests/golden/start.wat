;; A start function runs on the fuel that the instance starts with; other segments keep their numbers.
(module
  (memory 1)
  (data $d (i32.const 8) "abc")
  (data $p "def")
  (func $start
    i32.const 0
    i32.const 0
    i32.const 3
    memory.init $p)
  (start $start))
