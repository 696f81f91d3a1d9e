;; Loops in loops with exits over several levels.
(module
  (func $leaf (param i32) (result i32) (i32.shr_u (local.get 0) (i32.const 1)))
  (func (export "f") (param $n i32) (result i32)
    (local $i i32) (local $s i32)
    (block $done
      (loop $outer
        (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (loop $inner
          (local.set $s (i32.add (local.get $s) (call $leaf (local.get $i))))
          (br_if $outer (i32.and (local.get $s) (i32.const 1)))
          (br_if $done (i32.gt_u (local.get $s) (i32.const 1000)))
          (br_if $inner (i32.and (local.get $s) (i32.const 2))))
        (br $outer)))
    (local.get $s)))
