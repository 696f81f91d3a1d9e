;; Clauses that go to loops, and try_tables in each other with parameters and results.
(module
  (tag $e (param i32))
  (func $may (param i32) (result i32) (if (local.get 0) (then (throw $e (local.get 0)))) (i32.const 3))
  (func (export "f") (param i32) (result i32)
    (local $n i32)
    i32.const 5
    loop $again (param i32) (result i32)
      local.set $n
      local.get $n
      try_table (param i32) (result i32) (catch $e $again)
        call $may
        block
          try_table (catch_all 0)
            local.get $n
            call $may
            drop
          end
        end
        local.get $n
        i32.add
      end
      br 1
    end))
