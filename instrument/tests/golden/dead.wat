;; Code that can't be reached is copied as it is; it is reached again where a branch joins.
(module
  (func (export "both_ways_leave") (param i32) (result i32)
    local.get 0
    if
      i32.const 9
      return
    else
      unreachable
      i32.const 1
      if
        nop
      end
    end
    ;; not reached
    block
      i32.const 1
      br_if 0
    end
    i32.const 0)
  (func (export "branch_joins") (param i32) (result i32)
    block
      block
        br 0
        loop
          br 0
        end
      end
      ;; reached again
      local.get 0
      br_if 0
    end
    i32.const 0))
