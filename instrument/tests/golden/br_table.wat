;; Each arm has its counter, the default too, and arms with the same target are apart.
(module
  (func (export "arms") (param i32)
    loop $again
      block $a
        block $b
          local.get 0
          br_table $a $b $b $again $a
        end
      end
    end)
  (func (export "default_only") (param i32) (result i32)
    i32.const 4
    local.get 0
    br_table 0))
