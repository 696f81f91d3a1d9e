;; Numeric operators, one of each signature at least.
(module
  (func (export "ints") (param i32 i64) (result i64)
    (i64.add (i64.extend_i32_s (i32.rotl (i32.clz (i32.div_s (local.get 0) (i32.const 3))) (i32.eqz (local.get 0))))
      (i64.mul (i64.shr_u (local.get 1) (i64.const 7)) (i64.extend_i32_u (i64.lt_s (local.get 1) (i64.const -9))))))
  (func (export "floats") (param f32 f64) (result f64)
    (f64.copysign (f64.promote_f32 (f32.sqrt (f32.max (local.get 0) (f32.const nan)))) (f64.div (local.get 1) (f64.const -0))))
  (func (export "compare") (param f32 f64) (result i32)
    (i32.and (f32.lt (local.get 0) (f32.const 1)) (f64.ge (f64.neg (local.get 1)) (f64.const inf))))
  (func (export "convert") (param f64) (result i32)
    (i32.add (i32.trunc_f64_s (local.get 0)) (i32.reinterpret_f32 (f32.demote_f64 (f64.convert_i64_u (i64.reinterpret_f64 (local.get 0))))))))
