//! The entry function and what it gives.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context, Result};
use rayon::prelude::*;
use wasmparser::{FunctionBody, Parser, Payload, ValidPayload, Validator};

use crate::added::Added;
use crate::counters::{CounterMap, Counters, CountsBuffer, Left, Placement, place};
use crate::edges::{Edge, EdgeMap, EdgeSet};
use crate::legacy::{UsesLegacy, translate_legacy_exceptions};
use crate::offsets::OffsetMap;
use crate::plan::{FunctionPlan, plan};
use crate::protocol::{Drawing, Site};
use crate::recursion::Recursion;
use crate::rewrite::{CodeSection, assemble};
use crate::survey::{Bodies, Survey, for_each_body, output_features, survey};
use crate::throws::Throwing;
use crate::trace::Trace;
use crate::types::AddedTypes;

/// How a module is rewritten: what is put into it.
///
/// [`Options::full`], [`Options::fast`] and [`Options::traced`] are the three variants of a module that belong together:
/// the same edges have the same numbers in all, and the same input does the same. [`Options::default`] is the plain
/// one: a counter on every edge, and fuel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Which edges are counted.
    pub counters: Counters,
    /// Whether counters keep to lines of the cache, [`LINE_COUNTERS`](crate::layout::LINE_COUNTERS) long: those of a function that fit into one are in one, and those
    /// of others have lines of their own. Some numbers are then no counter's.
    pub lines: bool,
    /// Whether it is counted which operand a `select` gives. Its edges have numbers in any case.
    pub selects: bool,
    /// Whether code spends fuel and stops when it is used up, and how much a new instance starts with, until the host
    /// sets it: what a start function runs on, which runs before the host gets hold of the instance.
    pub fuel: Option<i64>,
    /// How many calls may be live, if that is limited, of those that can be part of a recursion: calls by reference, and calls of functions
    /// from which the caller can be reached by other calls than those by reference. (What is live besides is a bounded number of frames for each of them.) One
    /// more sets [`FLAG_STACK_OVERFLOW`](crate::layout::FLAG_STACK_OVERFLOW) and traps, where it is, whatever machine and
    /// compiler make of frames: no compiler can do without a frame for each of them, unless it looks through references.
    pub calls: Option<u32>,
    /// Whether writes below address 1024 set [`FLAG_LOW_STORE`](crate::layout::FLAG_LOW_STORE) and trap, each before it
    /// happens, in modules in which nothing lies there: linkers of C leave these addresses free, so that nothing has the
    /// address 0. [`Instrumented::finds_low_stores`] says if the module is one.
    pub low_stores: bool,
    /// Whether the host can end an execution from another thread: see [`Injected::stop`].
    pub interrupts: bool,
    /// Whether a function that the host may put into a table is called before `unreachable`.
    pub traps: bool,
    /// Whether comparisons and some other operators record their operands; see [`trace`](crate::trace).
    pub compares: bool,
    /// Whether compilers are kept from knowing how long a `memory.copy` is: for hosts that make pages inaccessible in the
    /// middle of a memory.
    pub hide_lengths: bool,
    /// The memory, if any, of which a host may make more than the guest knows: an annex beyond all that the guest's part can grow to,
    /// for what it gives the guest. Then `memory.size` and `memory.grow` are about the guest's part, and nobody gets at
    /// what lies between. See [`Injected::annex`]. Shared memories have none.
    pub annex: Option<u32>,
    /// Whether each access to the memory with the annex is compared with what the guest counts: then nothing need be inaccessible between that and
    /// the annex, so a host that restores instances can leave open what an execution grew. Memories with 32-bit addresses only; for the others
    /// see [`AnnexPlace::bounds`].
    pub bounds: bool,
    /// Whether NaNs that arithmetic makes have the canonical bits wherever bits are seen: so in an engine that leaves them open, whatever
    /// it makes of the order of operands, as in one that makes each result canonical.
    pub canonical_nans: bool,
    /// Whether function entry and exit are recorded.
    pub spans: bool,
    /// How many bytes the trace takes, if something is recorded: what doesn't fit is lost. At most
    /// [`TRACE_BYTES_MAX`](crate::layout::TRACE_BYTES_MAX).
    pub trace_bytes: u32,
    /// What becomes of imports of the [guest protocol](crate::protocol).
    pub draws: Draws,
    /// Functions that record what they are given where they are entered, by their names: [`called`](crate::called()) reads that.
    pub arguments: Option<fn(&str) -> bool>,
    /// A function that the host wants to call, by its name: the first that fits. See [`Injected::callable`].
    pub callable: Option<fn(&str) -> bool>,
    /// How often each edge was taken in the past, by its number: places where counting is cheap are chosen by it.
    pub profile: Option<Arc<[u64]>>,
}

