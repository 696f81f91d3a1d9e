;; Types in recursion groups, equal ones, final and open ones, functions in structs.
(module
  (rec)
  (type $f (sub (func (param i32) (result anyref))))
  (type $g (sub final $f (func (param i32) (result eqref))))
  (rec (type $x (struct (field (ref null $y)))) (type $y (func (param (ref $x)) (result (ref null $y)))))
  (rec (type $x2 (struct (field (ref null $y2)))) (type $y2 (func (param (ref $x2)) (result (ref null $y2)))))
  (func $h (type $g) (ref.i31 (local.get 0)))
  (elem declare func $h $k)
  (func $k (type $y) (struct.get $x2 0 (local.get 0)))
  (func (export "call") (param i32) (result anyref)
    local.get 0
    block $b (type $f)
      ref.func $h
      call_ref $g
    end))
