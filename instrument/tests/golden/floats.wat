(module
  (memory 1)
  (func $dot (param $p i32) (param $q i32) (param $n i32) (result f64)
    (local $sum f64)
    loop $again
      local.get $sum
      local.get $p
      f64.load
      local.get $q
      f64.load
      f64.mul
      f64.add
      local.set $sum
      local.get $p
      i32.const 8
      i32.add
      local.set $p
      local.get $q
      i32.const 8
      i32.add
      local.set $q
      local.get $n
      i32.const 1
      i32.sub
      local.tee $n
      br_if $again
    end
    local.get $sum)
  (func $stored (param $p i32) (param $x f32) (param $v v128)
    local.get $p
    local.get $x
    f32.sqrt
    f32.neg
    f32.store
    local.get $p
    local.get $x
    f32.neg
    f32.store
    local.get $p
    local.get $v
    local.get $v
    f64x2.add
    local.get $v
    f64x2.mul
    v128.store)
  (func $either (param $p i32) (param $x f64) (result f64)
    local.get $x
    local.get $x
    f64.floor
    local.get $p
    select))