/// What becomes of the imports of a guest that speaks the protocol `fuzzbox_v1`. Whatever it is, it makes no difference to the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    /// They stay imports, for the host to provide.
    Imported,
    /// They become functions over the [stream](crate::layout::stream) in the injected memory.
    Read,
    /// These also record what is drawn, and the spans of the guest's functions and loops that draw.
    Recorded,
}

/// What a start function may run on: 10,000,000,000 units.
const START_FUEL: i64 = 10_000_000_000;

/// What fits a stack of 1 MiB if each frame has only a return address and a frame pointer.
const TRACED_CALLS: u32 = 1 << 16;

/// Room for 32,768 records.
const TRACE_BYTES: u32 = 1 << 20;

impl Options {
    /// Enough counters for the counts of all edges.
    pub fn full() -> Options {
        let options = Options { counters: Counters::Enough, selects: true, interrupts: true, ..Options::counting() };
        Options { traps: true, canonical_nans: true, draws: Draws::Read, ..options }
    }

    /// Counters for some edges only: those that can still tell something new. `unreachable` is itself, because compilers forget where calls
    /// come from which they put in the place of others.
    pub fn fast(interesting: EdgeSet) -> Options {
        Options { counters: Counters::Only(interesting), traps: false, ..Options::full() }
    }

    /// Everything that is known to be asked about an execution: also what was compared, which functions were called, whether
    /// the stack overflowed by what is measured in calls, 65,536 of them, and writes to where nothing is.
    pub fn traced() -> Options {
        let calls = Some(TRACED_CALLS);
        Options { compares: true, spans: true, calls, low_stores: true, ..Options::default() }
    }

    /// For who doesn't write code at all.
    pub(crate) fn counting() -> Options {
        Options {
            counters: Counters::Every,
            lines: false,
            selects: false,
            fuel: None,
            calls: None,
            low_stores: false,
            interrupts: false,
            traps: false,
            compares: false,
            hide_lengths: false,
            annex: None,
            bounds: false,
            canonical_nans: false,
            spans: false,
            trace_bytes: TRACE_BYTES,
            draws: Draws::Imported,
            arguments: None,
            callable: None,
            profile: None,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        let (fuel, draws) = (Some(START_FUEL), Draws::Recorded);
        Options { counters: Counters::Every, fuel, interrupts: false, traps: false, draws, ..Options::full() }
    }
}

/// A rewritten module and what is to be known about it.
#[derive(Clone, Debug)]
pub struct Instrumented {
    /// The module. It validates with [`output_features`], and has no custom sections.
    pub wasm: Vec<u8>,
    /// What each edge is.
    pub edges: EdgeMap,
    /// Which counters there are, and how the edges' counts follow from them.
    pub counters: CounterMap,
    /// The added memory.
    pub injected: Injected,
    /// Where all state of the module can be reached.
    pub state: StateExports,
    /// Whether writes below address 1024 are found: that was asked for, and nothing is to lie there. This is so if memory 0
    /// has 32-bit addresses, the lowest of its active data segments begins at 1024, and the first mutable global, which
    /// is the stack pointer, starts as an `i32` above that.
    pub finds_low_stores: bool,
    /// The way back from offsets in `wasm` to the original module.
    pub offsets: OffsetMap,
    /// Where the module calls the guest protocol. The number of a call site is its place here plus 1, in all variants.
    pub sites: Vec<Site>,
    /// The way back to what was planned, if that isn't the original.
    planned: Option<OffsetMap>,
    /// The way from there to the original.
    translated: Option<OffsetMap>,
}

/// The added memory: 32-bit, not shared, its size fixed, the last of the memory index space. The module itself has no
/// instruction that addresses it. [`layout`](crate::layout) says what is where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injected {
    /// The name under which it is exported.
    pub memory_export: String,
    /// Its size in pages of 64 KiB, the least and the most.
    pub pages: u64,
    /// The name of the table, if there is one, whose only element is a function without parameters and results that is
    /// called before each `unreachable`. At first it does nothing; a host can put one there that fails at less cost than
    /// the trap.
    pub trap_table_export: Option<String>,
    /// The index of a function without parameters and results that does nothing but fail, by `unreachable`, if
    /// [`Options::interrupts`] asked for it. Nothing calls it. The host can go there, from a signal handler that has interrupted the
    /// module's code. For when it interrupts other code: after every bulk operator, growth and direct call of an imported function there is a load from the
    /// page that starts at [`layout::POLL`](crate::layout::POLL), which the host can make inaccessible.
    pub stop: Option<u32>,
    /// How to make the annex of a memory, if [`Options::annex`] asked for that.
    pub annex: Option<AnnexPlace>,
    /// Where the trace is, if something is recorded: a range of bytes. [`Instrumented::trace`] reads it.
    pub trace: Option<Range<u32>>,
    /// Where the area of the choice stream is, if the module speaks the guest protocol and its imports were replaced: a range of bytes.
    /// [`layout::stream`](crate::layout::stream) says what is in it; there are records if it has room for them.
    pub stream: Option<Range<u32>>,
    /// The function that [`Options::callable`] means, if there is one: its index, and the name under which it is exported.
    pub callable: Option<(u32, String)>,
    /// The functions of the protocol that the module imports, each with the name under which what replaces it is exported: for
    /// who calls the import otherwise than by a call in the module's code, which is not replaced.
    pub protocol_exports: Vec<(&'static str, String)>,
}

/// What a host has to know to make an [annex](Options::annex), as follows. It chooses where the annex begins, above all that the guest's
/// part will ever grow to and at a page; grows the memory, whose own maximum is gone, up to the end of the annex; makes inaccessible what lies between; puts a
/// function into the table; and writes [`layout::HIDDEN`](crate::layout::HIDDEN), [`layout::ANNEX`](crate::layout::ANNEX),
/// [`layout::GUEST_END`](crate::layout::GUEST_END) and [`layout::ROOM`](crate::layout::ROOM).
/// From then on it is that function which is asked for growth.
///
/// What is inaccessible is so for the host too: `memory.copy` and the like never go there, and its own functions must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnexPlace {
    /// The memory's index.
    pub memory: u32,
    /// How many pages the module lets it have at most, if it says so.
    pub maximum: Option<u64>,
    /// The name of the table for the function that grows the guest's part: it takes a number of pages, an `i64`, and gives 1 if the
    /// guest has got them, else 0, an `i32`. It need not heed the maximum.
    pub table_export: String,
    /// Every access is compared with [`layout::GUEST_END`](crate::layout::GUEST_END), which the host writes with the other cells: what
    /// lies between the guest's part and the annex can be accessible.
    pub bounds: bool,
}

