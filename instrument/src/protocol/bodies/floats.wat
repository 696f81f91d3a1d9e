;; Draws of floating-point numbers.
;;
;; Each number of the range has one index. First come integers up to 2^53, in zigzag order; then odd multiples of 1/2, of 1/4,
;; and so on; then odd multiples of 2, of 4, and so on that are beyond 2^53; then -0, infinities, NaN. That integers come
;; before fractions is an idea of Hypothesis (its lexicographic encoding of floats).

(func (export "draw_f64") (param $lo f64) (param $hi f64) (param $flags i32) (param $site i32) (result f64)
  (local $at i32) (local $max i64) (local $index i64) (local $finite i64) (local $a f64) (local $b f64)
  ;; A comparison with NaN is false.
  (if (i32.eqz (f64.le (local.get $lo) (local.get $hi))) (then (call $misuse)))
  ;; -0 becomes 0.
  (local.set $a
    (f64.add (f64.max (local.get $lo) (f64.const -0x1.fffffffffffffp+1023)) (f64.const 0)))
  (local.set $b
    (f64.add (f64.min (local.get $hi) (f64.const 0x1.fffffffffffffp+1023)) (f64.const 0)))
  (local.set $finite (call $f64_count (local.get $a) (local.get $b) (local.get $flags)))
  (local.set $max
    (i64.add
      (local.get $finite)
      (i64.extend_i32_u
        (i32.popcnt (call $f64_specials (local.get $lo) (local.get $hi) (local.get $flags))))))
  (if (i64.eqz (local.get $max)) (then (call $misuse)))
  (local.set $max (i64.sub (local.get $max) (i64.const 1)))
  %TAKE (call $random_index (local.get $max)) %TAKEN
  %RECORD %KIND_F64
    %LO (i64.reinterpret_f64 (local.get $lo))
    %HI (i64.reinterpret_f64 (local.get $hi))
    %MORE (i64.extend_i32_u (local.get $flags))
  %RECORDED
  (if (i64.ge_u (local.get $index) (local.get $finite))
    (then
      (return
        (call $f64_special
          (i32.wrap_i64 (i64.sub (local.get $index) (local.get $finite)))
          (call $f64_specials (local.get $lo) (local.get $hi) (local.get $flags))))))
  (call $f64_value (local.get $index) (local.get $a) (local.get $b) (local.get $flags)))

;; A bit for -0, infinity, -infinity and NaN each, if it is in the range.
(func $f64_specials (param $lo f64) (param $hi f64) (param $flags i32) (result i32)
  (i32.or
    (i32.or
      (i32.and
        (i32.ne (i32.and (local.get $flags) (i32.const 4)) (i32.const 0))
        (i32.and (f64.le (local.get $lo) (f64.const 0)) (f64.ge (local.get $hi) (f64.const 0))))
      (i32.shl
        (i32.and
          (i32.ne (i32.and (local.get $flags) (i32.const 2)) (i32.const 0))
          (f64.eq (local.get $hi) (f64.const inf)))
        (i32.const 1)))
    (i32.or
      (i32.shl
        (i32.and
          (i32.ne (i32.and (local.get $flags) (i32.const 2)) (i32.const 0))
          (f64.eq (local.get $lo) (f64.const -inf)))
        (i32.const 2))
      (i32.shl (i32.and (local.get $flags) (i32.const 1)) (i32.const 3)))))

;; The special value with this number among those that there are.
(func $f64_special (param $number i32) (param $specials i32) (result f64)
  (block $found
    (loop $again
      (br_if $found (i32.eqz (local.get $number)))
      ;; Without the lowest bit.
      (local.set $specials
        (i32.and (local.get $specials) (i32.sub (local.get $specials) (i32.const 1))))
      (local.set $number (i32.sub (local.get $number) (i32.const 1)))
      (br $again)))
  (local.set $specials (i32.ctz (local.get $specials)))
  (if (i32.eqz (local.get $specials)) (then (return (f64.const -0))))
  (if (i32.eq (local.get $specials) (i32.const 1)) (then (return (f64.const inf))))
  (if (i32.eq (local.get $specials) (i32.const 2)) (then (return (f64.const -inf))))
  (f64.const nan))

;; How many finite numbers there are from a to b.
(func $f64_count (param $a f64) (param $b f64) (param $flags i32) (result i64)
  (if (f64.gt (local.get $a) (local.get $b)) (then (return (i64.const 0))))
  (if (f64.gt (local.get $a) (f64.const 0))
    (then
      (return
        (i64.sub
          (call $f64_count_to (i64.reinterpret_f64 (local.get $b)) (local.get $flags))
          (call $f64_count_to
            (i64.sub (i64.reinterpret_f64 (local.get $a)) (i64.const 1))
            (local.get $flags))))))
  (if (f64.lt (local.get $b) (f64.const 0))
    (then
      (return
        (i64.sub
          (call $f64_count_to (i64.reinterpret_f64 (f64.neg (local.get $a))) (local.get $flags))
          (call $f64_count_to
            (i64.sub (i64.reinterpret_f64 (f64.neg (local.get $b))) (i64.const 1))
            (local.get $flags))))))
  (i64.sub
    (i64.add
      (call $f64_count_to (i64.reinterpret_f64 (local.get $b)) (local.get $flags))
      (call $f64_count_to (i64.reinterpret_f64 (f64.abs (local.get $a))) (local.get $flags)))
    (i64.const 1)))

