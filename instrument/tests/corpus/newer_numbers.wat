;; Sign extension, saturating conversions, wide arithmetic, extended constants.
(module
  (global $a i32 (i32.const 3))
  (global $b i32 (i32.add (global.get $a) (i32.mul (i32.const 4) (i32.const 5))))
  (func (export "extend") (param i32 i64) (result i64)
    (i64.extend16_s (i64.xor (i64.extend_i32_s (i32.extend8_s (local.get 0))) (i64.extend32_s (local.get 1)))))
  (func (export "saturate") (param f32 f64) (result i32)
    (i32.or (i32.trunc_sat_f32_s (local.get 0)) (i32.wrap_i64 (i64.trunc_sat_f64_u (local.get 1)))))
  (func (export "wide") (param i64 i64) (result i64 i64)
    (i64.add128 (i64.mul_wide_u (local.get 0) (local.get 1)) (i64.mul_wide_s (local.get 1) (local.get 0)))))
