;; length_list by hand: how many numbers, from 1 to 100, then so many from 0 to 1000; none is 900 or more.
(module
  (import "fuzzbox_v1" "draw_int" (func $int (param i64 i64 i64) (result i64)))
  (import "fuzzbox_v1" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "the largest is 900 or more")

  (func (export "fbx_length_list")
    (local $left i64) (local $number i64) (local $largest i64)
    (local.set $left (call $int (i64.const 1) (i64.const 100) (i64.const 0)))
    (loop $numbers
      (local.set $number (call $int (i64.const 0) (i64.const 1000) (i64.const 0)))
      (if (i64.gt_s (local.get $number) (local.get $largest))
        (then (local.set $largest (local.get $number))))
      (local.set $left (i64.sub (local.get $left) (i64.const 1)))
      (br_if $numbers (i64.ne (local.get $left) (i64.const 0))))
    (if (i64.ge_s (local.get $largest) (i64.const 900))
      (then (call $fail (i32.const 16) (i32.const 26))))))