;; How many numbers there are from 0 to that with these bits. Unless subnormals are asked for, those that need more than
;; 1022 binary places are left out; they are below 2^-970.
(func $f64_count_to (param $bits i64) (param $flags i32) (result i64)
  (local $tiny i64)
  (if (i32.and (local.get $flags) (i32.const 8))
    (then (return (i64.add (local.get $bits) (i64.const 1)))))
  (local.set $tiny
    (select
      (local.get $bits)
      (i64.const 0x034fffffffffffff)
      (i64.lt_u (local.get $bits) (i64.const 0x034fffffffffffff))))
  (i64.add
    (i64.sub (local.get $bits) (local.get $tiny))
    (i64.add
      (i64.trunc_sat_f64_u
        (f64.floor (f64.mul (f64.reinterpret_i64 (local.get $tiny)) (f64.const 0x1p+1022))))
      (i64.const 1))))

;; The finite number from a to b at an index, which is below their count.
(func $f64_value (param $index i64) (param $a f64) (param $b f64) (param $flags i32) (result f64)
  (local $places i32) (local $places_max i32) (local $x f64) (local $y f64) (local $first i64) (local $last i64)
  (local $count i64) (local $skipped i64)
  (local.set $places_max
    (select (i32.const 1074) (i32.const 1022) (i32.and (local.get $flags) (i32.const 8))))
  (local.set $x (local.get $a))
  (local.set $y (local.get $b))
  ;; Integers.
  (local.set $first (call $f64_ceil (local.get $x)))
  (local.set $last (call $f64_floor (local.get $y)))
  (if (i64.le_s (local.get $first) (local.get $last))
    (then
      (local.set $count (i64.add (i64.sub (local.get $last) (local.get $first)) (i64.const 1)))
      (if (i64.lt_u (local.get $index) (local.get $count))
        (then
          (return
            (f64.convert_i64_s
              (call $zigzag_near_0 (local.get $index) (local.get $first) (local.get $last))))))
      (local.set $index (i64.sub (local.get $index) (local.get $count)))))
  ;; Odd multiples of 2^-places.
  (loop $again
    (local.set $places (i32.add (local.get $places) (i32.const 1)))
    (local.set $x (f64.add (local.get $x) (local.get $x)))
    (local.set $y (f64.add (local.get $y) (local.get $y)))
    (local.set $first (i64.or (call $f64_ceil (local.get $x)) (i64.const 1)))
    (local.set $last
      (i64.or (i64.sub (call $f64_floor (local.get $y)) (i64.const 1)) (i64.const 1)))
    (local.set $count (call $odd (local.get $first) (local.get $last)))
    ;; From where both ends are cut off, or 0, all counts are equal.
    (if (i32.and
          (i32.or (f64.le (local.get $x) (f64.const -0x1p53)) (f64.eq (local.get $x) (f64.const 0)))
          (i32.or (f64.ge (local.get $y) (f64.const 0x1p53)) (f64.eq (local.get $y) (f64.const 0))))
      (then
        (if (i64.ne (local.get $count) (i64.const 0))
          (then
            (local.set $skipped (i64.div_u (local.get $index) (local.get $count)))
            (if (i64.gt_u
                  (local.get $skipped)
                  (i64.extend_i32_u (i32.sub (local.get $places_max) (local.get $places))))
              (then
                (local.set $skipped
                  (i64.extend_i32_u (i32.sub (local.get $places_max) (local.get $places))))))
            (local.set $places (i32.add (local.get $places) (i32.wrap_i64 (local.get $skipped))))
            (local.set $index
              (i64.sub (local.get $index) (i64.mul (local.get $skipped) (local.get $count))))))))
    (if (i64.lt_u (local.get $index) (local.get $count))
      (then
        (return
          (f64.mul
            (f64.convert_i64_s
              (i64.sub
                (i64.const 1)
                (i64.shl
                  (call $zigzag_near_0
                    (local.get $index)
                    (i64.shr_s (i64.sub (i64.const 1) (local.get $last)) (i64.const 1))
                    (i64.shr_s (i64.sub (i64.const 1) (local.get $first)) (i64.const 1)))
                  (i64.const 1))))
            (call $power (i32.sub (i32.const 0) (local.get $places)))))))
    (local.set $index (i64.sub (local.get $index) (local.get $count)))
    (br_if $again (i32.lt_u (local.get $places) (local.get $places_max))))
  (call $f64_large (local.get $index) (local.get $a) (local.get $b)))

