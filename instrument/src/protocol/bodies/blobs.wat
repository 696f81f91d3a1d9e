;; Draws of blobs. Both put the canonical blob behind those that were drawn before.

;; Room for so many more bytes, after `len` of them: where it is, as an offset among the drawn blobs.
(func $room (param $len i32) (param $more i32) (result i32)
  (local $used i32)
  (local.set $used (i32.load offset=%BLOBS_USED (i32.const 0)))
  (if (i64.gt_u
        (i64.add
          (i64.extend_i32_u (local.get $used))
          (i64.add (i64.extend_i32_u (local.get $len)) (i64.extend_i32_u (local.get $more))))
        (i64.const %BLOBS_BYTES))
    (then (call $end (i32.const %OVERRUN))))
  (i32.add (local.get $used) (local.get $len)))

(func (export "draw_bytes") (param $to i32) (param $min i32) (param $most i32) (param $site i32) (result i32)
  (local $at i32) (local $len i32) (local $kept i32) (local $out i32) (local $index i64)
  (if (i32.or (i32.lt_s (local.get $min) (i32.const 0)) (i32.lt_s (local.get $most) (local.get $min)))
    (then (call $misuse)))
  ;; The buffer is to have room for all that may come, whatever comes.
  (call $check (local.get $to) (local.get $most))
  (local.set $at (i32.load offset=%POSITION (i32.const 0)))
  (local.set $len (local.get $min))
  (if (i32.lt_u (local.get $at) (i32.load offset=%END (i32.const 0)))
    (then
      (if (i32.load offset=%ITEM_BLOB (local.get $at))
        (then (local.set $kept (i32.wrap_i64 (i64.load offset=%ITEMS (local.get $at))))))
      (local.set $len
        (select (local.get $kept) (local.get $min) (i32.gt_u (local.get $kept) (local.get $min))))
      (local.set $len
        (select (local.get $most) (local.get $len) (i32.gt_u (local.get $len) (local.get $most))))
      (if (i32.or
            (i32.ne (local.get $kept) (local.get $len))
            (i32.eqz (i32.load offset=%ITEM_BLOB (local.get $at))))
        (then (call $misaligned (local.get $at))))
      (local.set $kept
        (select (local.get $len) (local.get $kept) (i32.gt_u (local.get $kept) (local.get $len))))
      (local.set $out (call $room (i32.const 0) (local.get $len)))
      (if (local.get $kept)
        (then
          (memory.copy
            (i32.add (i32.add (global.get $start) (i32.const %BLOBS_OUT)) (local.get $out))
            (i32.add
              (i32.add (global.get $start) (i32.const %BLOBS_IN))
              (i32.sub (i32.load offset=%ITEM_BLOB (local.get $at)) (i32.const 1)))
            (local.get $kept))))
      (memory.fill
        (i32.add (i32.add (global.get $start) (i32.const %BLOBS_OUT)) (i32.add (local.get $out) (local.get $kept)))
        (i32.const 0)
        (i32.sub (local.get $len) (local.get $kept))))
    (else
      (if (call $goes_on (local.get $at))
        (then
          (local.set $len (call $random_len (local.get $min) (local.get $most)))
          (local.set $out (call $room (i32.const 0) (local.get $len)))
          (loop $again
            (if (i32.lt_u (local.get $kept) (local.get $len))
              (then
                (i32.store8 offset=%BLOBS_OUT
                  (i32.add (local.get $out) (local.get $kept))
                  (i32.wrap_i64 (i64.shr_u (call $random) (i64.const 56))))
                (local.set $kept (i32.add (local.get $kept) (i32.const 1)))
                (br $again)))))
        (else
          (local.set $out (call $room (i32.const 0) (local.get $len)))
          (memory.fill
            (i32.add (i32.add (global.get $start) (i32.const %BLOBS_OUT)) (local.get $out))
            (i32.const 0)
            (local.get $len))))))
  (call $copy_out
    (local.get $to)
    (i32.add (i32.add (global.get $start) (i32.const %BLOBS_OUT)) (local.get $out))
    (local.get $len))
  (i32.store offset=%BLOBS_USED (i32.const 0) (i32.add (local.get $out) (local.get $len)))
  (i32.store offset=%POSITION (i32.const 0) (i32.add (local.get $at) (i32.const %ITEM_BYTES)))
  (local.set $index (i64.extend_i32_u (local.get $len)))
  %RECORD %KIND_BYTES
    %LO (i64.extend_i32_u (local.get $min))
    %HI (i64.extend_i32_u (local.get $most))
    %MORE (i64.extend_i32_u (local.get $out))
  %RECORDED
  (local.get $len))

