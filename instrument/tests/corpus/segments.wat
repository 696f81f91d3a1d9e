;; Many segments of all kinds, some empty.
(module
  (memory 1)
  (table 10 funcref)
  (data "") (data (i32.const 1) "") (data "abc") (data (i32.const 65535) "z")
  (elem func) (elem (i32.const 1) func $f $f) (elem declare func $f) (elem (i32.const 9) funcref (item (ref.null func)))
  (func $f (export "f")
    (data.drop 0) (data.drop 2) (elem.drop 0)
    (memory.init 2 (i32.const 0) (i32.const 0) (i32.const 3))))
