;; traced
(module
  (memory 1)
  (memory $wide i64 1)
  (data $bytes "abc")
  (func $numbers (export "numbers") (param i32 i64 f32 f64) (result i32)
    local.get 0
    i32.const 7
    i32.lt_u
    local.get 1
    i64.eqz
    i32.and
    local.get 2
    f32.const 1.5
    f32.ge
    i32.and
    local.get 3
    local.get 3
    f64.ne
    i32.and)
  (func $conditions (export "conditions") (param i32) (result i32)
    block
      ;; Of a condition that is a comparison, only the comparison is recorded.
      local.get 0
      i32.const 3
      i32.eq
      i32.eqz
      br_if 0
      ;; This is one.
      local.get 0
      br_if 0
    end
    local.get 0
    if
      nop
    end
    i32.const 1
    i32.const 2
    local.get 0
    select)
  (func $table (export "table") (param i32)
    block
      block
        local.get 0
        br_table 0 1 0
      end
    end)
  (func $memory (export "memory") (param i32 i64)
    local.get 0
    i32.const 65
    i32.const 3
    memory.fill
    i32.const 1
    local.get 0
    i32.const 2
    memory.copy
    local.get 1
    i32.const 0
    i32.const 3
    memory.init $wide $bytes
    local.get 0
    local.get 1
    i32.const 1
    memory.copy 0 $wide)
  (func $dead (export "dead") (result i32)
    i32.const 1
    return
    i32.eq
    i32.eqz
    if
    end
    memory.fill))
