;; What the guest tells: why it ends, and what it wants to be known.

(func (export "assume") (param $condition i32) (param $site i32)
  (if (i32.eqz (local.get $condition)) (then (call $end (i32.const %REJECTED)))))

(func (export "reject") (param $text i32) (param $len i32) (param $site i32)
  (call $entry (i32.const %ENTRY_REJECT) (local.get $site) (i64.const 0) (i64.const 0)
    (local.get $text) (local.get $len) (i32.const %LABEL_MAX) (i32.const %ENTRIES_BYTES))
  (call $end (i32.const %REJECTED)))

(func (export "fail") (param $text i32) (param $len i32) (param $site i32)
  (call $entry (i32.const %ENTRY_FAIL) (local.get $site) (i64.const 0) (i64.const 0)
    (local.get $text) (local.get $len) (i32.const %LABEL_MAX) (i32.const %ENTRIES_BYTES))
  (call $end (i32.const %FAILED)))

(func (export "target") (param $text i32) (param $len i32) (param $score f64) (param $site i32)
  (call $entry (i32.const %ENTRY_TARGET) (local.get $site) (i64.reinterpret_f64 (local.get $score)) (i64.const 0)
    (local.get $text) (local.get $len) (i32.const %LABEL_MAX) (i32.const %ENTRIES_LIMIT)))

(func (export "event") (param $text i32) (param $len i32) (param $value i64) (param $site i32)
  (call $entry (i32.const %ENTRY_EVENT) (local.get $site) (local.get $value) (i64.const 0)
    (local.get $text) (local.get $len) (i32.const %LABEL_MAX) (i32.const %ENTRIES_LIMIT)))

(func (export "keyframe") (param $id i32) (param $argument i64) (param $site i32)
  (call $entry (i32.const %ENTRY_KEYFRAME) (local.get $site) (i64.extend_i32_u (local.get $id)) (local.get $argument)
    (i32.const 0) (i32.const 0) (i32.const %LABEL_MAX) (i32.const %ENTRIES_LIMIT)))

;; Names of key frames say which frames were told: they count in all variants.
(func (export "name") (param $kind i32) (param $id i32) (param $text i32) (param $len i32) (param $site i32)
  (call $check (local.get $text) (local.get $len))
  (if (i32.eq (local.get $kind) (i32.const %NAME_KEYFRAME))
    (then
      (call $named
        (local.get $kind) (local.get $id) (local.get $text) (local.get $len) (local.get $site))
      (return)))
  (if (global.get $recording)
    (then
      (call $named
        (local.get $kind) (local.get $id) (local.get $text) (local.get $len) (local.get $site)))))

(func $named (param $kind i32) (param $id i32) (param $text i32) (param $len i32) (param $site i32)
  (call $entry (i32.const %ENTRY_NAME) (local.get $site)
    (i64.extend_i32_u (local.get $kind)) (i64.extend_i32_u (local.get $id))
    (local.get $text) (local.get $len) (i32.const %LABEL_MAX) (i32.const %ENTRIES_LIMIT)))

(func (export "note") (param $text i32) (param $len i32) (param $site i32)
  (call $check (local.get $text) (local.get $len))
  (if (global.get $recording)
    (then
      (call $entry (i32.const %ENTRY_NOTE) (local.get $site) (i64.const 0) (i64.const 0)
        (local.get $text) (local.get $len) (i32.const %NOTE_MAX) (i32.const %ENTRIES_LIMIT)))))

;; All of a value or nothing.
(func (export "value") (param $type i64) (param $encoding i32) (param $bytes i32) (param $len i32) (param $site i32)
  (call $check (local.get $bytes) (local.get $len))
  (if (global.get $recording)
    (then
      (call $entry (i32.const %ENTRY_VALUE) (local.get $site)
        (local.get $type) (i64.extend_i32_u (local.get $encoding))
        (local.get $bytes) (local.get $len) (i32.const -1) (i32.const %ENTRIES_LIMIT)))))

