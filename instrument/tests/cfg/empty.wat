;; The smallest body there is, and one that needs escapes.
(module
  (import "env" "imported" (func))
  (func)
  (func (export "say \"\\hello\\\"\n") (result i32) i32.const 1 return))
