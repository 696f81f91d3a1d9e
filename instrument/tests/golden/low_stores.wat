;; traced
;; Data begins at 1024 and the stack lies above it: so nothing is below.
(module
  (memory $m (export "memory") 2)
  (memory $other i64 1)
  (global $__stack_pointer (mut i32) (i32.const 66576))
  (data (i32.const 1040) "b")
  (data (i32.const 1024) "a")
  (data $passive "c")
  (func $stores (param i32)
    local.get 0
    i64.const 1
    i64.store8 offset=12
    local.get 0
    i32.const 1
    i32.store offset=1024
    local.get 0
    local.get 0
    local.get 0
    i32.load8_u
    i32.atomic.rmw.cmpxchg offset=1020
    drop
    i64.const 0
    i32.const 1
    i32.store $other)
  (func $in_bulk (param i32)
    local.get 0
    i64.const 0
    local.get 0
    memory.copy $m $other
    i32.const 0
    i32.const 0
    i32.const 1
    memory.init $passive
    i64.const 0
    i32.const 0
    local.get 0
    memory.copy $other $m
    return
    i32.const 0
    i32.const 1
    i32.store))