;; Whether a feature is enabled: drawn when its name is first asked for, and the same from then on. Index 0 is enabled: so
;; what is switched off in a shrunk stream has to be.
(func (export "feature") (param $text i32) (param $len i32) (param $site i32) (result i32)
  (local $at i32) (local $max i64) (local $index i64) (local $hash i64) (local $used i32) (local $enabled i32)
  (call $check (local.get $text) (local.get $len))
  (local.set $hash (call $label_hash (local.get $text) (local.get $len)))
  (block $answered
    (if (i64.eq (local.get $hash) (i64.const %REPORT_HASH))
      (then
        (local.set $enabled (i32.load offset=%REPORT (i32.const 0)))
        (br $answered)))
    (local.set $hash (i64.and (local.get $hash) (i64.const -2)))
    (local.set $used (i32.shl (i32.load offset=%FEATURES_USED (i32.const 0)) (i32.const 3)))
    (loop $again
      (if (i32.lt_u (local.get $at) (local.get $used))
        (then
          (local.set $index (i64.xor (i64.load offset=%FEATURES (local.get $at)) (local.get $hash)))
          (local.set $enabled (i32.wrap_i64 (local.get $index)))
          (br_if $answered (i64.le_u (local.get $index) (i64.const 1)))
          (local.set $at (i32.add (local.get $at) (i32.const 8)))
          (br $again))))
    (local.set $enabled (i32.const 1))
    (br_if $answered (i32.ge_u (local.get $used) (i32.shl (i32.const %FEATURES_MAX) (i32.const 3))))
    (local.set $max (i64.const 1))
    (local.set $index (i64.const 0))
    %TAKE (call $random_feature) %TAKEN
    %RECORD %KIND_CHOICE %LO (i64.const 0) %HI (local.get $max) %MORE (i64.const 0) %RECORDED
    (local.set $enabled (i64.eqz (local.get $index)))
    (i64.store offset=%FEATURES (local.get $used)
      (i64.or (local.get $hash) (i64.extend_i32_u (local.get $enabled))))
    (i32.store offset=%FEATURES_USED (i32.const 0)
      (i32.add (i32.shr_u (local.get $used) (i32.const 3)) (i32.const 1))))
  (if (global.get $recording)
    (then
      (call $entry (i32.const %ENTRY_FEATURE) (local.get $site)
        (i64.extend_i32_u (local.get $enabled)) (i64.const 0)
        (local.get $text) (local.get $len) (i32.const %LABEL_MAX) (i32.const %ENTRIES_LIMIT))))
  (local.get $enabled))

;; The hash of as much of a name as is kept.
(func $label_hash (param $text i32) (param $len i32) (result i64)
  (local $hash i64) (local $at i32)
  (local.set $len
    (select (i32.const %LABEL_MAX) (local.get $len) (i32.gt_u (local.get $len) (i32.const %LABEL_MAX))))
  (local.set $hash (i64.const %LABEL_HASH))
  (block $done
    (loop $again
      (br_if $done (i32.ge_u (local.get $at) (local.get $len)))
      (local.set $hash
        (i64.mul
          (i64.xor
            (local.get $hash)
            (i64.extend_i32_u (call $guest_load8 (i32.add (local.get $text) (local.get $at)))))
          (i64.const %LABEL_HASH_PRIME)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $again)))
  (local.get $hash))

;; Appends an entry, with at most `most` bytes of its text, unless it ends beyond `limit`.
(func $entry
  (param $kind i32) (param $site i32) (param $a i64) (param $b i64)
  (param $text i32) (param $len i32) (param $most i32) (param $limit i32)
  (local $at i32) (local $end i32)
  (call $check (local.get $text) (local.get $len))
  (local.set $len
    (select (local.get $most) (local.get $len) (i32.gt_u (local.get $len) (local.get $most))))
  (local.set $at (i32.load offset=%ENTRIES_USED (i32.const 0)))
  ;; An entry starts at a multiple of 8. What is longer than the limit has no room; else nothing overflows.
  (if (i32.gt_u (local.get $len) (local.get $limit))
    (then (local.set $end (i32.const -1)))
    (else
      (local.set $end
        (i32.add
          (i32.add (local.get $at) (i32.const %ENTRY_HEAD))
          (i32.and (i32.add (local.get $len) (i32.const 7)) (i32.const -8))))))
  (if (i32.gt_u (local.get $end) (local.get $limit))
    (then
      (i32.store offset=%ENTRIES_LOST (i32.const 0) (i32.const 1))
      (return)))
  (i32.store offset=%ENTRIES (local.get $at) (local.get $kind))
  (i32.store offset=%ENTRY_LEN (local.get $at) (local.get $len))
  (i64.store offset=%ENTRY_A (local.get $at) (local.get $a))
  (i64.store offset=%ENTRY_B (local.get $at) (local.get $b))
  (i32.store offset=%ENTRY_SITE (local.get $at) (local.get $site))
  (i32.store offset=%ENTRY_DRAWS (local.get $at)
    (i32.shr_u (i32.load offset=%POSITION (i32.const 0)) (i32.const %ITEM_LOG2)))
  (if (local.get $len)
    (then
      (call $copy_in
        (i32.add (i32.add (global.get $start) (i32.const %ENTRIES_TEXT)) (local.get $at))
        (local.get $text)
        (local.get $len))))
  (i32.store offset=%ENTRIES_USED (i32.const 0) (local.get $end)))
