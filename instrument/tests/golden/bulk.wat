;; unfolded
;; Operators that do as much as an operand says take fuel for it.
(module
  (memory $small 1)
  (memory $large i64 1)
  (func (export "fill") (param i32)
    i32.const 0
    i32.const 255
    local.get 0
    memory.fill $small)
  (func (export "copy") (param i64)
    i64.const 0
    i64.const 8
    local.get 0
    memory.copy $large $large))
