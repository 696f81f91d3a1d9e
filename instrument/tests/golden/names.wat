;; Exported names that look like ours, and no memory, table or global: the prefix changes.
(module
  (import "env" "log" (func))
  (func $named (export "fuzzbox:injected"))
  (func (export "fuzzbox1:memory:0"))
  (func))
