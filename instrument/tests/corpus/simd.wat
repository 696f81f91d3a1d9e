;; Vectors: lanes, shuffles, loads, stores, arithmetic.
(module
  (memory 1)
  (func (export "f") (param i32 v128) (result v128)
    (v128.store8_lane 3 (local.get 0) (local.get 1))
    (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
      (i32x4.add (v128.load (local.get 0)) (i32x4.splat (i32.const 3)))
      (v128.bitselect (f64x2.sqrt (local.get 1)) (v128.load32_zero (local.get 0)) (i16x8.eq (local.get 1) (v128.const i8x16 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)))))
  (func (export "lanes") (param v128) (result i32)
    (i32.add (v128.any_true (local.get 0)) (i16x8.extract_lane_s 5 (i16x8.replace_lane 2 (local.get 0) (i32.const 7)))))
  (func (export "chosen") (param v128 v128 i32) (result v128) (select (local.get 0) (local.get 1) (local.get 2))))
