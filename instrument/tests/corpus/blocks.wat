;; Blocks with parameters and results, branches that carry values.
(module
  (type $swap (func (param i32 i64) (result i64 i32)))
  (func (export "f") (param i32 i64) (result i64 i32)
    (local $a i32) (local $b i64)
    local.get 0
    local.get 1
    block $out (type $swap)
      local.set $b
      local.set $a
      local.get $b
      local.get $a
      local.get $a
      br_if $out
      drop
      i32.const 7
      local.get 0
      if (param i64 i32) (result i64 i32)
        br $out
      else
        loop $again (param i32) (result i32)
          i32.const 1
          i32.sub
          local.tee $a
          local.get $a
          br_if $again
        end
      end
    end))
