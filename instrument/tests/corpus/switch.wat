;; Nested branch tables, as compilers make them of switches.
(module
  (func (export "f") (param i32 i32) (result i32)
    (loop $top
      (block $d (block $c (block $b (block $a
        (br_table $a $b $c $top $d (local.get 0)))
        (local.set 1 (i32.add (local.get 1) (i32.const 10)))
        (br $d))
        (local.set 1 (i32.mul (local.get 1) (i32.const 3))))
        (block $x (block $y (br_table $x $y $x $y $d $top (i32.and (local.get 1) (i32.const 7)))) (local.set 1 (i32.const 9))))
      (br_if $top (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 5))))
    (block $v (result i32) (br_table $v $v (local.get 1) (local.get 0)))))
