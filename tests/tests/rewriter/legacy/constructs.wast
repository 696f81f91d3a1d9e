;; Each construct of legacy exceptions, alone and where it is easily got wrong.

(module $thrower
  (tag $pair (export "pair") (param i32 i64))
  (func (export "throw") (param i32 i64) (throw $pair (local.get 0) (local.get 1))))
(register "thrower" $thrower)

(module
  (tag $pair (import "thrower" "pair") (param i32 i64))
  (func $throw (import "thrower" "throw") (param i32 i64))
  (tag $none)
  (tag $one (param i32))
  (tag $other (param i32))
  (memory 1)

  (func $raise (param $what i32)
    (if (i32.eq (local.get $what) (i32.const 1)) (then (throw $none)))
    (if (i32.eq (local.get $what) (i32.const 2)) (then (throw $one (i32.const 20))))
    (if (i32.eq (local.get $what) (i32.const 3)) (then (throw $other (i32.const 30))))
    (if (i32.eq (local.get $what) (i32.const 4)) (then (call $throw (i32.const 40) (i64.const 2))))
    (if (i32.eq (local.get $what) (i32.const 5)) (then unreachable)))

  (func (export "clauses") (param i32) (result i32)
    (try (result i32)
      (do (call $raise (local.get 0)) (i32.const 7))
      (catch $one (i32.add (i32.const 1)))
      (catch $pair (i32.wrap_i64) (i32.add))
      (catch $one (i32.add (i32.const 1000)))
      (catch_all (i32.const 99))))

  ;; Values below the `try` and values it takes.
  (func (export "stack") (param i32) (result i32)
    i32.const 10000
    i32.const 3
    i32.const 4
    try (param i32 i32) (result i32)
      local.get 0
      call $raise
      i32.mul
    catch $one
    catch_all
      i32.const 50
    end
    i32.add)

  ;; Two results, from the body and from either clause.
  (func (export "two") (param i32) (result i32 i64)
    (try (result i32 i64)
      (do (call $raise (local.get 0)) (i32.const 1) (i64.const 2))
      (catch $pair)
      (catch $none (i32.const 3) (i64.const 4))))

  ;; Labels: out of the body, out of each clause, and around the whole.
  (func (export "labels") (param $what i32) (param $way i32) (result i32)
    (block $outer (result i32)
      (block $a
        (block $b
          (i32.mul (i32.const 100)
            (try $t (result i32)
              (do
                (call $raise (local.get $what))
                (block $in
                  (br_table $in $a $b 3 (local.get $way)))
                (br_if $t (i32.const 1) (i32.eqz (local.get $way)))
                drop
                (br $outer (i32.const 5)))
              (catch $one
                (br_table $t $outer $t (local.get $way)))
              (catch $other
                (br_if $outer (i32.eqz (local.get $way)))
                (br_if $b (i32.eq (local.get $way) (i32.const 1)))
                (br $t))
              (catch_all
                (block (br_table 0 $a $b 0 (local.get $way)))
                (i32.const 6))))
          (br $outer))
        (br $outer (i32.const 1001)))
      (i32.const 1002)))

  ;; A loop around a `try`, and one in its clause.
  (func (export "loops") (param $what i32) (result i32)
    (local $sum i32) (local $round i32)
    (loop $again
      (try
        (do
          (call $raise (i32.rem_u (local.get $round) (local.get $what)))
          (local.set $sum (i32.add (local.get $sum) (i32.const 1))))
        (catch $one
          (local.set $sum (i32.add (local.get $sum)))
          (loop $inner
            (local.set $round (i32.add (local.get $round) (i32.const 1)))
            (br_if $inner (i32.rem_u (local.get $round) (i32.const 5)))
            (br_if $again (i32.lt_u (local.get $round) (i32.const 50)))))
        (catch_all
          (local.set $round (i32.add (local.get $round) (i32.const 1)))
          (br $again)))
      (local.set $round (i32.add (local.get $round) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $round) (i32.const 50))))
    (local.get $sum))

  ;; Thrown again: the inner exception, and the outer from within the inner clause.
  (func (export "again") (param $outer i32) (param $inner i32) (param $depth i32) (result i32)
    (try (result i32)
      (do
        (try (result i32)
          (do (call $raise (local.get $outer)) (i32.const 0))
          (catch_all
            (try (result i32)
              (do (call $raise (local.get $inner)) (i32.const 1))
              (catch_all
                (if (i32.eq (local.get $depth) (i32.const 0)) (then (rethrow 1)))
                (if (i32.eq (local.get $depth) (i32.const 1)) (then (rethrow 2)))
                (i32.const 2))))))
      (catch $one)
      (catch $other)
      (catch $pair (i32.wrap_i64) (i32.sub))))

  ;; A kept exception outlives a `try` in its clause that keeps another.
  (func (export "kept") (result i32)
    (try (result i32)
      (do
        (try
          (do (throw $one (i32.const 1)))
          (catch $one
            drop
            (try
              (do (throw $one (i32.const 2)))
              (catch $one
                drop
                (try (do (rethrow 1)) (catch $one drop))))
            (rethrow 0)))
        (i32.const 0))
      (catch $one)))

  ;; What a clause throws, its own `try` doesn't catch.
  (func (export "outside") (result i32)
    (try (result i32)
      (do
        (try (result i32)
          (do (throw $one (i32.const 1)))
          (catch $one drop (throw $one (i32.const 2)))
          (catch_all (i32.const 3))))
      (catch $one (i32.add (i32.const 10)))))

  ;; Delegated: past a `try` that would catch.
  (func (export "past") (param i32) (result i32)
    (try $far (result i32)
      (do
        (try $near (result i32)
          (do
            (i32.const 100)
            (try (result i32)
              (do (call $raise (local.get 0)) (i32.const 1))
              (delegate $far))
            i32.add)
          (catch_all (i32.const 2))))
      (catch $one)
      (catch $other (i32.add (i32.const 1)))))

  ;; Delegated to a block, to a clause, to a `try` that delegates, and to one that catches nothing.
  (func (export "chain") (param $what i32) (param $way i32) (result i32)
    (try $top (result i32)
      (do
        (try $over (result i32)
          (do
            (try $next (param) (result i32)
              (do
                (try $nothing (result i32)
                  (do
                    (block $block (result i32)
                      (if (i32.eqz (local.get $way)) (then
                        (try (do (call $raise (local.get $what))) (delegate $block))))
                      (if (i32.eq (local.get $way) (i32.const 1)) (then
                        (try (do (call $raise (local.get $what))) (delegate $nothing))))
                      (if (i32.eq (local.get $way) (i32.const 2)) (then
                        (try (do (call $raise (local.get $what))) (delegate $next))))
                      (if (i32.eq (local.get $way) (i32.const 3)) (then
                        (try (do (call $raise (local.get $what))) (delegate $over))))
                      (i32.const 1)))))
              (delegate $top)))
          (catch $one (i32.add (i32.const 1)))
          (catch $other (i32.add (i32.const 2)))))
      (catch $one (i32.add (i32.const 3)))
      (catch_all (i32.const 4))))

  (func (export "to-clause") (param $what i32) (result i32)
    (try $outer (result i32)
      (do
        (try $inner (result i32)
          (do (throw $none))
          (catch $none
            (try (result i32)
              (do
                (try (result i32) (do (call $raise (local.get $what)) (i32.const 1)) (delegate $inner)))
              (catch_all (i32.const 2))))
          (catch_all (i32.const 3))))
      (catch $one)
      (catch_all (i32.const 4))))

  (func $caller (export "caller") (param $what i32) (result i32 i32)
    (try (result i32 i32)
      (do
        (if (i32.eq (local.get $what) (i32.const 9)) (then (return (i32.const 8) (i32.const 9))))
        (if (i32.eq (local.get $what) (i32.const 10)) (then (br 2 (i32.const 9) (i32.const 10))))
        (try (param) (do (call $raise (local.get $what))) (delegate 1))
        (i32.const 1) (i32.const 2))
      (catch_all (i32.const 3) (i32.const 4))))

  (func (export "called") (param $what i32) (result i32 i32)
    (try (result i32 i32)
      (do (call $caller (local.get $what)))
      (catch $one (i32.const 5))
      (catch_all (i32.const 6) (i32.const 7))))

  ;; Nothing is caught.
  (func (export "empty") (param i32) (result i32)
    (try (result i32) (do (call $raise (local.get 0)) (i32.const 1))))

  ;; A delegate that takes what lies on the stack.
  (func (export "params") (param i32) (result i32)
    i32.const 5
    try $far (param i32) (result i32)
      i32.const 6
      try (param i32 i32) (result i32)
        i32.const 1
        try (param i32 i32) (result i32)
          local.get 0
          call $raise
          i32.add
        delegate $far
        i32.add
      catch_all
        i32.const 77
      end
    catch $one
    end)

  ;; What can't be reached is written all the same.
  (func (export "dead") (result i32)
    (block $out (result i32)
      (br $out (i32.const 1))
      try (param i32) (result i32)
        unreachable
        try
        delegate 0
        try (result i32)
          unreachable
        delegate 2
        br 0
      catch $one
        i32.const 0
        br_table 0 1 0
      catch_all
        rethrow 0
      end
      (throw $one)
      try
        try catch_all end
      catch_all
        rethrow 0
        rethrow 0
      end))

  ;; Both kinds of exceptions in one function.
  (func (export "both") (param i32) (result i32)
    (try $t (result i32)
      (do
        (block $h (result i32 exnref)
          (try_table (result i32) (catch_ref $one $h) (catch $other $t)
            (try (result i32)
              (do (call $raise (local.get 0)) (i32.const 1))
              (catch $none (i32.const 2))))
          (br $t))
        throw_ref)
      (catch $one (i32.add (i32.const 5)))
      (catch_all (i32.const 6))))

  (func (export "if") (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (try (result i32) (do (call $raise (local.get 0)) (i32.const 1)) (catch $one)))
      (else (try (result i32) (do (throw $none)) (catch_all (i32.const 3))))))

  (func (export "uncaught-again") (param i32)
    (try (do (call $raise (local.get 0))) (catch_all (rethrow 0))))
)

