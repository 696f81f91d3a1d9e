;; Endless by tail calls, and by a loop behind a loop.
(module
  (type $t (func (param i32)))
  (table 2 (ref null $t))
  (elem (i32.const 0) (ref null $t) (ref.func $even) (ref.func $odd))
  (func $even (export "even") (type $t) (return_call $odd (i32.add (local.get 0) (i32.const 1))))
  (func $odd (type $t) (return_call_indirect (type $t) (local.get 0) (i32.const 0)))
  (func (export "loops") (param i32)
    (loop $a (br_if $a (local.get 0)))
    (loop $b (loop $c (br_if $c (local.get 0))) (br $b))))
