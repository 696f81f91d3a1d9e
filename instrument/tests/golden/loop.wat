;; Loop heads spend fuel; branches to them are back edges.
(module
  (func (export "forever")
    loop
      br 0
    end
    ;; never reached: not counted
    block
      i32.const 1
      br_if 0
    end)
  (func (export "nested") (param i32)
    loop $outer
      loop $inner
        local.get 0
        br_if $inner
        nop
        nop
      end
      local.get 0
      br_if $outer
    end)
  (func (export "carrying_a_value") (param i32) (result i32)
    i32.const 3
    loop (param i32) (result i32)
      local.get 0
      br_if 0
    end))
