;; Branches on references: the reference rests in a local of its own type while it is tested.
(module
  (type $f (func))
  (type $s (struct))
  (func (export "on_null") (param (ref null $f)) (result i32)
    block
      local.get 0
      br_on_null 0
      drop
      i32.const 1
      return
    end
    i32.const 0)
  (func (export "on_non_null") (param (ref null $f)) (result i32)
    block (result (ref $f))
      local.get 0
      br_on_non_null 0
      i32.const 0
      return
    end
    drop
    i32.const 1)
  (func (export "on_cast") (param (ref any)) (result i32)
    block (result (ref $s))
      local.get 0
      br_on_cast 0 (ref any) (ref $s)
      drop
      i32.const 0
      return
    end
    drop
    i32.const 1)
  (func (export "on_cast_fail") (param anyref) (result i32)
    block (result (ref any))
      local.get 0
      br_on_cast_fail 0 anyref (ref null $s)
      drop
      i32.const 0
      return
    end
    drop
    i32.const 1)
  (func (export "again") (param (ref null $f) (ref null $f))
    loop $again
      local.get 0
      br_on_null $again
      drop
      local.get 1
      br_on_null $again
      drop
    end))
