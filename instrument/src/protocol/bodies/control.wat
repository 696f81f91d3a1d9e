;; How executions end, and what a stream gives.

(import "guest" "size" (func $guest_size (result i64)))
(import "guest" "load" (func $guest_load (param $at i32) (result i32)))
(import "guest" "load8" (func $guest_load8 (param $at i32) (result i32)))
(import "guest" "store" (func $guest_store (param $at i32) (param $byte i32)))
(import "guest" "copy_in" (func $copy_in (param $to i32) (param $from i32) (param $len i32)))
(import "guest" "copy_out" (func $copy_out (param $to i32) (param $from i32) (param $len i32)))
;; Ends the execution. Does not return, which the validator does not know.
(import "guest" "stop" (func $stop))
;; 1 if draws are recorded. What asks for it is decided when the bodies are linked.
(import "link" "recording" (global $recording i32))
;; Where the stream's area begins in the injected memory: for addresses that are not offsets of loads and stores.
(import "link" "start" (global $start i32))
(import "link" "memory" (memory 1))

;; Ends the execution for a reason.
(func $end (param $status i32)
  (i32.store offset=%STATUS (i32.const 0) (local.get $status))
  (call $stop)
  unreachable)

;; The guest asked for what there can't be.
(func $misuse
  (call $end (i32.const %MISUSED)))

;; Traps unless the guest's memory has all of these bytes.
(func $check (param $at i32) (param $len i32)
  (if (i64.gt_u
        (i64.add (i64.extend_i32_u (local.get $at)) (i64.extend_i32_u (local.get $len)))
        (call $guest_size))
    (then
      ;; No 32-bit memory has so many bytes.
      (drop (i64.load (i32.const -1))))))

;; What an item that does not fit stands for.
(func $misfit (param $at i32) (param $index i64) (param $max i64) (result i64)
  (call $misaligned (local.get $at))
  (if (i32.or (i32.eqz (i32.load offset=%WRAP (i32.const 0))) (i32.load offset=%ITEM_BLOB (local.get $at)))
    (then (return (i64.const 0))))
  (if (i64.le_u (local.get $index) (local.get $max))
    (then (return (local.get $index))))
  (i64.rem_u (local.get $index) (i64.add (local.get $max) (i64.const 1))))

;; Notes the first item that does not fit.
(func $misaligned (param $at i32)
  (if (i32.eqz (i32.load offset=%MISALIGNED (i32.const 0)))
    (then
      (i32.store offset=%MISALIGNED (i32.const 0)
        (i32.add (i32.shr_u (local.get $at) (i32.const %ITEM_LOG2)) (i32.const 1))))))

;; Where the stream has ended: whether the draw is random (and not zero), if the execution goes on at all.
(func $goes_on (param $at i32) (result i32)
  (if (i32.ge_u (local.get $at) (i32.const %ITEMS_BYTES))
    (then (call $end (i32.const %OVERRUN))))
  (if (i32.lt_u (local.get $at) (i32.load offset=%RANDOM_END (i32.const 0)))
    (then (return (i32.const 1))))
  (if (i32.eq (i32.load offset=%TAIL (i32.const 0)) (i32.const %TAIL_STOP))
    (then (call $end (i32.const %STOPPED))))
  (i32.const 0))

;; The index of a draw where the stream has ended: what its call site closes with. Who asked how many draws are left is given zeros: then
;; a stream of that length does the same without closings.
(func $closing (param $site i32) (param $max i64) (result i64)
  (local $index i64)
  (if (i32.ge_u (local.get $site) (i32.load offset=%CLOSINGS_END (i32.const 0)))
    (then (return (i64.const 0))))
  (if (i32.load offset=%ASKED (i32.const 0))
    (then (return (i64.const 0))))
  (local.set $index (i64.load8_u offset=%CLOSINGS (local.get $site)))
  (select (i64.const 0) (local.get $index) (i64.gt_u (local.get $index) (local.get $max))))

(func (export "remaining") (param $site i32) (result i32)
  (local $at i32) (local $end i32) (local $random i32)
  (i32.store offset=%ASKED (i32.const 0) (i32.const 1))
  (local.set $at (i32.load offset=%POSITION (i32.const 0)))
  (local.set $end (i32.load offset=%END (i32.const 0)))
  (local.set $random (i32.load offset=%RANDOM_END (i32.const 0)))
  (local.set $end
    (select (local.get $random) (local.get $end) (i32.gt_u (local.get $random) (local.get $end))))
  (select
    (i32.shr_u (i32.sub (local.get $end) (local.get $at)) (i32.const %ITEM_LOG2))
    (i32.const 0)
    (i32.gt_u (local.get $end) (local.get $at))))