/// Names of the exports that were added so that the host can save and restore all state of an instance: all memories
/// and tables but the injected memory, and all mutable globals, imported ones too, in the order of their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateExports {
    /// Memory i is exported as `memories[i]`.
    pub memories: Vec<String>,
    /// Table i is exported as `tables[i]`.
    pub tables: Vec<String>,
    /// The mutable globals.
    pub globals: Vec<String>,
    /// A function without parameters and results that saves the values of all mutable globals within the instance, and
    /// one that gives them back. `None` if there are no mutable globals.
    pub save_globals: Option<String>,
    /// See `save_globals`; to be called only after it.
    pub restore_globals: Option<String>,
    /// Why the state can't be restored by setting these to values they had, if so: then an instance is good for one
    /// execution. (What *may* happen and can't be undone, as dropping a segment, has a flag in
    /// [`layout`](crate::layout) instead.)
    pub irreversible: Option<&'static str>,
}

impl Instrumented {
    /// The count of each edge, modulo 2^32, from the values of all counters.
    ///
    /// `left` are the frames that a trap or the host ended, in any order; without exceptions, none of them is one that
    /// returned. The frame of a function that overflowed the stack when it was entered is not among them. If a frame is
    /// missing, edges that lead to where it was may be missing from the counts, and others be wrong. So they may be if an
    /// offset is wrong: optimising compilers make one conditional trap of a branch and the trap behind it.
    ///
    /// An edge whose count isn't known has 0: with [`Counters::Only`] all but those of the set, and those of `select` if
    /// [`Options::selects`] is off.
    pub fn edge_counts(&self, counters: &[u32], left: &[Left]) -> Vec<u32> {
        let mut counts = vec![0; self.edges.edges.len()];
        let mut left = left.to_vec();
        left.sort_unstable();
        for index in 0..self.counters.functions().len() {
            self.function_edge_counts(index, counters, &left, |edge, count| counts[edge as usize] = count);
        }
        counts
    }

