;; Loads and stores of all widths.
(module
  (memory (export "memory") 1 4)
  (data (i32.const 16) "\01\02\03\04\05\06\07\08")
  (func (export "f") (param i32) (result i64)
    (i32.store8 offset=3 (local.get 0) (i32.load16_s align=1 (local.get 0)))
    (i64.store32 (local.get 0) (i64.load8_u offset=65536 (local.get 0)))
    (f64.store (local.get 0) (f64.promote_f32 (f32.load (local.get 0))))
    (i64.extend_i32_u (i32.add (memory.size) (memory.grow (i32.const 1))))))
