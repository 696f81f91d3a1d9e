//! What executions showed: what traces say of comparisons, and what a campaign knows of these.
//!
//! All else begins with [`observe`](observed::observe): it makes of a trace comparisons in their order, each with its
//! place, its operands, and from where it is reached ([`context`]). [`facts`] keeps which outcomes of these were seen,
//! and what was tried in vain, by [`effort`], in a [`table`]: so it says which comparisons are goals, and in which
//! order. [`calls`] is what else the same traces say: who calls whom by reference. [`number`] and [`float128`] say what
//! bits stand for as operands, which solvers ask too.

pub(super) mod calls;
mod context;
pub(super) mod effort;
pub(super) mod facts;
pub(super) mod float128;
pub(super) mod nearness;
pub(super) mod number;
pub(super) mod observed;
pub(super) mod table;
