;; Locals in groups, of all kinds of types, and a select of each sort.
(module
  (func (export "f") (param i32) (result i32)
    (local i32 i32 i32 i64 i64 f32 f64 v128 funcref externref)
    (local.set 1 (local.tee 2 (local.get 0)))
    (local.set 9 (select (result funcref) (ref.null func) (local.get 9) (local.get 0)))
    (select (local.get 1) (i32.const 5) (local.get 2)))
  (func (export "unset") (param i32) (result i64)
    (local i64)
    (if (local.get 0) (then (local.set 1 (i64.const 1))))
    (local.get 1)))