(assert_return (invoke "clauses" (i32.const 0)) (i32.const 7))
(assert_return (invoke "clauses" (i32.const 1)) (i32.const 99))
(assert_return (invoke "clauses" (i32.const 2)) (i32.const 21))
(assert_return (invoke "clauses" (i32.const 3)) (i32.const 99))
(assert_return (invoke "clauses" (i32.const 4)) (i32.const 42))
(assert_trap (invoke "clauses" (i32.const 5)) "unreachable")

(assert_return (invoke "stack" (i32.const 0)) (i32.const 10012))
(assert_return (invoke "stack" (i32.const 2)) (i32.const 10020))
(assert_return (invoke "stack" (i32.const 4)) (i32.const 10050))

(assert_return (invoke "two" (i32.const 0)) (i32.const 1) (i64.const 2))
(assert_return (invoke "two" (i32.const 1)) (i32.const 3) (i64.const 4))
(assert_return (invoke "two" (i32.const 4)) (i32.const 40) (i64.const 2))
(assert_exception (invoke "two" (i32.const 2)))

(assert_return (invoke "labels" (i32.const 0) (i32.const 0)) (i32.const 100))
(assert_return (invoke "labels" (i32.const 0) (i32.const 1)) (i32.const 1002))
(assert_return (invoke "labels" (i32.const 0) (i32.const 2)) (i32.const 1001))
(assert_return (invoke "labels" (i32.const 2) (i32.const 0)) (i32.const 2000))
(assert_return (invoke "labels" (i32.const 2) (i32.const 1)) (i32.const 20))
(assert_return (invoke "labels" (i32.const 2) (i32.const 2)) (i32.const 2000))
(assert_return (invoke "labels" (i32.const 3) (i32.const 0)) (i32.const 30))
(assert_return (invoke "labels" (i32.const 3) (i32.const 1)) (i32.const 1001))
(assert_return (invoke "labels" (i32.const 3) (i32.const 2)) (i32.const 3000))
(assert_return (invoke "labels" (i32.const 1) (i32.const 0)) (i32.const 600))
(assert_return (invoke "labels" (i32.const 1) (i32.const 1)) (i32.const 1002))
(assert_return (invoke "labels" (i32.const 1) (i32.const 2)) (i32.const 1001))

