;; A guest that does nothing: what an execution of it takes is what everything around the guest takes.
(module
  (memory (export "memory") 1)
  (func (export "malloc") (param i32) (result i32)
    i32.const 1024)
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
    i32.const 0))
