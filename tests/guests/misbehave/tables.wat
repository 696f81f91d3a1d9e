;; Several tables, functions in globals, and ends of all kinds deep within calls. The low half of every byte of the input is an
;; operation, the high half its argument.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "env" "nobody" (func $nobody (param i32) (result i32)))
  (type $number (func (result i32)))
  (type $none (func))
  (tag $thrown (param i32))
  (memory (export "memory") 1)
  (table $functions (export "functions") 12 40 funcref)
  (table $wide i64 6 20 funcref)
  (elem (table $functions) (i32.const 0) func $one $two $three $nothing)
  (elem (table $wide) (i64.const 1) func $three)
  (elem $passive func $two $one $three $nothing)
  (global $chosen (mut funcref) (ref.func $one))
  (global $sum (mut i32) (i32.const 0))
  (global $depth (mut i32) (i32.const 0))

  (func $one (type $number) (i32.const 1))
  (func $two (type $number) (i32.const 20))
  (func $three (type $number) (i32.const 300))
  (func $nothing (type $none))
  (func $add (param i32) (global.set $sum (i32.add (i32.rotl (global.get $sum) (i32.const 3)) (local.get 0))))

  ;; Depends on what is in the tables: null, or which function.
  (func $witness (local $at i32) (local $function funcref)
    (call $add (table.size $functions))
    (call $add (i32.wrap_i64 (table.size $wide)))
    (block $end (loop $next
      (br_if $end (i32.ge_u (local.get $at) (table.size $functions)))
      (call $kind (table.get $functions (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $next)))
    (local.set $at (i32.const 0))
    (block $end (loop $next
      (br_if $end (i32.ge_u (local.get $at) (i32.wrap_i64 (table.size $wide))))
      (call $kind (table.get $wide (i64.extend_i32_u (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $next)))
    (call $kind (global.get $chosen)))

  (func $kind (param funcref)
    (if (ref.is_null (local.get 0)) (then (call $add (i32.const 7)) (return)))
    (block $other (result funcref)
      (call $add (call_ref $number (br_on_cast_fail $other funcref (ref $number) (local.get 0))))
      (return))
    (drop)
    (call $add (i32.const 9)))

  (func $recurse (param i32) (result i32)
    (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
    (i32.add (i32.const 1) (call $recurse (i32.add (local.get 0) (i32.const 1)))))

  ;; Ends in one of several ways, after some calls.
  (func $end (param $way i32) (param $calls i32) (result i32)
    (i32.store (i32.shl (local.get $calls) (i32.const 9)) (local.get $way))
    (if (local.get $calls) (then
      (return (i32.add (i32.const 1) (call $end (local.get $way) (i32.sub (local.get $calls) (i32.const 1)))))))
    (if (i32.eqz (local.get $way)) (then (call $exit (i32.const 3))))
    (if (i32.eq (local.get $way) (i32.const 1)) (then (return (call $nobody (i32.const 1)))))
    (if (i32.eq (local.get $way) (i32.const 2)) (then (throw $thrown (i32.const 2))))
    (call $recurse (i32.const 0)))

  (func $operation (param $code i32) (param $argument i32)
    (block $b15 (block $b14 (block $b13 (block $b12 (block $b11 (block $b10 (block $b9 (block $b8
    (block $b7 (block $b6 (block $b5 (block $b4 (block $b3 (block $b2 (block $b1 (block $b0
      (br_table $b0 $b1 $b2 $b3 $b4 $b5 $b6 $b7 $b8 $b9 $b10 $b11 $b12 $b13 $b14 $b15 (local.get $code)))
    ;; 0 to 3: set an element
    (table.set $functions (local.get $argument) (ref.func $two))
    (return))
    (table.set $functions (local.get $argument) (ref.null func))
    (return))
    (table.set $wide (i64.extend_i32_u (local.get $argument)) (ref.func $nothing))
    (return))
    (table.set $functions (local.get $argument) (global.get $chosen))
    (return))
    ;; 4: fill a table, not more than there is
    (table.fill $functions (i32.const 2) (ref.func $three) (local.get $argument))
    (return))
    ;; 5: copy within a table
    (table.copy $functions $functions (local.get $argument) (i32.const 0) (i32.const 4))
    (return))
    ;; 6: copy between tables
    (table.copy $functions $wide (local.get $argument) (i64.const 0) (i32.const 3))
    (table.copy $wide $functions (i64.const 0) (local.get $argument) (i32.const 3))
    (return))
    ;; 7: use a segment
    (table.init $functions $passive (local.get $argument) (i32.const 1) (i32.const 2))
    (return))
    ;; 8: drop it
    (elem.drop $passive)
    (return))
    ;; 9: grow a table, perhaps by nothing
    (call $add (table.grow $functions (ref.func $two) (local.get $argument)))
    (return))
    ;; 10: grow the other one, then past its end
    (call $add (i32.wrap_i64 (table.grow $wide (ref.func $one) (i64.const 3))))
    (call $add (i32.wrap_i64 (table.grow $wide (ref.func $one) (i64.const 1000))))
    (return))
    ;; 11: choose another function
    (global.set $chosen (table.get $functions (local.get $argument)))
    (return))
    ;; 12: call what is there, if it has the type
    (call $add (call_indirect $functions (type $number) (local.get $argument)))
    (return))
    ;; 13: the same in the other
    (call $add (call_indirect $wide (type $number) (i64.extend_i32_u (local.get $argument))))
    (return))
    ;; 14: end within calls
    (call $add (call $end (i32.and (local.get $argument) (i32.const 3)) (i32.shl (local.get $argument) (i32.const 1))))
    (return))
    ;; 15: throw through calls, and go on
    (block $caught (result i32)
      (try_table (catch $thrown $caught) (drop (call $end (i32.const 2) (local.get $argument))))
      (i32.const 0))
    (call $add))

  (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
    (local $index i32) (local $byte i32)
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $index) (local.get $size)))
        (local.set $byte (i32.load8_u (i32.add (local.get $data) (local.get $index))))
        (call $operation (i32.and (local.get $byte) (i32.const 15)) (i32.shr_u (local.get $byte) (i32.const 4)))
        (call $witness)
        (if (i32.and (global.get $sum) (i32.const 1)) (then (nop)) (else (nop)))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $index) (i32.const 40)))))
    (i32.const 0)))
