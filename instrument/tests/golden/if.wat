;; Both ways of `if` are counted; one without `else` gets it.
(module
  (func (export "without_else") (param i32)
    local.get 0
    if
      nop
    end)
  (func (export "with_else") (param i32) (result i32)
    local.get 0
    if (result i32)
      i32.const 1
    else
      i32.const 2
    end)
  (func (export "values_pass_through") (param i32) (result i32)
    i32.const 5
    local.get 0
    if (param i32) (result i32)
      i32.const 1
      i32.add
    end))
