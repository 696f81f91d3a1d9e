;; Keeps an object on the collected heap and adds up in it: an execution that meets the object of another one traps.
(module
  (type $cell (struct (field $sum (mut i32))))
  (memory (export "memory") 1)
  (global $kept (mut (ref null $cell)) (ref.null $cell))
  (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
    (if (ref.is_null (global.get $kept))
      (then (global.set $kept (struct.new $cell (i32.const 0))))
      (else (unreachable)))
    (struct.set $cell $sum (global.get $kept) (i32.add (struct.get $cell $sum (global.get $kept)) (local.get $size)))
    (i32.gt_u (struct.get $cell $sum (global.get $kept)) (i32.const 10))))