;; A scalar that has no room in the guest's buffer is taken to be the alphabet's first; if that has none either, the
;; string ends, whatever its length is to be.
(func (export "draw_str")
  (param $to i32) (param $room i32) (param $min i32) (param $most i32) (param $alphabet i32) (param $ranges i32)
  (param $site i32) (result i32)
  (local $at i32) (local $size i32) (local $way i32) (local $from i32) (local $end i32) (local $count i32)
  (local $wanted i32) (local $pick i32) (local $scalar i32) (local $bytes i32) (local $written i32) (local $len i32)
  (local $out i32) (local $filled i32) (local $index i64)
  (if (i32.or
        (i32.lt_s (local.get $room) (i32.const 0))
        (i32.or (i32.lt_s (local.get $min) (i32.const 0)) (i32.lt_s (local.get $most) (local.get $min))))
    (then (call $misuse)))
  (call $check (local.get $to) (local.get $room))
  (local.set $size (call $alphabet_size (local.get $alphabet) (local.get $ranges)))
  (local.set $at (i32.load offset=%POSITION (i32.const 0)))
  (local.set $wanted (local.get $min))
  (if (i32.lt_u (local.get $at) (i32.load offset=%END (i32.const 0)))
    (then
      (local.set $way (i32.const 1))
      (if (i32.load offset=%ITEM_BLOB (local.get $at))
        (then
          (local.set $from (i32.sub (i32.load offset=%ITEM_BLOB (local.get $at)) (i32.const 1)))
          (local.set $end
            (i32.add (local.get $from) (i32.wrap_i64 (i64.load offset=%ITEMS (local.get $at))))))
        (else (call $misaligned (local.get $at)))))
    (else
      (if (call $goes_on (local.get $at))
        (then
          (local.set $way (i32.const 2))
          (local.set $wanted (call $random_len (local.get $min) (local.get $most)))))))
  (block $done
    (loop $again
      (br_if $done (i32.ge_u (local.get $count) (local.get $most)))
      (local.set $pick (i32.const 0))
      (if (i32.lt_u (local.get $from) (local.get $end))
        (then
          ;; LEB128, cut off after 32 bits.
          (local.set $len (i32.const 0))
          (block $read
            (loop $next
              (local.set $scalar (i32.load8_u offset=%BLOBS_IN (local.get $from)))
              (local.set $pick
                (i32.or
                  (local.get $pick)
                  (i32.shl (i32.and (local.get $scalar) (i32.const 0x7f)) (local.get $len))))
              (local.set $from (i32.add (local.get $from) (i32.const 1)))
              (local.set $len (i32.add (local.get $len) (i32.const 7)))
              (br_if $read (i32.eqz (i32.and (local.get $scalar) (i32.const 0x80))))
              (br_if $read (i32.ge_u (local.get $len) (i32.const 35)))
              (br_if $next (i32.lt_u (local.get $from) (local.get $end)))))
          (if (i32.ge_u (local.get $pick) (local.get $size))
            (then
              (call $misaligned (local.get $at))
              (local.set $pick
                (select
                  (i32.rem_u (local.get $pick) (local.get $size))
                  (i32.const 0)
                  (i32.load offset=%WRAP (i32.const 0)))))))
        (else
          (br_if $done (i32.ge_u (local.get $count) (local.get $wanted)))
          (local.set $filled (i32.eq (local.get $way) (i32.const 1)))
          (if (i32.eq (local.get $way) (i32.const 2))
            (then (local.set $pick (call $random_pick (local.get $size)))))))
      (local.set $scalar (call $scalar (local.get $alphabet) (local.get $ranges) (local.get $pick)))
      (local.set $bytes (call $utf8_len (local.get $scalar)))
      (if (i32.gt_u (local.get $bytes) (i32.sub (local.get $room) (local.get $written)))
        (then
          (if (i32.gt_u (i32.eq (local.get $way) (i32.const 1)) (local.get $filled))
            (then (call $misaligned (local.get $at))))
          (local.set $pick (i32.const 0))
          (local.set $scalar (call $scalar (local.get $alphabet) (local.get $ranges) (i32.const 0)))
          (local.set $bytes (call $utf8_len (local.get $scalar)))
          (br_if $done (i32.gt_u (local.get $bytes) (i32.sub (local.get $room) (local.get $written))))))
      (if (local.get $filled) (then (call $misaligned (local.get $at))))
      (call $write_scalar
        (i32.add (local.get $to) (local.get $written)) (local.get $scalar) (local.get $bytes))
      (local.set $written (i32.add (local.get $written) (local.get $bytes)))
      ;; The index, as LEB128.
      (drop (call $room (local.get $out) (i32.const 5)))
      (loop $next
        (i32.store8 offset=%BLOBS_OUT
          (i32.add (i32.load offset=%BLOBS_USED (i32.const 0)) (local.get $out))
          (i32.or
            (i32.and (local.get $pick) (i32.const 0x7f))
            (i32.shl (i32.gt_u (local.get $pick) (i32.const 0x7f)) (i32.const 7))))
        (local.set $out (i32.add (local.get $out) (i32.const 1)))
        (local.set $pick (i32.shr_u (local.get $pick) (i32.const 7)))
        (br_if $next (local.get $pick)))
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (br $again)))
  ;; More scalars than the guest takes.
  (if (i32.lt_u (local.get $from) (local.get $end)) (then (call $misaligned (local.get $at))))
  (i32.store offset=%POSITION (i32.const 0) (i32.add (local.get $at) (i32.const %ITEM_BYTES)))
  (local.set $from (i32.load offset=%BLOBS_USED (i32.const 0)))
  (i32.store offset=%BLOBS_USED (i32.const 0) (i32.add (local.get $from) (local.get $out)))
  (local.set $index (i64.extend_i32_u (local.get $out)))
  %RECORD %KIND_STR
    %LO (i64.extend_i32_u (local.get $min))
    %HI (i64.extend_i32_u (local.get $most))
    %MORE (i64.or (i64.extend_i32_u (local.get $from)) (i64.shl (i64.extend_i32_u (local.get $size)) (i64.const 32)))
  %RECORDED
  (local.get $written))

