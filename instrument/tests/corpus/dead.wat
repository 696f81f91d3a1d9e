;; Code that can't be reached, with operators that take what isn't there.
(module
  (tag $e)
  (func (export "f") (param i32) (result i32)
    (block $out (result i32)
      (return (local.get 0))
      i32.add
      br_if $out
      select
      (br_table $out $out)
      (block (try_table (catch_all 0) unreachable))
      (loop (result i32) (br 1 (i32.const 1)))
      drop
      br_on_null $out
      ref.as_non_null
      throw_ref)))