    /// Calls `visit` with each edge of one function whose count is known and not 0, and the count: those that [`Instrumented::edge_counts`]
    /// gives, at the cost of that function alone.
    ///
    /// ```
    /// # use fuzzbox_instrument::{Options, instrument};
    /// # let wasm = wat::parse_str("(module (func) (func (drop (select (i32.const 1) (i32.const 2) (i32.const 3)))))")?;
    /// let new = instrument(&wasm, &Options::full())?;
    /// # let mut values = vec![0; new.counters.len() as usize];
    /// # *values.last_mut().unwrap() = 1;
    /// # let mut edges = 0;
    /// let changed = values.iter().position(|&value| value != 0).unwrap(); // `values` are those of all counters
    /// let index = new.counters.of_counter(changed as u32).unwrap();
    /// new.function_edge_counts(index, &values, &[], |edge, count| {
    ///     println!("{:?}: {count}", new.edges.edges[edge as usize]);
    /// #   edges += 1;
    /// });
    /// # assert_eq!((index, edges), (1, 2));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// `index` is the function's in [`CounterMap::functions`], `counters` are the values of all counters; `left` has to
    /// be sorted, and may have frames of other functions. Counts change only if one of the counters did or a frame of the
    /// function was left: so the functions to ask about are those of counters that are not 0
    /// ([`CounterMap::of_counter`]), and those that were left ([`CounterMap::of_function`]), which may have no counters.
    pub fn function_edge_counts(&self, index: usize, counters: &[u32], left: &[Left], mut visit: impl FnMut(u32, u32)) {
        let mut buffer = CountsBuffer::default();
        let counts = self.function_counts(index, counters, left, &mut buffer);
        let edges = self.counters.functions()[index].edges.clone();
        edges.zip(counts).filter(|(_, count)| **count != 0).for_each(|(edge, &count)| visit(edge, count));
    }

    /// As [`Instrumented::function_edge_counts`], all in the order of the edges' numbers, and 0 for those that aren't known:
    /// in `buffer`, or `counters` themselves.
    pub fn function_counts<'a>(
        &self,
        index: usize,
        counters: &'a [u32],
        left: &[Left],
        buffer: &'a mut CountsBuffer,
    ) -> &'a [u32] {
        debug_assert!(left.is_sorted());
        let function = &self.counters.functions()[index];
        let first = left.partition_point(|left| left.function < function.function);
        let ours = left[first..].iter().take_while(|left| left.function == function.function);
        let offsets = self.planned.as_ref().unwrap_or(&self.offsets);
        let planned: Vec<u32> = ours.filter_map(|left| offsets.original(left.offset)).collect();
        function.counts(counters, &planned, buffer)
    }

    /// What the last execution recorded. `injected` is the content of the injected memory.
    ///
    /// ```
    /// # use fuzzbox_instrument::{Options, instrument};
    /// # let wasm = b"\0asm\x01\0\0\0";
    /// let new = instrument(wasm, &Options::traced())?;
    /// let memory = vec![0; new.injected.pages as usize * 65_536]; // from an instance
    /// for record in new.trace(&memory).records {
    ///     println!("{:#x}: {:?}", record.site, record.event);
    /// }
    /// # anyhow::Ok(())
    /// ```
    pub fn trace(&self, injected: &[u8]) -> Trace {
        let original = |site| match &self.translated {
            Some(offsets) => offsets.original(site).unwrap_or(site),
            None => site,
        };
        self.injected.trace.as_ref().map_or_else(Trace::default, |place| Trace::read(injected, place, original))
    }

    /// Puts in terms of an original what is in terms of a module that was made of it; `offsets` is the way back.
    fn through(mut self, offsets: &OffsetMap) -> Instrumented {
        for site in &mut self.sites {
            site.offset = offsets.original(site.offset).unwrap_or(site.offset);
        }
        for edge in &mut self.edges.edges {
            // Every operator of the module was copied or belongs to one.
            edge.offset = offsets.original(edge.offset).unwrap_or(edge.offset);
        }
        let whole = self.offsets.then(offsets);
        self.planned = Some(std::mem::replace(&mut self.offsets, whole));
        self.translated = Some(offsets.clone());
        self
    }
}

