;; difference_one by hand: two numbers from 1 on; from 10 on they do not differ by one.
(module
  (import "fuzzbox_v1" "draw_uint" (func $uint (param i64 i64 i64) (result i64)))
  (import "fuzzbox_v1" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "a difference of one")

  (func $number (result i64)
    (call $uint (i64.const 1) (i64.const 0x7fffffff) (i64.const 0)))

  (func (export "fbx_difference_one")
    (local $a i64) (local $difference i64)
    (local.set $a (call $number))
    (local.set $difference (i64.sub (local.get $a) (call $number)))
    (if (i64.lt_u (local.get $a) (i64.const 10))
      (then (return)))
    (if (i64.eq (i64.mul (local.get $difference) (local.get $difference)) (i64.const 1))
      (then (call $fail (i32.const 16) (i32.const 19))))))