(assert_return (invoke "again" (i32.const 0) (i32.const 0) (i32.const 0)) (i32.const 0))
(assert_return (invoke "again" (i32.const 2) (i32.const 0) (i32.const 0)) (i32.const 1))
(assert_return (invoke "again" (i32.const 2) (i32.const 3) (i32.const 0)) (i32.const 30))
(assert_return (invoke "again" (i32.const 2) (i32.const 3) (i32.const 1)) (i32.const 20))
(assert_return (invoke "again" (i32.const 4) (i32.const 3) (i32.const 1)) (i32.const 38))
(assert_return (invoke "again" (i32.const 4) (i32.const 3) (i32.const 2)) (i32.const 2))
(assert_exception (invoke "again" (i32.const 1) (i32.const 3) (i32.const 1)))
(assert_return (invoke "kept") (i32.const 1))
(assert_return (invoke "outside") (i32.const 12))

(assert_return (invoke "past" (i32.const 0)) (i32.const 101))
(assert_return (invoke "past" (i32.const 2)) (i32.const 20))
(assert_return (invoke "past" (i32.const 3)) (i32.const 31))
(assert_exception (invoke "past" (i32.const 1)))
(assert_return (invoke "chain" (i32.const 0) (i32.const 0)) (i32.const 1))
(assert_return (invoke "chain" (i32.const 2) (i32.const 0)) (i32.const 23))
(assert_return (invoke "chain" (i32.const 2) (i32.const 1)) (i32.const 23))
(assert_return (invoke "chain" (i32.const 2) (i32.const 2)) (i32.const 23))
(assert_return (invoke "chain" (i32.const 2) (i32.const 3)) (i32.const 21))
(assert_return (invoke "chain" (i32.const 3) (i32.const 3)) (i32.const 32))
(assert_return (invoke "chain" (i32.const 1) (i32.const 3)) (i32.const 4))
(assert_return (invoke "to-clause" (i32.const 0)) (i32.const 1))
(assert_return (invoke "to-clause" (i32.const 1)) (i32.const 4))
(assert_return (invoke "to-clause" (i32.const 2)) (i32.const 20))
(assert_return (invoke "caller" (i32.const 0)) (i32.const 1) (i32.const 2))
(assert_exception (invoke "caller" (i32.const 2)))
(assert_return (invoke "caller" (i32.const 9)) (i32.const 8) (i32.const 9))
(assert_return (invoke "caller" (i32.const 10)) (i32.const 9) (i32.const 10))
(assert_return (invoke "called" (i32.const 2)) (i32.const 20) (i32.const 5))
(assert_return (invoke "called" (i32.const 3)) (i32.const 6) (i32.const 7))
(assert_return (invoke "empty" (i32.const 0)) (i32.const 1))
(assert_exception (invoke "empty" (i32.const 1)))
(assert_trap (invoke "empty" (i32.const 5)) "unreachable")
(assert_return (invoke "params" (i32.const 0)) (i32.const 12))
(assert_return (invoke "params" (i32.const 2)) (i32.const 20))
(assert_exception (invoke "params" (i32.const 1)))
(assert_return (invoke "dead") (i32.const 1))
(assert_return (invoke "both" (i32.const 0)) (i32.const 1))
(assert_return (invoke "both" (i32.const 1)) (i32.const 2))
(assert_return (invoke "both" (i32.const 2)) (i32.const 25))
(assert_return (invoke "both" (i32.const 3)) (i32.const 30))
(assert_return (invoke "both" (i32.const 4)) (i32.const 6))
(assert_return (invoke "if" (i32.const 0)) (i32.const 3))
(assert_return (invoke "if" (i32.const 2)) (i32.const 20))
(assert_exception (invoke "if" (i32.const 3)))
(assert_exception (invoke "uncaught-again" (i32.const 4)))

;; Refused for what they are, and not for their exceptions.
(assert_invalid (module (func try catch_all i32.const 1 end)) "values remaining on stack")
(assert_invalid (module (func (result i32) try (result i32) i32.const 1 catch_all end)) "type mismatch")
(assert_invalid (module (func try catch 0 end)) "unknown tag")
(assert_invalid (module (func try rethrow 0 catch_all end)) "invalid rethrow label")
(assert_invalid (module (func try catch_all rethrow 1 end)) "invalid rethrow label")
(assert_invalid (module (func try delegate 1)) "unknown label")
