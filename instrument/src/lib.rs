//! Rewrites WebAssembly modules so that they count control-flow edges: wasm bytes in, wasm bytes and an edge map out.
//!
//! The passes, in the order of the data; functions go through 2 to 5 in parallel, some at a time:
//!
//! 1. `module` validates the module up to its function bodies and collects what the other passes need; `calls` reads all bodies once
//!    for what all calls tell together: which may throw, draw, or be part of a recursion; `added` gives what is appended its indices;
//! 2. `walk` validates each body, makes its graph, and decides what can be inserted where, which is a `plan`. `probes` are what is
//!    inserted besides counters: one file for each kind;
//! 3. `counters` decides which flows of the graph get a counter, and how all counts follow from these;
//! 4. `write` writes the new module: it copies what did not change, and puts the planned code in between.
//!
//! `options` is what is asked for, `instrumented` what comes out and how it is read: [`EdgeMap`] says what each edge
//! is, [`CounterMap`] how its count follows from the counters, [`OffsetMap`] leads from an offset in the new module
//! back to the original, [`StateExports`] names all state that an execution can change, and [`trace`] is what it
//! compared and called, if that is recorded.
//!
//! A module with legacy exceptions is first translated by `legacy`, and then goes the same way. Of a component,
//! `component` rewrites the core modules inside, or `link` makes one module of them.
//!
//! Beside the passes stands `cfg`: [`Cfg`] is the graph of what a function can do, with the numbers of the edge map on
//! its edges, and the answers about dominators, loops and control dependence. [`ways`] says through all functions how
//! far it is to some place. [`identity`] says which functions of two builds are the same.
//!
//! # Rooms
//!
//! `options` is what is asked for. In the order of the data: `module/` (what is accepted, `survey` of all but bodies,
//! `limits`, operators by class, what they `access`), `calls/` (bodies read once: who throws, draws, recurs), `added/`
//! (indices of what is appended; `annex`: what a memory needs that is longer than the guest knows), `walk/` (makes a
//! `plan/` of each function), `counters/`, `write/`, and `instrumented/` (what comes out, and how it is read).
//! `probes/` has a file for each kind of code that is put in (`probes/fuel/charges`: where a function pays how much;
//! `draws` and `draw_spans`: what calls of the protocol become); `bounds/` says which accesses have to be compared with
//! the end of a memory, `floats/` makes NaNs canonical where their bits are seen; `layout/` says where things are in
//! the injected memory, `trace/` what the traced variant records there. `legacy/` translates legacy exceptions first;
//! `cfg/` has graphs and what follows from them; `ways/` how far it is to places;
//! `identity/` says which functions of two builds are the same;
//! `component` rewrites the modules in components, `link/` makes one core module of a component, `recipe/` appends a
//! function that says how a library is called, `provide` gives a module what its loader would. `protocol/` has the
//! functions of `fuzzbox_v1`, in wasm text (`bodies/*.wat`)
//!
//! What this crate does not do: it runs nothing, and knows no engine. It refuses by name what it can't rewrite.

mod added;
mod bounds;
mod calls;
mod cfg;
mod component;
mod counters;
mod edge_map;
mod floats;
mod grow;
pub mod identity;
mod instrument;
mod instrumented;
pub mod layout;
mod legacy;
mod link;
mod module;
mod offsets;
mod options;
mod plan;
mod probes;
pub mod protocol;
mod provide;
pub mod recipe;
mod rename;
pub mod trace;
mod walk;
pub mod ways;
mod write;

pub use cfg::{Block, BlockKind, Cfg, Cfgs, ControlDependence, DominatorTree, Flow, FlowKind, Loops};
pub use component::{ComponentModule, InstrumentedComponent, instrument_component};
pub use counters::{CounterMap, CountsBuffer, FunctionCounters, LANES, LeftFrame};
pub use edge_map::{Edge, EdgeKind, EdgeMap, EdgeSet};
pub use instrument::instrument;
pub use instrumented::{AnnexPlace, Called, Injected, Instrumented, StateExports, called};
pub use legacy::{Translated, translate_legacy_exceptions};
pub use link::{
    Addresses, ComponentFunction, ComponentImport, ComponentLift, HandleType, Linked, NamedModule, Shape, Takes,
    ValueType, is_component, link_component, link_modules,
};
pub use module::excerpt::leave_out;
pub use module::features::{component_features, features, output_features};
pub use module::limits::MODULE_BYTES_MAX;
pub use module::sections::{custom_sections, strip_custom_sections};
pub use offsets::OffsetMap;
pub use options::{Callable, Counters, Draws, Options};
pub use provide::{Provisions, provide};
pub use rename::rename;
