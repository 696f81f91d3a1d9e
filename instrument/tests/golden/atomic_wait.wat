;; A wait is over at once: nobody else could notify.
(module
  (memory 1 1 shared)
  (func (export "f") (param i64) (result i32)
    i32.const 0
    i32.const 0
    local.get 0
    memory.atomic.wait32))
