;; Several memories, one of them 64-bit, one imported, one of small pages.
(module
  (import "env" "memory" (memory $in 0 9))
  (memory $big i64 1 2)
  (memory $tiny 10 20 (pagesize 1))
  (data $d "bytes")
  (data (memory $big) (i64.const 8) "there")
  (func (export "f") (param i32 i64) (result i64)
    (i64.store $big offset=4294967296 (local.get 1) (i64.load $in (local.get 0)))
    (memory.copy $big $in (local.get 1) (i32.const 0) (i32.const 3))
    (memory.init $tiny $d (i32.const 0) (i32.const 1) (i32.const 2))
    (memory.fill $big (i64.const 0) (i32.const 7) (i64.const 8))
    (drop (memory.grow $tiny (i32.const 1)))
    (memory.size $big)))