;; An index in an alphabet; of a large one, half of the time one of its first.
(func $random_pick (param $size i32) (result i32)
  (local $r i64)
  (local.set $r (call $random))
  (if (i64.eqz (i64.and (local.get $r) (i64.const 1)))
    (then
      (local.set $size
        (select (i32.const 95) (local.get $size) (i32.gt_u (local.get $size) (i32.const 95))))))
  (i32.wrap_i64 (i64.rem_u (i64.shr_u (local.get $r) (i64.const 8)) (i64.extend_i32_u (local.get $size)))))

;; How many scalars an alphabet has. It consists of pairs of the first and the last of a range.
(func $alphabet_size (param $alphabet i32) (param $ranges i32) (result i32)
  (local $size i64) (local $end i32) (local $first i32) (local $last i32)
  (if (i32.eqz (local.get $alphabet)) (then (return (i32.const 1112064))))
  (if (i32.gt_u (i32.sub (local.get $ranges) (i32.const 1)) (i32.const %RANGES_MAX_LESS_1))
    (then (call $misuse)))
  (call $check (local.get $alphabet) (i32.shl (local.get $ranges) (i32.const 3)))
  (local.set $end (i32.add (local.get $alphabet) (i32.shl (local.get $ranges) (i32.const 3))))
  (loop $again
    (local.set $first (call $guest_load (local.get $alphabet)))
    (local.set $last (call $guest_load (i32.add (local.get $alphabet) (i32.const 4))))
    (if (i32.or
          (i32.gt_u (local.get $first) (local.get $last))
          (i32.gt_u (local.get $last) (i32.const 0x10ffff)))
      (then (call $misuse)))
    (local.set $size
      (i64.add
        (local.get $size)
        (i64.extend_i32_u (i32.add (i32.sub (local.get $last) (local.get $first)) (i32.const 1)))))
    (local.set $alphabet (i32.add (local.get $alphabet) (i32.const 8)))
    (br_if $again (i32.ne (local.get $alphabet) (local.get $end))))
  (i32.wrap_i64 (local.get $size)))

