//! Rewrites WebAssembly modules so that they count control-flow edges: wasm bytes in, wasm bytes and an edge map out.
//!
//! The passes, one file or folder each, in the order of the data:
//!
//! 1. `survey` validates the module up to its function bodies and collects what the other passes need;
//! 2. `plan` validates each body and decides what is inserted where: counters, fuel, flags;
//! 3. `rewrite` writes the new module: it copies what did not change, and puts the planned code in between.
//!
//! A module with legacy exceptions is first translated by `legacy`, and then goes the same way. Of a component, `component`
//! rewrites the core modules inside.
//!
//! Modules can also record what they compare and call: [`trace`] reads that.
//!
//! What comes out besides bytes: [`EdgeMap`] says what each counter counts, [`OffsetMap`] leads from an offset in the
//! new module back to the original, [`StateExports`] names all state that an execution can change.
//!
//! Beside the passes stands `cfg`: [`Cfg`] is the graph of what a function can do, with the numbers of the edge map on
//! its edges, and the answers about dominators, loops and control dependence. [`identity`] says which functions of two
//! builds are the same.
//!
//! What this crate does not do: it runs nothing, and knows no engine. It refuses by name what it can't rewrite.

mod added;
mod cfg;
mod code;
mod counters;
mod component;
mod claims;
mod edges;
mod floats;
pub mod identity;
mod instrument;
pub mod layout;
mod legacy;
mod names;
mod offsets;
mod plan;
mod probes;
mod rewrite;
mod sections;
mod survey;
pub mod trace;
mod types;

pub use cfg::{Block, BlockKind, Cfg, Cfgs, ControlDependence, DominatorTree, Flow, FlowKind, Loops};
pub use counters::{CounterMap, Counters, FunctionCounters, Left};
pub use edges::{Edge, EdgeKind, EdgeMap, EdgeSet};
pub use component::{ComponentModule, InstrumentedComponent, component_features, instrument_component};
pub use floats::shows_float_bits;
pub use instrument::{Injected, Instrumented, Options, StateExports, instrument};
pub use legacy::{Translated, translate_legacy_exceptions};
pub use offsets::OffsetMap;
pub use sections::{custom_sections, strip_custom_sections};
pub use survey::{features, output_features};
