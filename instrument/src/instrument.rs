//! The entry function: a module goes through the passes.

use anyhow::{Context, Result};
use rayon::prelude::*;

use crate::added::Additions;
use crate::added::types::AddedTypes;
use crate::calls::CallFacts;
use crate::counters::{CounterMap, Placement, place};
use crate::edge_map::EdgeMap;
use crate::instrumented::{Injected, Instrumented, StateExports};
use crate::layout::Flag;
use crate::legacy::translate_legacy_exceptions;
use crate::module::operators::UsesLegacy;
use crate::module::survey::survey;
use crate::module::validate::validate;
use crate::options::Options;
use crate::plan::ModuleContext;
use crate::walk::for_batches;
use crate::write::{CodeSection, assemble};

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
/// the mutable globals, one memory, a table, globals, exports. So a function, global, table, memory, tag, type or
/// segment keeps its number, an operator's bytes mean the same in the new module, and all code that isn't a counted
/// branch is copied verbatim. Only depths of branches out of a `try_table` change, because each of its clauses gets a
/// block of its own around it.
///
/// **Edges** are: function entry; both ways of `if`, `br_if` and `br_on_*`; each arm of `br_table`; `br` to a loop;
/// each operand of `select`; each clause of `try_table`. Code that can't be reached (after `br`, `return`,
/// `unreachable`, ... until a branch joins) is copied and has none.
///
/// **Counters** count edges, or other flows and blocks from which the edges' counts follow: [`Options::counters`]. They
/// wrap. [`Instrumented::edge_counts`] gives the counts; they are exact for executions that end in any way, if all
/// frames are known which a trap or the host left. Exceptions that imported functions throw are taken into account if
/// the module has tags.
///
/// **Endless executions** can be ended by another thread at no cost until then: a signal handler of the host goes to a
/// function that fails. What it can't interrupt, because it is no code of the module (bulk operators, the host's
/// functions), is followed by a load from a page that a watchdog can take away. See [`Injected::stop`].
///
/// **Fuel**, if it is on, is taken at each function entry and loop head: the number of operators in the body or loop,
/// outside of loops in it. No endless execution escapes it, start functions included: there are no jumps back but to
/// loop heads, and no calls but to entries. Operators that do as much as an operand says take more: one for 8 bytes of
/// memory (fill, copy, init), one for an element of a table or array; growing takes 256. `memory.atomic.wait` times out
/// at once, because nobody is there to notify.
///
/// **Recursion** can be limited: each call that may be part of one counts itself while it is live; where an exception
/// is caught, the catching function sets back what it knew.
///
/// **Writes below address 1024** can be made to trap where a C compiler's output has nothing there.
///
/// **Operands and calls** can be recorded, in a [`trace`](crate::trace) behind the counters. Functions that are
/// appended do it; a full trace loses what comes, and nothing else happens.
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
/// module; invalid, with the validator's message and offset; using what [`features`](crate::features) doesn't have; or
/// beyond a limit when rewritten (memories, types, exports, locals, body size, counters).
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
    let added = Additions::new(&survey, options);
    let mut types = AddedTypes::new(&survey);
    for (params, results) in added.types(&survey) {
        types.plain(params, results)?;
    }
    let mut code = CodeSection::new(bodies.len() as u32 + added.functions);
    let mut edges = Vec::new();
    let mut counters = CounterMap::new(options);
    let mut changes_objects = false;
    let calls = CallFacts::find(&survey, &bodies, options);
    let context = ModuleContext { survey: &survey, options, added: &added, calls: &calls };
    for_batches(&context, bodies, |mut plans| {
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
    let finds_low_stores = options.checks.has(Flag::LowStore) && survey.low_is_free;
    let edges = EdgeMap { edges, functions: survey.names };
    let (planned, translated) = (None, None);
    let sites = calls.drawing.map(|drawing| drawing.sites).unwrap_or_default();
    Ok(Instrumented { wasm, edges, counters, injected, state, finds_low_stores, offsets, sites, planned, translated })
}
