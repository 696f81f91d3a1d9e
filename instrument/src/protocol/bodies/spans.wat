;; Spans: those that the guest tells, and those that were found in its code.

(func (export "span_begin") (param $label i32) (param $site i32)
  (local $depth i32) (local $at i32)
  (local.set $depth (i32.add (i32.load offset=%DEPTH (i32.const 0)) (i32.const 1)))
  (if (i32.ge_u (local.get $depth) (i32.const %DEPTHS)) (then (call $end (i32.const %OVERRUN))))
  (i32.store offset=%DEPTH (i32.const 0) (local.get $depth))
  (i32.store offset=%COUNTS (i32.shl (local.get $depth) (i32.const 2)) (i32.const 0))
  (if (global.get $recording)
    (then
      (drop
        (call $span
          (i64.or
            (i64.const %KIND_BEGIN)
            (i64.shl (i64.extend_i32_u (local.get $site)) (i64.const 32)))
          (i64.extend_i32_u (local.get $label)))))))

;; Without a span to end, nothing happens.
(func (export "span_end") (param $flags i32) (param $site i32)
  (local $depth i32)
  (local.set $depth (i32.load offset=%DEPTH (i32.const 0)))
  (if (i32.eqz (local.get $depth)) (then (return)))
  (i32.store offset=%DEPTH (i32.const 0) (i32.sub (local.get $depth) (i32.const 1)))
  (if (global.get $recording)
    (then (drop (call $span (i64.const %KIND_END) (i64.extend_i32_u (local.get $flags)))))))

;; Begins a span that was found in the code; gives a number by which to end it, 0 if there was no room.
(func (export "enter") (param $label i64) (result i32)
  (call $span (i64.const %KIND_ENTER) (local.get $label)))

;; Ends such a span, and those inside it that an exception left.
(func (export "leave") (param $number i32)
  (if (local.get $number)
    (then (drop (call $span (i64.const %KIND_LEAVE) (i64.extend_i32_u (local.get $number)))))))

;; A function has caught an exception: ends the spans inside its own.
(func (export "caught") (param $number i32)
  (if (local.get $number)
    (then (drop (call $span (i64.const %KIND_CATCH) (i64.extend_i32_u (local.get $number)))))))

;; Records where a span begins or ends, if that leaves room for all draws that there can be.
(func $span (param $head i64) (param $label i64) (result i32)
  (local $at i32)
  (local.set $at (i32.load offset=%RECORDS_USED (i32.const 0)))
  (if (i32.ge_u (local.get $at) (i32.const %SPANS_BYTES))
    (then
      (i32.store offset=%SPANS_LOST (i32.const 0) (i32.const 1))
      (return (i32.const 0))))
  (i64.store offset=%RECORD_HEAD (local.get $at) (local.get $head))
  (i64.store offset=%RECORD_INDEX (local.get $at) (local.get $label))
  (local.set $at (i32.add (local.get $at) (i32.const %RECORD_BYTES)))
  (i32.store offset=%RECORDS_USED (i32.const 0) (local.get $at))
  (local.get $at))
