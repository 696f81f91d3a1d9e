;; A `br_if` that carries values needs a block type with them: added once for each list of values.
(module
  (type $pair (func (result i32 i64)))
  (func (export "no_values") (param i32)
    block
      local.get 0
      br_if 0
    end)
  (func (export "one_value") (param i32) (result i32)
    block (result i32)
      i32.const 7
      local.get 0
      br_if 0
      i32.const 1
      i32.add
    end)
  (func (export "two_values") (param i32) (result i32 i64)
    i32.const 7
    i64.const 8
    local.get 0
    br_if 0
    block (type $pair)
      i32.const 1
      i64.const 2
      local.get 0
      br_if 0
      br 1
    end
    drop
    drop))
