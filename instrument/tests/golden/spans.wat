;; traced
(module
  (tag $e (param i32))
  (func $plain (export "plain") (param i32)
    local.get 0
    br_if 0
    nop)
  (func $one_value (export "one_value") (param i32) (result i32)
    i32.const 7
    local.get 0
    br_if 0
    drop
    i32.const 8
    return)
  (func $two_values (export "two_values") (param i32) (result i32 i64)
    block
      i32.const 1
      i64.const 2
      local.get 0
      br_table 1 1
    end
    unreachable)
  (func $tail_call (export "tail_call") (param i32) (result i32)
    local.get 0
    if
      local.get 0
      return_call $one_value
    end
    i32.const 9)
  (func $throws (param i32)
    local.get 0
    throw $e)
  (func $passes (param i32)
    local.get 0
    call $throws)
  (func $catches (export "catches") (param i32) (result i32)
    block (result i32)
      try_table (catch $e 0)
        local.get 0
        call $passes
      end
      i32.const 1
    end
    call $one_value)
  (func $never_ends (export "never_ends")
    loop
      br 0
    end)
  (func $is_left (export "is_left") (result (ref func))
    ref.func $is_left
    return))
