;; Exceptions with values, thrown, caught with and without reference, thrown again.
(module
  (import "env" "t" (tag $in (param i32)))
  (tag $none)
  (tag $e (export "e") (param i32 i64))
  (func $throws (param i32)
    (if (local.get 0) (then (throw $e (i32.const 1) (i64.const 2))) (else (throw $in (local.get 0)))))
  (func (export "f") (param i32) (result i32)
    (local $x exnref)
    block $any (result exnref)
      block $in (result i32)
        block $both (result i32 i64 exnref)
          try_table (catch_ref $e $both) (catch $in $in) (catch_all_ref $any)
            local.get 0
            call $throws
          end
          i32.const 0
          return
        end
        local.set $x
        drop
        drop
        block
          try_table (catch $none 0)
            local.get $x
            throw_ref
          end
        end
        i32.const 5
      end
      return
    end
    throw_ref))
