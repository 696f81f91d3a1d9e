//! Rewrites WebAssembly modules so that they count control-flow edges: wasm bytes in, wasm bytes and an edge map out.
//!
//! The passes, one file or folder each, in the order of the data:
//!
//! 1. `survey` validates the module up to its function bodies and collects what the other passes need; `throws` finds out
//!    which functions may throw, `recursion` which calls may be part of a recursion;
//! 2. `plan` validates each body, makes its graph, and decides what can be inserted where. `probes` are what is inserted
//!    besides counters: one file for each kind;
//! 3. `counters` decides which flows of the graph get a counter, and how all counts follow from these;
//! 4. `rewrite` writes the new module: it copies what did not change, and puts the planned code in between. `added` is what
//!    is appended to index spaces.
//!
//! Functions go through these in parallel, some at a time.
//!
//! A module with legacy exceptions is first translated by `legacy`, and then goes the same way. Of a component, `component`
//! rewrites the core modules inside, or `link` makes one module of them.
//!
//! Modules can also record what they compare and call: [`trace`] reads that.
//!
//! What comes out besides bytes: [`EdgeMap`] says what each edge is, [`CounterMap`] how its count follows from the
//! counters, [`OffsetMap`] leads from an offset in the
//! new module back to the original, [`StateExports`] names all state that an execution can change.
//!
//! Beside the passes stands `cfg`: [`Cfg`] is the graph of what a function can do, with the numbers of the edge map on
//! its edges, and the answers about dominators, loops and control dependence. [`identity`] says which functions of two
//! builds are the same.
//!
//! What this crate does not do: it runs nothing, and knows no engine. It refuses by name what it can't rewrite.

mod access;
mod added;
mod annex;
mod bounds;
mod called;
mod cfg;
mod claims;
mod code;
mod component;
mod counters;
mod edges;
mod excerpt;
mod floats;
pub mod identity;
mod instrument;
pub mod layout;
mod legacy;
mod link;
mod low;
mod names;
mod offsets;
mod plan;
mod probes;
pub mod protocol;
mod recursion;
mod rewrite;
mod sections;
mod survey;
mod throws;
pub mod trace;
mod types;

pub use called::{Called, called};
pub use cfg::{Block, BlockKind, Cfg, Cfgs, ControlDependence, DominatorTree, Flow, FlowKind, Loops};
pub use component::{ComponentModule, InstrumentedComponent, component_features, instrument_component};
pub use counters::{CounterMap, Counters, CountsBuffer, FunctionCounters, LANES, Left};
pub use edges::{Edge, EdgeKind, EdgeMap, EdgeSet};
pub use excerpt::leave_out;
pub use instrument::{AnnexPlace, Draws, Injected, Instrumented, Options, StateExports, instrument};
pub use legacy::{Translated, translate_legacy_exceptions};
pub use link::{
    Addresses, ComponentFunction, ComponentImport, ComponentLift, HandleType, Linked, Shape, Takes, ValueType,
    is_component, link_component,
};
pub use offsets::OffsetMap;
pub use sections::{custom_sections, strip_custom_sections};
pub use survey::{features, output_features};
