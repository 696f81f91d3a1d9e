;; Random numbers, and how draws are distributed where the tail is random.

;; xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators").
(func $random (result i64)
  (local $s0 i64) (local $s1 i64) (local $s2 i64) (local $s3 i64) (local $t i64)
  (local.set $s0 (i64.load offset=%RNG (i32.const 0)))
  (local.set $s1 (i64.load offset=%RNG (i32.const 8)))
  (local.set $s2 (i64.load offset=%RNG (i32.const 16)))
  (local.set $s3 (i64.load offset=%RNG (i32.const 24)))
  (i64.add
    (i64.rotl (i64.add (local.get $s0) (local.get $s3)) (i64.const 23))
    (local.get $s0))
  (local.set $t (i64.shl (local.get $s1) (i64.const 17)))
  (local.set $s2 (i64.xor (local.get $s2) (local.get $s0)))
  (local.set $s3 (i64.xor (local.get $s3) (local.get $s1)))
  (local.set $s1 (i64.xor (local.get $s1) (local.get $s2)))
  (local.set $s0 (i64.xor (local.get $s0) (local.get $s3)))
  (local.set $s2 (i64.xor (local.get $s2) (local.get $t)))
  (local.set $s3 (i64.rotl (local.get $s3) (i64.const 45)))
  (i64.store offset=%RNG (i32.const 0) (local.get $s0))
  (i64.store offset=%RNG (i32.const 8) (local.get $s1))
  (i64.store offset=%RNG (i32.const 16) (local.get $s2))
  (i64.store offset=%RNG (i32.const 24) (local.get $s3)))

;; Whether something happens that has a probability in units of 2^-32.
(func $chance (param $p i32) (result i32)
  (i32.lt_u (i32.wrap_i64 (i64.shr_u (call $random) (i64.const 32))) (local.get $p)))

;; Whether a feature is off: in half of the executions none is, in the others each with a probability of a half (Groce, Zhang, Eide,
;; Chen and Regehr, "Swarm testing", ISSTA 2012).
(func $random_feature (result i64)
  (if (i32.eqz (i32.load offset=%SWARM (i32.const 0)))
    (then
      (i32.store offset=%SWARM (i32.const 0)
        (i32.add (i32.const 1) (i32.wrap_i64 (i64.shr_u (call $random) (i64.const 63)))))))
  (if (result i64) (i32.eq (i32.load offset=%SWARM (i32.const 0)) (i32.const 2))
    (then (i64.shr_u (call $random) (i64.const 63)))
    (else (i64.const 0))))

;; An index of a number: each alike if there are at most 256. Otherwise every twentieth is the largest, or one that a power of
;; 2 or 10 has; the others have a random width, half of them with all numbers below it, half with those of that width.
(func $random_index (param $max i64) (result i64)
  (local $r i64) (local $width i64) (local $index i64)
  (if (i64.le_u (local.get $max) (i64.const 255))
    (then (return (i64.rem_u (call $random) (i64.add (local.get $max) (i64.const 1))))))
  (local.set $r (call $random))
  (if (i64.eqz (i64.rem_u (i64.and (local.get $r) (i64.const 0xffffffff)) (i64.const 20)))
    (then (return (call $random_constant (local.get $max)))))
  (local.set $width
    (i64.add
      (i64.const 1)
      (i64.rem_u
        (i64.shr_u (local.get $r) (i64.const 40))
        (i64.sub (i64.const 64) (i64.clz (local.get $max))))))
  (local.set $index (i64.shr_u (call $random) (i64.sub (i64.const 64) (local.get $width))))
  (if (i64.ne (i64.and (local.get $r) (i64.const 0x100000000)) (i64.const 0))
    (then
      (local.set $index
        (i64.or (local.get $index) (i64.shl (i64.const 1) (i64.sub (local.get $width) (i64.const 1)))))))
  (if (i64.gt_u (local.get $index) (local.get $max))
    (then (return (i64.rem_u (local.get $index) (i64.add (local.get $max) (i64.const 1))))))
  (local.get $index))

;; The largest index, the one before it, or one at a distance from the simplest that is beside a power of 2 or 10.
(func $random_constant (param $max i64) (result i64)
  (local $r i64) (local $distance i64) (local $power i64)
  (local.set $r (call $random))
  (if (i64.eqz (i64.and (local.get $r) (i64.const 2)))
    (then (return (i64.sub (local.get $max) (i64.and (local.get $r) (i64.const 1))))))
  (if (i64.eqz (i64.and (local.get $r) (i64.const 1)))
    (then
      (local.set $distance
        (i64.shl (i64.const 1) (i64.rem_u (i64.and (i64.shr_u (local.get $r) (i64.const 8)) (i64.const 0xff)) (i64.const 63)))))
    (else
      (local.set $distance (i64.const 1))
      (local.set $power (i64.rem_u (i64.and (i64.shr_u (local.get $r) (i64.const 8)) (i64.const 0xff)) (i64.const 19)))
      (block $done
        (loop $again
          (br_if $done (i64.eqz (local.get $power)))
          (local.set $distance (i64.mul (local.get $distance) (i64.const 10)))
          (local.set $power (i64.sub (local.get $power) (i64.const 1)))
          (br $again)))))
  (local.set $distance
    (i64.add
      (local.get $distance)
      (i64.sub
        (i64.rem_u (i64.and (i64.shr_u (local.get $r) (i64.const 16)) (i64.const 0xff)) (i64.const 3))
        (i64.const 1))))
  ;; Numbers are in zigzag order.
  (local.set $distance
    (i64.sub
      (i64.shl (local.get $distance) (i64.const 1))
      (i64.and (i64.shr_u (local.get $r) (i64.const 24)) (i64.const 1))))
  (select (local.get $max) (local.get $distance) (i64.gt_u (local.get $distance) (local.get $max))))

;; A length from `min` to `max`: short ones are as likely as long ones, and none is more than 255 above `min`.
(func $random_len (param $min i32) (param $max i32) (result i32)
  (local $r i64) (local $span i32) (local $len i32)
  (local.set $span (i32.sub (local.get $max) (local.get $min)))
  (local.set $span (select (i32.const 255) (local.get $span) (i32.gt_u (local.get $span) (i32.const 255))))
  (local.set $r (call $random))
  (local.set $len
    (i32.wrap_i64
      (i64.and
        (i64.shr_u (local.get $r) (i64.const 32))
        (i64.sub
          (i64.shl
            (i64.const 1)
            (i64.rem_u
              (i64.and (local.get $r) (i64.const 0xffff))
              (i64.extend_i32_u (i32.sub (i32.const 33) (i32.clz (local.get $span))))))
          (i64.const 1)))))
  (i32.add
    (local.get $min)
    (select (local.get $span) (local.get $len) (i32.gt_u (local.get $len) (local.get $span)))))
