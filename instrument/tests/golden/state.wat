;; All state gets a name, and what changes it in ways that need to be undone is flagged.
(module
  (import "env" "memory" (memory 1))
  (import "env" "table" (table 1 funcref))
  (import "env" "g" (global $imported (mut i64)))
  (memory $own 1 2)
  (table $own 1 externref)
  (global $constant i32 (i32.const 1))
  (global $variable (mut f32) (f32.const 1))
  (elem $e func $f)
  (data $d "abc")
  (func $f (export "f") (param i32) (result i32)
    local.get 0
    ref.func $f
    table.set 0
    i32.const 0
    i32.const 0
    i32.const 1
    memory.init $own $d
    data.drop $d
    i32.const 0
    i32.const 0
    i32.const 1
    table.init 0 $e
    elem.drop $e
    ref.null extern
    i32.const 1
    table.grow $own
    drop
    i32.const 0
    ref.null func
    i32.const 1
    table.fill 0
    i32.const 0
    i32.const 0
    i32.const 1
    table.copy 0 0
    i32.const 1
    memory.grow $own))
