(module
  (tag $e (param i32))
  (func $clauses (param i32) (result i32)
    try $t (result i32)
      i32.const 1
      local.get 0
      br_if $t
      throw $e
    catch $e
      local.get 0
      br_if $t
    catch_all
      rethrow $t
    end)
  (func $again (result i32)
    try $outer (result i32)
      i32.const 4
      throw $e
    catch $e
      drop
      try
        nop
      catch_all
        try
          rethrow $outer
        catch $e
          rethrow 1
        end
      end
      i32.const 5
    end)
  (func $delegates (param i32) (result i32)
    try $outer (result i32)
      local.get 0
      try $inner (param i32) (result i32)
        try (param i32) (result i32)
          throw $e
        delegate $outer
        try
          nop
        delegate 2
      catch_all
        i32.const 8
        br 2
      end
    catch_all
      i32.const 6
    end)
  (func $plain (result i32)
    i32.const 7))
