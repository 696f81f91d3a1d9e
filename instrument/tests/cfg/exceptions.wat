;; Calls in a `try_table` can go to its clauses, and on to those of the next one outside, or out of the function.
(module
  (tag $e (param i32))
  (tag $f)
  (func $throws (export "throws") (param i32)
    (if (local.get 0) (then (throw $e (local.get 0))))
    (if (i32.eqz (local.get 0)) (then (throw $f))))
  (func $nested (export "nested") (param i32) (result i32)
    block $outer
      block $inner (result i32)
        try_table (catch_all $outer)
          try_table (catch $e $inner)
            local.get 0
            call $throws
            local.get 0
            call $throws
          end
          local.get 0
          call $throws
        end
        i32.const 0
        return
      end
      return
    end
    i32.const -1)
  (func $not_all (export "not_all") (param i32)
    ;; a call outside of any `try_table` doesn't end its block
    local.get 0
    call $throws
    block $e (result i32)
      try_table (result i32) (catch $e $e)
        local.get 0
        call $throws
        i32.const 1
      end
    end
    drop)
  (func $nothing_throws (export "nothing_throws") (param i32) (result i32)
    block $never
      try_table (catch_all $never)
        local.get 0
        return
      end
    end
    i32.const 2)
  (func $again (export "again")
    loop $again
      try_table (catch_all $again)
        throw $f
      end
    end))
