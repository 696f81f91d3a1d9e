;; Every byte of the input is an operation that leaves something behind or ends the execution. A sandbox that forgets to
;; restore any of it shows another outcome, other counters or another state hash in a later execution.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (type $nullary (func (result i32)))
  (tag $thrown (param i32))
  (memory (export "memory") 2)
  (memory $other 1)
  (table $functions 4 funcref)
  (elem (table $functions) (i32.const 0) func $one $two)
  (elem $passive func $two $one)
  (data $passive "passive data")
  (data (i32.const 100) "initial data")
  (global $small (mut i32) (i32.const 7))
  (global $wide (export "wide") (mut i64) (i64.const -1))
  (global $real (mut f64) (f64.const 1.5))
  (global $vector (mut v128) (v128.const i64x2 1 2))

  (func $one (type $nullary) (i32.const 1))
  (func $two (type $nullary) (i32.const 2))
  (func $recurse (param i32) (result i32)
    (i32.add (i32.const 1) (call $recurse (i32.add (local.get 0) (i32.const 1)))))

  ;; A number that depends on all state that was ever left behind by accident.
  (func $witness (result i32)
    (local $sum i32)
    (local.set $sum (i32.add (global.get $small) (i32.wrap_i64 (global.get $wide))))
    (local.set $sum (i32.add (local.get $sum) (i32.trunc_sat_f64_s (global.get $real))))
    (local.set $sum (i32.add (local.get $sum) (i32x4.extract_lane 0 (global.get $vector))))
    (local.set $sum (i32.add (local.get $sum) (memory.size)))
    (local.set $sum (i32.add (local.get $sum) (memory.size $other)))
    (local.set $sum (i32.add (local.get $sum) (table.size $functions)))
    (local.set $sum (i32.add (local.get $sum) (i32.load8_u (i32.const 100))))
    (local.set $sum (i32.add (local.get $sum) (i32.load (i32.const 4096))))
    (local.set $sum (i32.add (local.get $sum) (i32.load $other (i32.const 0))))
    (local.set $sum (i32.add (local.get $sum) (ref.is_null (table.get $functions (i32.const 3)))))
    (local.set $sum (i32.add (local.get $sum) (call_indirect $functions (type $nullary) (i32.const 0))))
    (local.get $sum))

  (func $operation (param $code i32) (param $at i32)
    (block $b15 (block $b14 (block $b13 (block $b12 (block $b11 (block $b10 (block $b9 (block $b8
    (block $b7 (block $b6 (block $b5 (block $b4 (block $b3 (block $b2 (block $b1 (block $b0
      (br_table $b0 $b1 $b2 $b3 $b4 $b5 $b6 $b7 $b8 $b9 $b10 $b11 $b12 $b13 $b14 $b15
        (i32.and (local.get $code) (i32.const 15))))
    ;; 0: change globals
    (global.set $small (i32.add (global.get $small) (i32.const 1)))
    (global.set $wide (i64.const 5))
    (global.set $real (f64.const 9))
    (global.set $vector (v128.const i64x2 3 4))
    (return))
    ;; 1: trap
    (unreachable))
    ;; 2: grow, and write to the grown page
    (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1))
      (then (i32.store (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 8)) (i32.const 77))))
    (return))
    ;; 3: overflow the stack
    (drop (call $recurse (local.get $code)))
    (return))
    ;; 4: loop for ever, by the upper bits of the code; else write far away
    (if (i32.and (local.get $code) (i32.const 128)) (then (loop (br 0))))
    (i32.store (i32.const 4096) (local.get $code))
    (return))
    ;; 5: change the table
    (table.set $functions (i32.const 0) (ref.func $two))
    (table.set $functions (i32.const 3) (ref.func $one))
    (return))
    ;; 6: drop segments
    (data.drop $passive)
    (elem.drop $passive)
    (return))
    ;; 7: use the segments, which traps if they were dropped
    (table.init $functions $passive (i32.const 1) (i32.const 0) (i32.const 2))
    (memory.init $passive (i32.const 200) (i32.const 0) (i32.const 8))
    (return))
    ;; 8: read past the end
    (drop (i32.load (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 3))))
    (return))
    ;; 9: fill much of memory
    (memory.fill (i32.const 8192) (local.get $code) (i32.const 50000))
    (return))
    ;; 10: exit
    (call $exit (local.get $code))
    (return))
    ;; 11: throw, caught or not
    (block $caught (result i32)
      (try_table (catch $thrown $caught) (throw $thrown (local.get $code)))
      unreachable)
    (if (i32.and (i32.const 128)) (then (throw $thrown (i32.const 1))))
    (return))
    ;; 12: write to the input's own bytes
    (i32.store8 (local.get $at) (i32.const 255))
    (return))
    ;; 13: print, with random numbers
    (drop (call $random_get (i32.const 300) (i32.const 8)))
    (i32.store (i32.const 400) (i32.const 300))
    (i32.store (i32.const 404) (i32.const 8))
    (drop (call $fd_write (i32.const 1) (i32.const 400) (i32.const 1) (i32.const 408)))
    (return))
    ;; 14: grow the other memory and the table
    (drop (memory.grow $other (i32.const 1)))
    (i32.store $other (i32.const 0) (local.get $code))
    (drop (table.grow $functions (ref.null func) (i32.and (i32.shr_u (local.get $code) (i32.const 4)) (i32.const 1))))
    (return))
    ;; 15: divide by zero, or take all memory
    (if (i32.and (local.get $code) (i32.const 128))
      (then (loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)))
    (drop (i32.div_u (local.get $code) (i32.const 0))))

  (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
    (local $index i32)
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $index) (local.get $size)))
        (call $operation
          (i32.load8_u (i32.add (local.get $data) (local.get $index)))
          (i32.add (local.get $data) (local.get $index)))
        ;; What was left behind decides which edges are counted.
        (i32.store (i32.const 500) (i32.add (i32.load (i32.const 500)) (call $witness)))
        (if (i32.and (i32.load (i32.const 500)) (i32.const 1)) (then (nop)) (else (nop)))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br $next)))
    (if (result i32) (i32.eq (local.get $size) (i32.const 3)) (then (i32.const -1)) (else (i32.const 0)))))
