;; References to functions: null tests, casts away of null, calls through them.
(module
  (type $t (func (result i32)))
  (elem declare func $one)
  (func $one (type $t) (i32.const 1))
  (func (export "f") (param (ref null $t) externref) (result i32)
    (local $l (ref $t))
    (local.set $l (ref.func $one))
    (block $null
      (local.set $l (br_on_null $null (local.get 0)))
      (return (call_ref $t (local.get $l))))
    (block $non_null (result (ref $t))
      (br_on_non_null $non_null (local.get 0))
      (return (i32.add (ref.is_null (local.get 1)) (call_ref $t (ref.as_non_null (local.get 0))))))
    (call_ref $t)))
