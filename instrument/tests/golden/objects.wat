;; Garbage-collected objects can't be put back.
(module
  (type $s (struct (field (mut i32))))
  (global $g (mut (ref null $s)) (ref.null $s))
  (func (export "f")
    i32.const 1
    struct.new $s
    global.set $g))
