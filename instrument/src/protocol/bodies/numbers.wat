;; Draws of one index.
;;
;; Each is there twice: what is exported takes an index from the stream that fits, in few instructions and without a call, so that it
;; needs no frame; in all other cases it leaves everything to the other one.

(func (export "draw_int") (param $lo i64) (param $hi i64) (param $towards i64) (param $site i32) (result i64)
  (local $at i32) (local $max i64) (local $index i64)
  (local.set $max (i64.sub (local.get $hi) (local.get $lo)))
  (block $slow
    (br_if $slow (i64.gt_s (local.get $lo) (local.get $hi)))
    %ITEM
    (local.set $towards
      (select (local.get $lo) (local.get $towards) (i64.lt_s (local.get $towards) (local.get $lo))))
    (local.set $towards
      (select (local.get $hi) (local.get $towards) (i64.gt_s (local.get $towards) (local.get $hi))))
    %RECORD %KIND_INT %LO (local.get $lo) %HI (local.get $hi) %MORE (local.get $towards) %RECORDED
    %ZIGZAG
    return)
  (return_call $slow_int (local.get $lo) (local.get $hi) (local.get $towards) (local.get $site)))

(func (export "draw_uint") (param $lo i64) (param $hi i64) (param $towards i64) (param $site i32) (result i64)
  (local $at i32) (local $max i64) (local $index i64)
  (local.set $max (i64.sub (local.get $hi) (local.get $lo)))
  (block $slow
    (br_if $slow (i64.gt_u (local.get $lo) (local.get $hi)))
    %ITEM
    (local.set $towards
      (select (local.get $lo) (local.get $towards) (i64.lt_u (local.get $towards) (local.get $lo))))
    (local.set $towards
      (select (local.get $hi) (local.get $towards) (i64.gt_u (local.get $towards) (local.get $hi))))
    %RECORD %KIND_UINT %LO (local.get $lo) %HI (local.get $hi) %MORE (local.get $towards) %RECORDED
    %ZIGZAG
    return)
  (return_call $slow_uint (local.get $lo) (local.get $hi) (local.get $towards) (local.get $site)))

(func (export "draw_bool") (param $p i32) (param $site i32) (result i32)
  (local $at i32) (local $max i64) (local $index i64)
  (local.set $max (i64.const 1))
  (block $slow
    ;; What is certain is rare.
    (br_if $slow (i32.gt_u (i32.sub (local.get $p) (i32.const 1)) (i32.const -3)))
    %ITEM
    %RECORD %KIND_BOOL %LO (i64.extend_i32_u (local.get $p)) %HI (local.get $max) %MORE (i64.const 0) %RECORDED
    (return (i32.wrap_i64 (local.get $index))))
  (return_call $slow_bool (local.get $p) (local.get $site)))

(func (export "draw_choice") (param $n i32) (param $weights i32) (param $site i32) (result i32)
  (local $at i32) (local $max i64) (local $index i64)
  (local.set $max (i64.extend_i32_u (i32.sub (local.get $n) (i32.const 1))))
  (block $slow
    (br_if $slow (i32.le_s (local.get $n) (i32.const 0)))
    (br_if $slow (local.get $weights))
    %ITEM
    %RECORD %KIND_CHOICE %LO (i64.const 0) %HI (local.get $max) %MORE (i64.const 0) %RECORDED
    (return (i32.wrap_i64 (local.get $index))))
  (return_call $slow_choice (local.get $n) (local.get $weights) (local.get $site)))

(func (export "draw_payload") (param $bits i32) (param $site i32) (result i64)
  (local $at i32) (local $max i64) (local $index i64)
  (local.set $max
    (i64.shr_u (i64.const -1) (i64.extend_i32_u (i32.sub (i32.const 64) (local.get $bits)))))
  (block $slow
    (br_if $slow (i32.gt_u (i32.sub (local.get $bits) (i32.const 1)) (i32.const 63)))
    %ITEM
    %RECORD %KIND_PAYLOAD %LO (i64.const 0) %HI (local.get $max) %MORE (i64.const 0) %RECORDED
    (return (local.get $index)))
  (return_call $slow_payload (local.get $bits) (local.get $site)))

