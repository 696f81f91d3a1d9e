;; Legacy exceptions in each other, with branches out of clauses.
(module
  (tag $a (param i32))
  (tag $b)
  (func $throws (param i32) (br_if 0 (i32.eqz (local.get 0))) (throw $a (local.get 0)))
  (func (export "f") (param i32) (result i32)
    (loop $again (result i32)
      try $t (result i32)
        local.get 0
        call $throws
        try
          throw $b
        catch $a
          br_if $again
        catch $b
          rethrow 0
        end
        i32.const 1
      catch $a
        br_if $again
        try (result i32)
          i32.const 2
        delegate $t
      catch_all
        i32.const 3
        br $t
      end)))
