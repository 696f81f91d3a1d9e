;; A start function that is exported too, in a module with names and custom sections.
(module $named
  (@custom "first" (before first) "before all")
  (memory $m 1)
  (func $init (export "again") (local $counter i32)
    (loop $l (br_if $l (i32.lt_u (local.tee $counter (i32.add (local.get $counter) (i32.const 1))) (i32.const 3))))
    (i32.store (i32.const 0) (local.get $counter)))
  (func $never unreachable)
  (start $init)
  (@custom "producers" "\00"))
