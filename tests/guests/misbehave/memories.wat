;; Several memories: with 64-bit addresses, with pages of one byte, that can't grow. The low half of every byte of the input is
;; an operation, the high half its argument.
;;
;; The harness finds the page after its input closed, which most operations meet; `plain` has no such page.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (tag $thrown)
  (memory $first (export "memory") 3 60)
  (memory $wide i64 1 20)
  (memory $bytes 100 70000 (pagesize 1))
  (memory $fixed 1 1)
  (data $passive "passive data of some length")
  (data (memory $first) (i32.const 65530) "across the end of a page")
  (data (memory $wide) (i64.const 8) "wide")
  (data (memory $bytes) (i32.const 90) "short")
  (global $end (mut i32) (i32.const 0))
  (global $sum (mut i32) (i32.const 0))

  (func $add (param i32) (global.set $sum (i32.add (i32.rotl (global.get $sum) (i32.const 3)) (local.get 0))))

  (func $write_all_pages (param $value i32) (local $at i32)
    (local.set $at (i32.const 2048))
    (block $end (loop $next
      (br_if $end (i32.ge_u (local.get $at) (i32.mul (memory.size $first) (i32.const 65536))))
      (i32.store8 (local.get $at) (i32.add (i32.load8_u (local.get $at)) (local.get $value)))
      (local.set $at (i32.add (local.get $at) (i32.const 4096)))
      (br $next))))

  ;; Depends on all memories.
  (func $witness (local $at i32)
    (call $add (memory.size $first))
    (call $add (i32.wrap_i64 (memory.size $wide)))
    (call $add (memory.size $bytes))
    (block $end (loop $next
      (br_if $end (i32.ge_u (local.get $at) (i32.mul (memory.size $first) (i32.const 65536))))
      (call $add (i32.load8_u (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 2048)))
      (br $next)))
    (call $add (i32.load $wide (i64.sub (i64.shl (memory.size $wide) (i64.const 16)) (i64.const 4))))
    (call $add (i32.load8_u $bytes (i32.sub (memory.size $bytes) (i32.const 1))))
    (call $add (i32.load $fixed (i32.const 65532)))
    (if (i32.and (global.get $sum) (i32.const 1)) (then (nop)) (else (nop))))

  (func $operation (param $code i32) (param $argument i32) (local $old i32)
    (block $b15 (block $b14 (block $b13 (block $b12 (block $b11 (block $b10 (block $b9 (block $b8
    (block $b7 (block $b6 (block $b5 (block $b4 (block $b3 (block $b2 (block $b1 (block $b0
      (br_table $b0 $b1 $b2 $b3 $b4 $b5 $b6 $b7 $b8 $b9 $b10 $b11 $b12 $b13 $b14 $b15 (local.get $code)))
    ;; 0: grow, by nothing too, and write where the new part begins
    (local.set $old (memory.grow $first (local.get $argument)))
    (if (i32.lt_s (local.get $old) (memory.size $first))
      (then (if (local.get $argument)
        (then (i32.store (i32.mul (local.get $old) (i32.const 65536)) (i32.const 0x55aa))))))
    (return))
    ;; 1: read past the end that there was at first
    (call $add (i32.load (i32.add (global.get $end) (i32.mul (local.get $argument) (i32.const 5000)))))
    (return))
    ;; 2: write every page
    (call $write_all_pages (local.get $argument))
    (return))
    ;; 3: grow, write there, and copy from there to below the old end and beyond it
    (if (i32.ne (memory.grow $first (i32.const 1)) (i32.const -1)) (then
      (memory.fill $first (global.get $end) (local.get $argument) (i32.const 60000))
      (memory.copy $first $first (i32.sub (global.get $end) (i32.const 3000)) (global.get $end) (i32.const 9000))))
    (return))
    ;; 4: the same upwards
    (if (i32.ne (memory.grow $first (i32.const 1)) (i32.const -1)) (then
      (memory.copy $first $first (i32.add (global.get $end) (i32.const 5000))
        (i32.sub (global.get $end) (i32.const 8000)) (i32.const 16000))))
    (return))
    ;; 5: copy across the end, which traps if nothing grew and then must not have copied a byte
    (memory.copy $first $first (i32.sub (global.get $end) (i32.const 100)) (i32.const 65500) (i32.const 101))
    (return))
    ;; 6: grow the wide one and write at its end
    (if (i64.ne (memory.grow $wide (i64.extend_i32_u (local.get $argument))) (i64.const -1)) (then
      (i64.store $wide (i64.sub (i64.shl (memory.size $wide) (i64.const 16)) (i64.const 8)) (i64.const -2))))
    (return))
    ;; 7: read far away in it
    (call $add (i32.load $wide (i64.shl (i64.extend_i32_u (local.get $argument)) (i64.const 14))))
    (call $add (i32.load $wide (i64.shl (i64.extend_i32_u (local.get $argument)) (i64.const 60))))
    (return))
    ;; 8: copy between memories
    (memory.copy $wide $first (i64.const 100) (i32.const 65530) (i32.const 24))
    (memory.copy $first $bytes (i32.const 5000) (i32.const 80) (i32.const 20))
    (memory.copy $bytes $fixed (i32.const 10) (i32.const 100) (i32.const 30))
    (memory.copy $fixed $wide (i32.const 65000) (i64.const 0) (i32.const 500))
    (return))
    ;; 9: grow by bytes
    (if (i32.ne (memory.grow $bytes (i32.mul (local.get $argument) (i32.const 397))) (i32.const -1)) (then
      (i32.store8 $bytes (i32.sub (memory.size $bytes) (i32.const 1)) (i32.const 99))))
    (return))
    ;; 10: read past the first end of that one
    (call $add (i32.load8_u $bytes (i32.add (i32.const 99) (local.get $argument))))
    (return))
    ;; 11: use a segment, and drop it
    (memory.init $first $passive (i32.add (i32.const 12288) (local.get $argument)) (i32.const 2) (i32.const 9))
    (if (i32.gt_u (local.get $argument) (i32.const 11)) (then (data.drop $passive)))
    (return))
    ;; 12: fill past the end, which must not fill a byte
    (memory.fill $first (i32.sub (i32.mul (memory.size $first) (i32.const 65536)) (i32.const 9000))
      (local.get $argument) (i32.const 9001))
    (return))
    ;; 13: write, and throw
    (call $write_all_pages (i32.const 3))
    (i32.store $fixed (i32.const 32768) (local.get $argument))
    (if (i32.and (local.get $argument) (i32.const 1)) (then (throw $thrown)))
    (block $caught (try_table (catch $thrown $caught) (throw $thrown)))
    (return))
    ;; 14: write across pages, in one and in an atomic operation
    (v128.store $first (i32.const 20475) (v128.const i64x2 -1 -1))
    (drop (i32.atomic.rmw.add $first (i32.const 24576) (local.get $argument)))
    (i64.store $fixed (i32.const 4093) (i64.const -1))
    (return))
    ;; 15: grow what can't, and all
    (call $add (memory.grow $fixed (i32.const 1)))
    (loop (br_if 0 (i32.ne (memory.grow $first (i32.const 7)) (i32.const -1)))))

  (func (export "plain")
    (i32.store (i32.const 1040) (i32.const 1100))
    (i32.store (i32.const 1044) (i32.const 64))
    (drop (call $fd_read (i32.const 0) (i32.const 1040) (i32.const 1) (i32.const 1036)))
    (drop (call $run (i32.const 1100) (i32.load (i32.const 1036)))))

  (func $run (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
    (local $index i32) (local $byte i32)
    (global.set $end (i32.mul (memory.size $first) (i32.const 65536)))
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $index) (local.get $size)))
        (local.set $byte (i32.load8_u (i32.add (local.get $data) (local.get $index))))
        (call $operation (i32.and (local.get $byte) (i32.const 15)) (i32.shr_u (local.get $byte) (i32.const 4)))
        (call $witness)
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $index) (i32.const 12)))))
    (i32.const 0)))
