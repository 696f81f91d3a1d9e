;; traced
(module
  (type $f (func (param i32) (result i32)))
  (import "env" "f" (func $import (type $f)))
  (table funcref (elem $calls_nothing))
  (tag $e (param i32))
  (func $calls_nothing (type $f)
    local.get 0)
  (func $only_in_its_place (export "only_in_its_place") (type $f)
    local.get 0
    return_call $calls_nothing)
  (func $all_ways_out (export "all_ways_out") (type $f)
    local.get 0
    call $import
    local.get 0
    br_if 0
    local.tee 0
    if
      local.get 0
      return
    end
    local.get 0
    local.get 0
    return_call_indirect (type $f))
  (func $catches (export "catches") (param i32) (result i32 i32)
    block (result i32)
      try_table (catch $e 0)
        local.get 0
        call $throws
      end
      i32.const 1
    end
    i32.const 2)
  (func $throws (param i32)
    local.get 0
    throw $e))