(func (export "draw_more") (param $min i32) (param $most i32) (param $average i32) (param $site i32) (result i32)
  (local $at i32) (local $max i64) (local $index i64) (local $level i32) (local $count i32)
  (local.set $max (i64.const 1))
  (block $slow
    (br_if $slow (i32.or (i32.lt_s (local.get $min) (i32.const 0)) (i32.lt_s (local.get $most) (local.get $min))))
    (local.set $level (i32.shl (i32.load offset=%DEPTH (i32.const 0)) (i32.const 2)))
    (local.set $count (i32.load offset=%COUNTS (local.get $level)))
    ;; Something can be drawn.
    (br_if $slow (i32.lt_u (local.get $count) (local.get $min)))
    (br_if $slow (i32.ge_u (local.get $count) (local.get $most)))
    %ITEM
    %RECORD %KIND_MORE
      %LO (i64.extend_i32_u (local.get $min)) %HI (i64.extend_i32_u (local.get $most)) %MORE (i64.const 1)
    %RECORDED
    (i32.store offset=%COUNTS (local.get $level)
      (i32.mul (i32.add (local.get $count) (i32.const 1)) (i32.wrap_i64 (local.get $index))))
    (return (i32.wrap_i64 (local.get $index))))
  (return_call $slow_more (local.get $min) (local.get $most) (local.get $average) (local.get $site)))

;; The value at an index: `towards`, then by distance from it, the larger first.
(func $zigzag (param $index i64) (param $lo i64) (param $hi i64) (param $towards i64) (result i64)
  (local $max i64)
  %ZIGZAG)

(func $slow_int (param $lo i64) (param $hi i64) (param $towards i64) (param $site i32) (result i64)
  (local $at i32) (local $max i64) (local $index i64)
  (if (i64.gt_s (local.get $lo) (local.get $hi)) (then (call $misuse)))
  (local.set $towards
    (select (local.get $lo) (local.get $towards) (i64.lt_s (local.get $towards) (local.get $lo))))
  (local.set $towards
    (select (local.get $hi) (local.get $towards) (i64.gt_s (local.get $towards) (local.get $hi))))
  (local.set $max (i64.sub (local.get $hi) (local.get $lo)))
  %TAKE (call $random_index (local.get $max)) %CLOSED %TAKEN
  %RECORD %KIND_INT %LO (local.get $lo) %HI (local.get $hi) %MORE (local.get $towards) %RECORDED
  %ZIGZAG)

(func $slow_uint (param $lo i64) (param $hi i64) (param $towards i64) (param $site i32) (result i64)
  (local $at i32) (local $max i64) (local $index i64)
  (if (i64.gt_u (local.get $lo) (local.get $hi)) (then (call $misuse)))
  (local.set $towards
    (select (local.get $lo) (local.get $towards) (i64.lt_u (local.get $towards) (local.get $lo))))
  (local.set $towards
    (select (local.get $hi) (local.get $towards) (i64.gt_u (local.get $towards) (local.get $hi))))
  (local.set $max (i64.sub (local.get $hi) (local.get $lo)))
  %TAKE (call $random_index (local.get $max)) %CLOSED %TAKEN
  %RECORD %KIND_UINT %LO (local.get $lo) %HI (local.get $hi) %MORE (local.get $towards) %RECORDED
  %ZIGZAG)

;; What is certain has one index, which stands for it.
(func $slow_bool (param $p i32) (param $site i32) (result i32)
  (local $at i32) (local $max i64) (local $index i64)
  (local.set $max
    (i64.extend_i32_u
      (i32.and (i32.ne (local.get $p) (i32.const 0)) (i32.ne (local.get $p) (i32.const -1)))))
  %TAKE (i64.and (local.get $max) (i64.extend_i32_u (call $chance (local.get $p)))) %CLOSED %TAKEN
  %RECORD %KIND_BOOL %LO (i64.extend_i32_u (local.get $p)) %HI (local.get $max) %MORE (i64.const 0) %RECORDED
  (i32.or (i32.wrap_i64 (local.get $index)) (i32.eq (local.get $p) (i32.const -1))))

(func $slow_choice (param $n i32) (param $weights i32) (param $site i32) (result i32)
  (local $at i32) (local $max i64) (local $index i64)
  (if (i32.le_s (local.get $n) (i32.const 0)) (then (call $misuse)))
  (if (local.get $weights)
    (then
      (if (i32.gt_u (local.get $n) (i32.const %WEIGHTS_MAX)) (then (call $misuse)))
      (call $check (local.get $weights) (i32.shl (local.get $n) (i32.const 2)))))
  (local.set $max (i64.extend_i32_u (i32.sub (local.get $n) (i32.const 1))))
  %TAKE (call $random_choice (local.get $n) (local.get $weights)) %CLOSED %TAKEN
  %RECORD %KIND_CHOICE %LO (i64.const 0) %HI (local.get $max) %MORE (i64.const 0) %RECORDED
  (i32.wrap_i64 (local.get $index)))

