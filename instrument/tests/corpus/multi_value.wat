;; Functions and blocks with many results.
(module
  (func $many (param i32) (result i32 i64 f32 f64 i32)
    (local.get 0) (i64.const 1) (f32.const 2) (f64.const 3) (i32.const 4))
  (func (export "f") (param i32) (result i32 i64 f32 f64 i32)
    (block $out (result i32 i64 f32 f64 i32)
      (call $many (local.get 0))
      (br_if $out (local.get 0))
      (br_table $out $out (local.get 0)))
    (return)))
