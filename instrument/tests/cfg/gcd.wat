;; The greatest common divisor, with a swap in front: the loop's body depends on its test, the result on nothing.
(module
  (func $gcd (export "gcd") (param $a i32) (param $b i32) (result i32)
    (local $c i32)
    (if (i32.lt_u (local.get $a) (local.get $b))
      (then
        (local.set $c (local.get $a))
        (local.set $a (local.get $b))
        (local.set $b (local.get $c))))
    (block $done
      (loop $again
        (br_if $done (i32.eqz (local.get $b)))
        (local.set $c (local.get $a))
        (local.set $a (local.get $b))
        (local.set $b (i32.rem_u (local.get $c) (local.get $b)))
        (br $again)))
    (local.get $a)))
