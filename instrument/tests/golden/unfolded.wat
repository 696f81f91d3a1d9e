;; unfolded
;; What is inserted, in full: entry, fuel, a branch and the added sections.
(module
  (func (export "main") (param i32)
    block
      local.get 0
      br_if 0
      nop
    end))