/// Rewrites a module so that it counts its control-flow edges, runs on fuel, and tells how it changed its state.
///
/// ```wat
/// (module                                    (module
///   (import "env" "f" (func $f))               (import "env" "f" (func $f))
///   (global $g (mut i32) (i32.const 7))        (memory $injected 2 2)                    ;; added
///   (func $main (export "main") (param i32)    (global $g (mut i32) (i32.const 7))
///                                              (export "main" (func $main))
///                                              (export "fuzzbox:global:0" (global $g))   ;; added: state
///                                              (export "fuzzbox:injected" (memory $injected))
///                                              (func $main (param i32)
///                                                counter 0 += 1                          ;; added: entry
///                                                fuel -= 2, trap if negative             ;; added
///     loop $again                                loop $again
///                                                  fuel -= 4, trap if negative           ;; added
///       call $f                                    call $f
///       local.get 0                                local.get 0
///       br_if $again                               if                                    ;; was br_if $again
///                                                    counter 1 += 1                      ;; taken
///                                                    br $again
///                                                  end
///                                                  counter 2 += 1                        ;; not taken
///     end))                                      end))
/// ```
///
/// This is [`Options::default`]. A counter is `i32.load`, `i32.add`, `i32.store` at a constant address, which Cranelift
/// makes one `add`.
///
/// **Index spaces stay put.** Nothing is imported, and what is added comes last: types, functions that save and restore
/// the mutable globals, one memory, a table, globals, exports. So a function, global, table, memory, tag, type or segment keeps its number, an operator's bytes mean the
/// same in the new module, and all code that isn't a counted branch is copied verbatim. Only depths of branches out of
/// a `try_table` change, because each of its clauses gets a block of its own around it.
///
/// **Edges** are: function entry; both ways of `if`, `br_if` and `br_on_*`; each arm of `br_table`; `br` to a loop; each
/// operand of `select`; each clause of `try_table`. Code that can't be reached (after `br`, `return`, `unreachable`, ...
/// until a branch joins) is copied and has none.
///
/// **Counters** count edges, or other flows and blocks from which the edges' counts follow: [`Options::counters`]. They
/// wrap. [`Instrumented::edge_counts`] gives the counts; they are exact for executions that end in any way, if all frames
/// are known which a trap or the host left. Exceptions that imported functions throw are taken into account if the module has
/// tags.
///
/// **Endless executions** can be ended by another thread at no cost until then: a signal handler of the host goes to a function that
/// fails. What it can't interrupt, because it is no code of the module (bulk operators, the host's functions), is
/// followed by a load from a page that a watchdog can take away. See [`Injected::stop`].
///
/// **Fuel**, if it is on, is taken at each function entry and loop head: the number of operators in the body or loop, outside of loops
/// in it. No endless execution escapes it, start functions included: there are no jumps back but to loop heads, and no
/// calls but to entries. Operators that do as much as an operand says take more: one for 8 bytes of memory (fill, copy,
/// init), one for an element of a table or array; growing takes 256. `memory.atomic.wait` times out at once, because nobody is there to
/// notify.
///
/// **Recursion** can be limited: each call that may be part of one counts itself while it is live; where an exception is caught, the catching
/// function sets back what it knew.
///
/// **Writes below address 1024** can be made to trap where a C compiler's output has nothing there.
///
/// **Operands and calls** can be recorded, in a [`trace`](crate::trace) behind the counters. Functions that are appended
/// do it; a full trace loses what comes, and nothing else happens.
///
/// **Legacy exceptions** are translated first, as [`translate_legacy_exceptions`] shows; all of the above is then about
/// the translated module. Offsets and edges are the original's: a `try` has an edge for each of its clauses, as a
/// `try_table` has, and one that ends with `delegate` has one for what it delegates.
///
/// **Behaviour** is otherwise the original's: same results, traps, memories, tables and globals, with three
/// exceptions. Running out of fuel traps; functions may have larger frames, so that the stack overflows earlier; and
/// objects in scratch locals may live longer.
///
/// # Errors
///
/// The message says what the module is or has, as in `is a component; only core modules can be rewritten`: no core
/// module; invalid, with the validator's message and offset; using what [`features`](crate::features) doesn't have; or beyond a limit
/// when rewritten (memories, types, exports, locals, body size, counters).
pub fn instrument(wasm: &[u8], options: &Options) -> Result<Instrumented> {
    match instrument_current(wasm, options) {
        Err(error) if error.is::<UsesLegacy>() => {
            let translated = translate_legacy_exceptions(wasm)?;
            let new = instrument_current(&translated.wasm, options);
            Ok(new.context("has legacy exceptions, which are translated first")?.through(&translated.offsets))
        }
        result => result,
    }
}

