;; Globals of all types, imported and mutable ones.
(module
  (import "env" "g" (global $in (mut i64)))
  (import "env" "c" (global $constant i32))
  (global $x (mut i32) (global.get $constant))
  (global $v (mut v128) (v128.const i64x2 1 2))
  (global $r (mut funcref) (ref.func $f))
  (global $e externref (ref.null extern))
  (export "x" (global $x))
  (func $f (export "f") (result i64)
    (global.set $x (i32.add (global.get $x) (i32.const 1)))
    (global.set $r (ref.null func))
    (global.set $in (i64.extend_i32_s (global.get $x)))
    (global.get $in)))
