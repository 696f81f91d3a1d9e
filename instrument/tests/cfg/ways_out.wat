;; Every way out of a function, and loops that have none.
(module
  (type $t (func (param i32) (result i32)))
  (table 1 funcref)
  (func $arms (export "arms") (type $t) (param i32) (result i32)
    block $a
      block $b
        block $trap
          loop $again
            local.get 0
            br_table $a $b $trap $a $b $again
          end
        end
        unreachable
      end
      local.get 0
      return_call $arms
      ;; dead, with a loop and a test of its own
      loop
        local.get 0
        br_if 0
      end
    end
    local.get 0
    i32.const 0
    return_call_indirect (type $t))
  (func $endless (export "endless") (param i32)
    loop $first
      local.get 0
      if
        loop $second
          loop $third
            local.get 0
            br_if $third
          end
          br $second
        end
      end
      local.get 0
      br_if $first
    end
    loop $last
      br $last
    end)
  (func $null (export "null") (param funcref) (result i32)
    block $null
      local.get 0
      br_on_null $null
      drop
      i32.const 1
      return
    end
    i32.const 0))
