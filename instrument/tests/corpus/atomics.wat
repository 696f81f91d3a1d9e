;; Atomic operators on a shared memory.
(module
  (memory 1 2 shared)
  (func (export "f") (param i32 i64) (result i32)
    (i32.atomic.store (local.get 0) (i32.atomic.rmw.add (local.get 0) (i32.const 1)))
    (drop (i64.atomic.rmw16.cmpxchg_u (local.get 0) (local.get 1) (i64.const 3)))
    (atomic.fence)
    (drop (memory.atomic.wait64 (local.get 0) (i64.const 1) (i64.const 1000)))
    (i32.add (i32.atomic.load8_u (local.get 0)) (memory.atomic.notify (local.get 0) (i32.const 1)))))
