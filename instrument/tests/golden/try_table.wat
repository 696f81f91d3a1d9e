;; Each clause goes to a block of its own, so branches out of the `try_table` cross more labels.
(module
  (tag $e (param i32))
  (func $f (export "f") (param i32)
    local.get 0
    throw $e)
  (func (export "clauses") (param i32) (result i32)
    block $all
      block $caught (result i32)
        loop $again
          try_table (catch $e $caught) (catch_all $all) (catch_all $again)
            local.get 0
            call $f
            local.get 0
            br_if $again
            br $all
            br $again
          end
        end
        i32.const 0
      end
      return
    end
    i32.const 1)
  (func (export "with_values") (param i32) (result i32)
    block $caught (result i32 exnref)
      local.get 0
      try_table (param i32) (result i32) (catch_ref $e $caught)
        call $f
        i32.const 2
      end
      return
    end
    drop)
  (func (export "inside_each_other")
    block $out
      try_table (catch_all $out)
        try_table (catch_all 0) (catch_all $out)
          i32.const 1
          call $f
          i32.const 0
          br_table 0 1 $out
        end
        ;; not reached, but its depths change all the same
        unreachable
        try_table (catch_all $out)
          i32.const 0
          br_if $out
          br $out
        end
      end
    end))