;; By weight; each alike if there are no weights or all are 0.
(func $random_choice (param $n i32) (param $weights i32) (result i64)
  (local $sum i64) (local $i i32) (local $r i64)
  (if (local.get $weights)
    (then
      (loop $again
        (local.set $sum
          (i64.add
            (local.get $sum)
            (i64.extend_i32_u
              (call $guest_load (i32.add (local.get $weights) (i32.shl (local.get $i) (i32.const 2)))))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $i) (local.get $n))))))
  (local.set $r (call $random))
  (if (i64.eqz (local.get $sum))
    (then (return (i64.rem_u (local.get $r) (i64.extend_i32_u (local.get $n))))))
  (local.set $r (i64.rem_u (local.get $r) (local.get $sum)))
  (local.set $i (i32.const 0))
  (block $found
    (loop $again
      (local.set $sum
        (i64.extend_i32_u
          (call $guest_load (i32.add (local.get $weights) (i32.shl (local.get $i) (i32.const 2))))))
      (br_if $found (i64.lt_u (local.get $r) (local.get $sum)))
      (local.set $r (i64.sub (local.get $r) (local.get $sum)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $again)))
  (i64.extend_i32_u (local.get $i)))

(func $slow_payload (param $bits i32) (param $site i32) (result i64)
  (local $at i32) (local $max i64) (local $index i64)
  (if (i32.gt_u (i32.sub (local.get $bits) (i32.const 1)) (i32.const 63)) (then (call $misuse)))
  (local.set $max
    (i64.shr_u (i64.const -1) (i64.extend_i32_u (i32.sub (i32.const 64) (local.get $bits)))))
  %TAKE (i64.and (local.get $max) (call $random)) %TAKEN
  %RECORD %KIND_PAYLOAD %LO (i64.const 0) %HI (local.get $max) %MORE (i64.const 0) %RECORDED
  (local.get $index))

;; Whether the collection of the innermost span that the guest has open gets another element.
(func $slow_more (param $min i32) (param $most i32) (param $average i32) (param $site i32) (result i32)
  (local $at i32) (local $max i64) (local $index i64) (local $level i32) (local $count i32)
  (if (i32.or (i32.lt_s (local.get $min) (i32.const 0)) (i32.lt_s (local.get $most) (local.get $min)))
    (then (call $misuse)))
  (local.set $level (i32.shl (i32.load offset=%DEPTH (i32.const 0)) (i32.const 2)))
  (local.set $count (i32.load offset=%COUNTS (local.get $level)))
  (local.set $max
    (i64.extend_i32_u
      (i32.and
        (i32.ge_u (local.get $count) (local.get $min))
        (i32.lt_u (local.get $count) (local.get $most)))))
  %TAKE
    (i64.and
      (local.get $max)
      (i64.extend_i32_u
        (call $chance (call $more_probability (local.get $min) (local.get $most) (local.get $average)))))
  %CLOSED %TAKEN
  %RECORD %KIND_MORE
    %LO (i64.extend_i32_u (local.get $min)) %HI (i64.extend_i32_u (local.get $most)) %MORE (local.get $max)
  %RECORDED
  (if (result i32) (i32.or (i32.wrap_i64 (local.get $index)) (i32.lt_u (local.get $count) (local.get $min)))
    (then
      (i32.store offset=%COUNTS (local.get $level) (i32.add (local.get $count) (i32.const 1)))
      (i32.const 1))
    (else
      (i32.store offset=%COUNTS (local.get $level) (i32.const 0))
      (i32.const 0))))

;; The probability that makes collections as long as they are to be on average, in units of 2^-32. What is above `min` has a
;; geometric distribution. Without a wish, the average is that of Hypothesis' lists.
(func $more_probability (param $min i32) (param $most i32) (param $average i32) (result i32)
  (local $extra i64) (local $half i64)
  (if (i32.gt_s (local.get $average) (i32.const 0))
    (then
      (local.set $extra
        (i64.sub
          (i64.extend_i32_u (local.get $average))
          (i64.shl (i64.extend_i32_u (local.get $min)) (i64.const 8))))
      (if (i64.lt_s (local.get $extra) (i64.const 0)) (then (local.set $extra (i64.const 0)))))
    (else
      (local.set $extra (i64.extend_i32_u (local.get $min)))
      (if (i64.lt_u (local.get $extra) (i64.const 5)) (then (local.set $extra (i64.const 5))))
      (local.set $extra (i64.shl (local.get $extra) (i64.const 8)))
      (local.set $half
        (i64.shl (i64.extend_i32_u (i32.sub (local.get $most) (local.get $min))) (i64.const 7)))
      (if (i64.gt_u (local.get $extra) (local.get $half)) (then (local.set $extra (local.get $half))))))
  (if (i64.gt_u (local.get $extra) (i64.const 0x40000000)) (then (local.set $extra (i64.const 0x40000000))))
  (i32.wrap_i64
    (i64.div_u
      (i64.shl (local.get $extra) (i64.const 32))
      (i64.add (local.get $extra) (i64.const 256)))))
