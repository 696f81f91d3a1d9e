;; reverse by hand: a list is the same backwards..
(module
  (import "fuzzbox_v1" "draw_int" (func $int (param i64 i64 i64) (result i64)))
  (import "fuzzbox_v1" "draw_more" (func $more (param i32 i32 i32) (result i32)))
  (import "fuzzbox_v1" "span_begin" (func $begin (param i32)))
  (import "fuzzbox_v1" "span_end" (func $end (param i32)))
  (import "fuzzbox_v1" "fail" (func $fail (param i32 i32)))
  ;; As many numbers as an execution can have, and the text before them.
  (memory (export "memory") 9)
  (data (i32.const 16) "not the same backwards")

  (func (export "fbx_reverse")
    (local $first i32) (local $last i32)
    (local.set $last (i32.const 64))
    (call $begin (i32.const 1))
    (block $drawn
      (loop $elements
        (br_if $drawn (i32.eqz (call $more (i32.const 0) (i32.const 0x7fffffff) (i32.const 1280))))
        (call $begin (i32.const 2))
        (i64.store
          (local.get $last)
          (call $int (i64.const 0x8000000000000000) (i64.const 0x7fffffffffffffff) (i64.const 0)))
        (call $end (i32.const 0))
        (local.set $last (i32.add (local.get $last) (i32.const 8)))
        (br $elements)))
    (call $end (i32.const 0))

    (local.set $first (i32.const 64))
    (block $same
      (loop $compare
        (local.set $last (i32.sub (local.get $last) (i32.const 8)))
        (br_if $same (i32.ge_s (local.get $first) (local.get $last)))
        (if (i64.ne (i64.load (local.get $first)) (i64.load (local.get $last)))
          (then (call $fail (i32.const 16) (i32.const 22))))
        (local.set $first (i32.add (local.get $first) (i32.const 8)))
        (br $compare)))))
