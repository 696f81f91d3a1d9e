;; A string scanner: the shape of most parsers.
(module
  (memory (export "memory") 1)
  (global $depth (mut i32) (i32.const 0))
  (func $peek (param $p i32) (result i32) (i32.load8_u (local.get $p)))
  (func $value (export "value") (param $p i32) (param $end i32) (result i32)
    (local $c i32)
    (if (i32.ge_u (local.get $p) (local.get $end)) (then (return (i32.const -1))))
    (local.set $c (call $peek (local.get $p)))
    (block $bad
      (block $array (block $number (block $string
        (br_if $string (i32.eq (local.get $c) (i32.const 34)))
        (br_if $number (i32.lt_u (i32.sub (local.get $c) (i32.const 48)) (i32.const 10)))
        (br_table $array $bad $array $bad (i32.sub (local.get $c) (i32.const 91))))
        (loop $chars
          (local.set $p (i32.add (local.get $p) (i32.const 1)))
          (br_if $bad (i32.ge_u (local.get $p) (local.get $end)))
          (br_if $chars (i32.ne (call $peek (local.get $p)) (i32.const 34))))
        (return (i32.add (local.get $p) (i32.const 1))))
        (return (i32.add (local.get $p) (i32.const 1))))
      (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
      (if (i32.gt_u (global.get $depth) (i32.const 100)) (then (unreachable)))
      (return (call $value (i32.add (local.get $p) (i32.const 1)) (local.get $end))))
    (i32.const -1)))
