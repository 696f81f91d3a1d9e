;; Structs with packed and mutable fields, subtypes, recursive types.
(module
  (rec (type $list (sub (struct (field $value (mut i32)) (field $next (mut (ref null $list))))))
       (type $longer (sub final $list (struct (field (mut i32)) (field (mut (ref null $list))) (field (mut i8)) (field i16)))))
  (global $head (mut (ref null $list)) (ref.null $list))
  (func (export "push") (param i32)
    (global.set $head (struct.new $list (local.get 0) (global.get $head))))
  (func (export "sum") (result i32)
    (local $at (ref null $list)) (local $s i32)
    (local.set $at (global.get $head))
    (block $end
      (loop $again
        (local.set $s (i32.add (local.get $s) (struct.get $list $value (br_on_null $end (local.get $at)))))
        (local.set $at (struct.get $list $next (local.get $at)))
        (br $again)))
    (struct.set $list 0 (struct.new_default $longer) (local.get $s))
    (i32.add (local.get $s) (struct.get_s $longer 2 (struct.new $longer (i32.const 1) (ref.null $list) (i32.const 200) (i32.const 3))))))
