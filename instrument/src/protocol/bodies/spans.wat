;; Spans: those that the guest tells, and those that were found in its code.

(func (export "span_begin") (param $label i32) (param $site i32)
  (local $depth i32) (local $at i32)
  (local.set $depth (i32.add (i32.load offset=%DEPTH (i32.const 0)) (i32.const 1)))
  (if (i32.ge_u (local.get $depth) (i32.const %DEPTHS)) (then (call $end (i32.const %OVERRUN))))
  (i32.store offset=%DEPTH (i32.const 0) (local.get $depth))
  (i32.store offset=%COUNTS (i32.shl (local.get $depth) (i32.const 2)) (i32.const 0))
  (if (global.get $recording)
    (then
      %MARK
        (i64.or
          (i64.const %KIND_BEGIN)
          (i64.shl (i64.extend_i32_u (local.get $site)) (i64.const 32)))
      %MARK_LABEL (i64.extend_i32_u (local.get $label))
      %MARKED)))

;; Without a span to end, nothing happens.
(func (export "span_end") (param $flags i32) (param $site i32)
  (local $depth i32) (local $at i32)
  (local.set $depth (i32.load offset=%DEPTH (i32.const 0)))
  (if (i32.eqz (local.get $depth)) (then (return)))
  (i32.store offset=%DEPTH (i32.const 0) (i32.sub (local.get $depth) (i32.const 1)))
  (if (global.get $recording)
    (then
      %MARK (i64.const %KIND_END) %MARK_LABEL (i64.extend_i32_u (local.get $flags)) %MARKED)))

;; Begins a span that was found in the code; gives a number by which to end it, 0 if there was no room.
(func (export "enter") (param $label i64) (result i32)
  (local $at i32)
  %MARK (i64.const %KIND_ENTER) %MARK_LABEL (local.get $label) %MARKED
  (local.get $at))

;; Ends such a span, and those inside it that an exception left.
(func (export "leave") (param $number i32)
  (local $at i32)
  (if (local.get $number)
    (then
      %MARK (i64.const %KIND_LEAVE) %MARK_LABEL (i64.extend_i32_u (local.get $number)) %MARKED)))

;; A function has caught an exception: ends the spans inside its own.
(func (export "caught") (param $number i32)
  (local $at i32)
  (if (local.get $number)
    (then
      %MARK (i64.const %KIND_CATCH) %MARK_LABEL (i64.extend_i32_u (local.get $number)) %MARKED)))
