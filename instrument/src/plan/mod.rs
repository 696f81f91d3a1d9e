//! What is done to a function body: decided by `walk`, before a byte of the new module is written.
//!
//! A body's plan is a list of edits in the order of their offsets. What no edit touches is copied as it is, which is
//! possible because no index changes its meaning: only depths of branches do, where an edit put a block around code
//! that is branched out of.
//!
//! There are two kinds of edits. Those for counting name a flow of the function's graph, and become code only if the
//! flow gets a counter, which `counters` decides when the graph is known. All others are `probes`' code, which is there
//! already.
//!
//! Plans are made in parallel, each by itself, as a `draft` of a `function`'s plan first; then the numbers of edges and
//! types are settled in their order.

mod context;
mod draft;
mod function;

pub(crate) use context::ModuleContext;
pub(crate) use draft::Draft;
pub(crate) use function::{ArmsWay, Change, Edit, FunctionPlan, Handler, TablePlan, Test, TryPlan, label, with_label};
