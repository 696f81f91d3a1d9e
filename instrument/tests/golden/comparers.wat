;; traced
(module
  (memory 1)
  (func $memcmp (export "memcmp") (param i32 i32 i32) (result i32)
    unreachable)
  (func $strcmp (export "strcmp") (param i32 i32) (result i32)
    unreachable)
  (func $memmem (export "memmem") (param i32 i32 i32 i32) (result i32)
    unreachable)
  ;; Not of that type.
  (func $bcmp (export "bcmp") (param i32 i64 i32) (result i32)
    unreachable)
  ;; Looks like it.
  (func $any (export "any") (param i32 i32) (result i32)
    loop
      local.get 0
      i32.load8_u
      local.get 1
      i32.load8_u
      i32.eq
      br_if 0
    end
    i32.const 1)
  ;; Writes.
  (func $none (export "none") (param i32 i32) (result i32)
    loop
      local.get 0
      i32.load8_u
      local.get 1
      i32.load8_u
      i32.eq
      br_if 0
    end
    local.get 0
    i32.const 1
    i32.store8
    i32.const 1))