/// Rewrites a module without legacy exceptions.
///
/// Functions are planned and written some at a time: the plans take many times as much memory as the code that they are
/// for.
fn instrument_current(wasm: &[u8], options: &Options) -> Result<Instrumented> {
    let (survey, bodies) = survey(wasm)?;
    let added = Added::new(&survey, options);
    let mut types = AddedTypes::new(&survey);
    for (params, results) in added.types(&survey) {
        types.plain(params, results)?;
    }
    let mut code = CodeSection::new(bodies.len() as u32 + added.functions(&survey));
    let mut edges = Vec::new();
    let mut counters = CounterMap::new(options);
    let mut changes_objects = false;
    let recursion = options.calls.map(|_| Recursion::find(&survey, &bodies));
    let drawing = if options.draws == Draws::Imported { None } else { Drawing::find(&survey, &bodies) };
    for_batches(&survey, bodies, options, (drawing.as_ref(), recursion.as_ref()), |mut plans| {
        for plan in &mut plans {
            let index = plan.index;
            let settled = plan.settle(&survey, edges.len() as u32, &mut types);
            settled.with_context(|| format!("has function {index}, which can't be rewritten"))?;
            edges.extend(plan.edges());
            changes_objects |= plan.changes_objects;
        }
        let mut placements: Vec<Placement> = plans.par_iter().map(|plan| place(plan, options)).collect();
        let numbers = counters.extend(&plans, &mut placements, options.lines);
        code.write(&survey, plans, &placements, (&numbers, options))
    })?;
    counters.finish();
    edges.shrink_to_fit();
    let state = StateExports::new(&survey, &added, changes_objects);
    let injected = Injected::new(&survey, &added, options, counters.len())?;
    let (wasm, offsets) = assemble(&survey, &added, &types, code, &injected, &state)?;
    // Everything was in order before, so what fails here is a limit: the validator knows them all, and names them.
    validate(&wasm).context("is beyond what engines accept when it is rewritten")?;
    let finds_low_stores = options.low_stores && survey.low_is_free;
    let edges = EdgeMap { edges, functions: survey.names };
    let (planned, translated) = (None, None);
    let sites = drawing.map(|drawing| drawing.sites).unwrap_or_default();
    Ok(Instrumented { wasm, edges, counters, injected, state, finds_low_stores, offsets, sites, planned, translated })
}

/// Bytes of bodies that are planned at once, or one body: enough for all cores.
const BATCH_BYTES: usize = 1 << 18;

/// And how many functions.
const BATCH_FUNCTIONS: usize = 1 << 7;

/// Plans all functions, in order, and gives them to `take`, some at a time.
fn for_batches(
    survey: &Survey<'_>,
    bodies: Bodies<'_>,
    options: &Options,
    (drawing, recursion): (Option<&Drawing>, Option<&Recursion>),
    mut take: impl FnMut(Vec<FunctionPlan>) -> Result<()>,
) -> Result<()> {
    let throwing = Throwing::find(survey, &bodies);
    let mut rest = bodies.into_iter();
    while rest.len() > 0 {
        let mut bytes = 0;
        let fits = |(_, body): &&(_, FunctionBody<'_>)| {
            let before = bytes;
            bytes += (body.range().end - body.range().start) as usize;
            before < BATCH_BYTES
        };
        let functions = rest.as_slice().iter().take(BATCH_FUNCTIONS).take_while(fits).count();
        take(plan(survey, options, (throwing.as_ref(), drawing, recursion), rest.by_ref().take(functions).collect())?)?;
    }
    Ok(())
}

/// The edges of a module without legacy exceptions.
pub(crate) fn edges(survey: &Survey<'_>, bodies: Bodies<'_>) -> Result<Vec<Edge>> {
    let mut edges = Vec::new();
    for_batches(survey, bodies, &Options::counting(), (None, None), |plans| {
        plans.iter().for_each(|plan| edges.extend(plan.edges()));
        Ok(())
    })?;
    Ok(edges)
}

/// Validates a module, its functions in parallel, some at a time.
pub(crate) fn validate(wasm: &[u8]) -> Result<()> {
    let mut validator = Validator::new_with_features(output_features());
    let mut functions = Vec::new();
    let mut bytes = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let ended = matches!(payload, Payload::End(_));
        if let ValidPayload::Func(function, body) = validator.payload(&payload)? {
            bytes += (body.range().end - body.range().start) as usize;
            functions.push((function, body));
        }
        if ended || bytes > BATCH_BYTES || functions.len() > BATCH_FUNCTIONS {
            for_each_body(std::mem::take(&mut functions), |validator, body| Ok(validator.validate(body)?))?;
            bytes = 0;
        }
    }
    Ok(())
}
