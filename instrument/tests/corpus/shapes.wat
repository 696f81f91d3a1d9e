;; What minifiers and compilers emit: empty arms, blocks that nothing leaves, drops of calls.
(module
  (func $id (param i32) (result i32) local.get 0)
  (func (export "f") (param i32) (result i32)
    (block (block (block)))
    (if (local.get 0) (then) (else))
    (if (local.get 0) (then (nop)))
    (drop (call $id (i32.const 0)))
    (loop (block (loop)))
    (if (result i32) (i32.eqz (local.get 0))
      (then (if (result i32) (local.get 0) (then (i32.const 1)) (else (unreachable))))
      (else (block (result i32) (i32.const 4))))))