;; The scalar at an index of an alphabet. What is none, a surrogate, stands for U+FFFD.
(func $scalar (param $alphabet i32) (param $ranges i32) (param $pick i32) (result i32)
  (local $first i32) (local $len i32)
  (if (i32.eqz (local.get $alphabet)) (then (return (call $usual_scalar (local.get $pick)))))
  (block $found
    (loop $again
      (local.set $first (call $guest_load (local.get $alphabet)))
      (local.set $len
        (i32.add
          (i32.sub (call $guest_load (i32.add (local.get $alphabet) (i32.const 4))) (local.get $first))
          (i32.const 1)))
      (br_if $found (i32.lt_u (local.get $pick) (local.get $len)))
      (local.set $pick (i32.sub (local.get $pick) (local.get $len)))
      (local.set $alphabet (i32.add (local.get $alphabet) (i32.const 8)))
      (br $again)))
  (local.set $first (i32.add (local.get $first) (local.get $pick)))
  (select
    (i32.const 0xfffd)
    (local.get $first)
    (i32.lt_u (i32.sub (local.get $first) (i32.const 0xd800)) (i32.const 0x800))))

;; The alphabet of all scalars: lower case, upper case, digits, what else can be printed in ASCII, all others.
(func $usual_scalar (param $pick i32) (result i32)
  (if (i32.lt_u (local.get $pick) (i32.const 26))
    (then (return (i32.add (local.get $pick) (i32.const 97)))))
  (if (i32.lt_u (local.get $pick) (i32.const 52))
    (then (return (i32.add (local.get $pick) (i32.const 39)))))
  (if (i32.lt_u (local.get $pick) (i32.const 62))
    (then (return (i32.sub (local.get $pick) (i32.const 4)))))
  (if (i32.lt_u (local.get $pick) (i32.const 78))
    (then (return (i32.sub (local.get $pick) (i32.const 30)))))
  (if (i32.lt_u (local.get $pick) (i32.const 85))
    (then (return (i32.sub (local.get $pick) (i32.const 20)))))
  (if (i32.lt_u (local.get $pick) (i32.const 91))
    (then (return (i32.add (local.get $pick) (i32.const 6)))))
  (if (i32.lt_u (local.get $pick) (i32.const 95))
    (then (return (i32.add (local.get $pick) (i32.const 32)))))
  (if (i32.lt_u (local.get $pick) (i32.const 127))
    (then (return (i32.sub (local.get $pick) (i32.const 95)))))
  (if (i32.lt_u (local.get $pick) (i32.const 0xd800))
    (then (return (local.get $pick))))
  (i32.add (local.get $pick) (i32.const 0x800)))

(func $utf8_len (param $scalar i32) (result i32)
  (i32.add
    (i32.add (i32.const 1) (i32.gt_u (local.get $scalar) (i32.const 0x7f)))
    (i32.add
      (i32.gt_u (local.get $scalar) (i32.const 0x7ff))
      (i32.gt_u (local.get $scalar) (i32.const 0xffff)))))

(func $write_scalar (param $at i32) (param $scalar i32) (param $bytes i32)
  (if (i32.eq (local.get $bytes) (i32.const 1))
    (then
      (call $guest_store (local.get $at) (local.get $scalar))
      (return)))
  ;; 0xc0, 0xe0 or 0xf0 with the highest bits, then six bits each.
  (local.set $bytes (i32.sub (local.get $bytes) (i32.const 1)))
  (call $guest_store
    (local.get $at)
    (i32.or
      (i32.shr_s (i32.const -128) (local.get $bytes))
      (i32.shr_u (local.get $scalar) (i32.mul (local.get $bytes) (i32.const 6)))))
  (loop $next
    (local.set $bytes (i32.sub (local.get $bytes) (i32.const 1)))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (call $guest_store
      (local.get $at)
      (i32.or
        (i32.const 0x80)
        (i32.and
          (i32.shr_u (local.get $scalar) (i32.mul (local.get $bytes) (i32.const 6)))
          (i32.const 0x3f))))
    (br_if $next (local.get $bytes))))
