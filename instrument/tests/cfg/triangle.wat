;; What kind of triangle it is: 3 equilateral, 2 isosceles, 1 scalene.
(module
  (func $triangle (export "triangle") (param $a i32) (param $b i32) (param $c i32) (result i32)
    (if (result i32) (i32.eq (local.get $a) (local.get $b))
      (then
        (if (result i32) (i32.eq (local.get $b) (local.get $c))
          (then (i32.const 3))
          (else (i32.const 2))))
      (else
        (if (result i32) (i32.eq (local.get $b) (local.get $c))
          (then (i32.const 2))
          (else
            (if (result i32) (i32.eq (local.get $a) (local.get $c))
              (then (i32.const 2))
              (else (i32.const 1)))))))))
