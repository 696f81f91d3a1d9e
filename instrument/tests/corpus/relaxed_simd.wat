;; Vector operators whose results the engine may choose.
(module
  (func (export "f") (param v128 v128 v128) (result v128)
    (f32x4.relaxed_madd (local.get 0) (local.get 1)
      (i8x16.relaxed_laneselect (i8x16.relaxed_swizzle (local.get 0) (local.get 1)) (i32x4.relaxed_trunc_f32x4_s (local.get 2))
        (i16x8.relaxed_dot_i8x16_i7x16_s (local.get 1) (local.get 2))))))