;; Odd multiples of 2^n beyond 2^53, the positive ones of each n first.
(func $f64_large (param $index i64) (param $a f64) (param $b f64) (result f64)
  (local $n i32) (local $beyond f64) (local $least i64) (local $first i64) (local $last i64) (local $count i64)
  (local.set $beyond (f64.const 0x1p53))
  (loop $again
    (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (local.set $a (f64.mul (local.get $a) (f64.const 0.5)))
    (local.set $b (f64.mul (local.get $b) (f64.const 0.5)))
    (local.set $beyond (f64.mul (local.get $beyond) (f64.const 0.5)))
    (local.set $least (i64.add (i64.trunc_sat_f64_s (local.get $beyond)) (i64.const 1)))
    ;; Positive ones.
    (local.set $first (call $f64_ceil (local.get $a)))
    (local.set $first
      (i64.or
        (select (local.get $first) (local.get $least) (i64.gt_s (local.get $first) (local.get $least)))
        (i64.const 1)))
    (local.set $last
      (i64.or (i64.sub (call $f64_floor (local.get $b)) (i64.const 1)) (i64.const 1)))
    (local.set $count (call $odd (local.get $first) (local.get $last)))
    (if (i64.lt_u (local.get $index) (local.get $count))
      (then
        (return
          (f64.mul
            (f64.convert_i64_s (i64.add (local.get $first) (i64.shl (local.get $index) (i64.const 1))))
            (call $power (local.get $n))))))
    (local.set $index (i64.sub (local.get $index) (local.get $count)))
    ;; Negative ones.
    (local.set $first (call $f64_ceil (f64.neg (local.get $b))))
    (local.set $first
      (i64.or
        (select (local.get $first) (local.get $least) (i64.gt_s (local.get $first) (local.get $least)))
        (i64.const 1)))
    (local.set $last
      (i64.or (i64.sub (call $f64_floor (f64.neg (local.get $a))) (i64.const 1)) (i64.const 1)))
    (local.set $count (call $odd (local.get $first) (local.get $last)))
    (if (i64.lt_u (local.get $index) (local.get $count))
      (then
        (return
          (f64.neg
            (f64.mul
              (f64.convert_i64_s (i64.add (local.get $first) (i64.shl (local.get $index) (i64.const 1))))
              (call $power (local.get $n)))))))
    (local.set $index (i64.sub (local.get $index) (local.get $count)))
    (br_if $again (i32.lt_u (local.get $n) (i32.const 1023))))
  ;; The index is below the count of all.
  (f64.const 0))

;; The least integer that is not below x, or -2^53 if that is larger.
(func $f64_ceil (param $x f64) (result i64)
  (i64.trunc_sat_f64_s (f64.ceil (f64.max (local.get $x) (f64.const -0x1p53)))))

;; The largest integer that is not above x, or 2^53 if that is smaller; something below -2^53 if it is.
(func $f64_floor (param $x f64) (result i64)
  (i64.trunc_sat_f64_s
    (f64.floor
      (f64.max (f64.min (local.get $x) (f64.const 0x1p53)) (f64.const -0x1.0000000000001p53)))))

;; How many odd numbers there are from one odd number to another.
(func $odd (param $first i64) (param $last i64) (result i64)
  (if (i64.gt_s (local.get $first) (local.get $last)) (then (return (i64.const 0))))
  (i64.add
    (i64.shr_u (i64.sub (local.get $last) (local.get $first)) (i64.const 1))
    (i64.const 1)))

;; The integer at an index, in zigzag order from what is next to 0.
(func $zigzag_near_0 (param $index i64) (param $lo i64) (param $hi i64) (result i64)
  (local $towards i64)
  (local.set $towards (select (local.get $lo) (i64.const 0) (i64.gt_s (local.get $lo) (i64.const 0))))
  (local.set $towards
    (select (local.get $hi) (local.get $towards) (i64.lt_s (local.get $hi) (local.get $towards))))
  (call $zigzag (local.get $index) (local.get $lo) (local.get $hi) (local.get $towards)))

;; 2^n, from -1074 to 1023.
(func $power (param $n i32) (result f64)
  (if (result f64) (i32.ge_s (local.get $n) (i32.const -1022))
    (then
      (f64.reinterpret_i64
        (i64.shl (i64.extend_i32_s (i32.add (local.get $n) (i32.const 1023))) (i64.const 52))))
    (else
      (f64.reinterpret_i64
        (i64.shl (i64.const 1) (i64.extend_i32_s (i32.add (local.get $n) (i32.const 1074))))))))
