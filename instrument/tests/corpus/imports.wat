;; Imports of all kinds, exports of what is imported.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "env" "memory" (memory 1))
  (import "env" "table" (table 1 10 funcref))
  (import "env" "base" (global i32))
  (import "env" "stack" (global (mut i32)))
  (import "env" "tag" (tag (param i32)))
  (export "write" (func $write))
  (export "memory" (memory 0))
  (export "stack" (global 1))
  (elem (offset (global.get 0)) func $main)
  (func $main (export "_start")
    (drop (call $write (i32.const 1) (global.get 0) (i32.const 1) (global.get 1)))))
