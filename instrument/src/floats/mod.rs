//! NaNs that arithmetic makes: their bits are made canonical where they can be seen, and nowhere else.
//!
//! The bits of a NaN that arithmetic gives depend on the order of operands, which a compiler may choose differently for
//! each variant of a module. The rule is that it is the positive quiet NaN without payload, whatever the operands are.
//! An engine that keeps to the rule looks at each result; but nearly all results only go into more arithmetic,
//! comparisons and conversions, for which all NaNs are the same. So the rewriter puts the test where a result is
//! stored, reinterpreted, passed on, or has its sign taken:
//!
//! ```wat
//! local.get $p         local.get $p
//! local.get $x         local.get $x
//! local.get $y         local.get $y
//! f64.mul              f64.mul
//! local.get $z         local.get $z
//! f64.add              f64.add
//!                      local.tee $t
//!                      f64.const nan
//!                      local.get $t
//!                      local.get $t
//!                      f64.eq
//!                      select
//! f64.store            f64.store
//! ```
//!
//! What was loaded, is a constant or came as a parameter keeps its bits, and isn't looked at. `class` says what
//! operators do with NaNs, `flow` follows values through the stack and locals of a function, `places` decides where
//! tests are put.
//!
//! # NaNs are canonical where they are seen
//!
//! What arithmetic gives as NaN depends on the order of operands, which differs between variants and compilers'
//! moods. Most results only go into more arithmetic, comparisons and conversions, for which all NaNs are the same;
//! so the rewriter follows values through stack and locals and tests those that are stored, reinterpreted, passed,
//! returned, thrown, recorded, or whose sign is taken (`instrument/src/floats`). Where a value may be one that was
//! loaded, whose bits are to stay, the test is behind the arithmetic. That is exactly what an engine gives that
//! makes each result canonical, which cost lcms2 a factor of 4.5; wasmtime's own setting is off, and the oracle in
//! tests.

mod class;
mod flow;
mod places;
mod shape;
mod values;

pub(crate) use flow::Flow;
pub(crate) use places::places;
pub(crate) use shape::Shape;
pub(crate) use values::Taken;
