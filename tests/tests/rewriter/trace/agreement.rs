//! The trace and the counters of the same execution must agree: each function was entered as often as its entry was
//! counted, and each branch went as its operands say.

use std::collections::BTreeMap;

use arbitrary::Unstructured;
use fuzzbox_instrument::trace::{Comparison, Event, SpanEnd, Trace, Way};
use fuzzbox_instrument::{EdgeKind, Options, instrument, layout};
use wasmparser::{Operator, Parser, Payload};
use wasmtime::*;

use super::{Traced, store};
use crate::execution::{Random, engine};

/// What an operator at some offset gives or goes by, as far as the trace knows.
#[derive(Default)]
struct Outcomes {
    /// How often what was compared is true, and how often it is not.
    truth: BTreeMap<u32, [u32; 2]>,
    /// How often an arm was chosen, by number.
    arms: BTreeMap<(u32, u32), u32>,
    entered: BTreeMap<u32, u32>,
}

impl Outcomes {
    fn new(trace: &Trace) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for record in &trace.records {
            match record.event {
                Event::Compare { comparison, float, width, left, right } => {
                    let truth = holds(comparison, float, width, left, right);
                    outcomes.truth.entry(record.site).or_default()[usize::from(!truth)] += 1;
                }
                Event::Condition { value, .. } => {
                    outcomes.truth.entry(record.site).or_default()[usize::from(value == 0)] += 1;
                }
                Event::Choose { index, targets } => {
                    *outcomes.arms.entry((record.site, index.min(targets))).or_default() += 1;
                }
                Event::Enter { function, .. } => *outcomes.entered.entry(function).or_default() += 1,
                _ => {}
            }
        }
        outcomes
    }
}

fn holds(comparison: Comparison, float: bool, width: u8, left: u64, right: u64) -> bool {
    use Comparison as C;
    if float {
        let number = |bits: u64| if width == 4 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) };
        let (left, right): (f64, f64) = (number(left), number(right));
        return match comparison {
            C::Eq => left == right,
            C::Ne => left != right,
            C::LtS => left < right,
            C::GtS => left > right,
            C::LeS => left <= right,
            C::GeS => left >= right,
            _ => panic!("not for floats"),
        };
    }
    let signed = |bits: u64| if width == 4 { i64::from(bits as u32 as i32) } else { bits as i64 };
    match comparison {
        C::Eq => left == right,
        C::Ne => left != right,
        C::LtU => left < right,
        C::GtU => left > right,
        C::LeU => left <= right,
        C::GeU => left >= right,
        C::LtS => signed(left) < signed(right),
        C::GtS => signed(left) > signed(right),
        C::LeS => signed(left) <= signed(right),
        C::GeS => signed(left) >= signed(right),
    }
}

/// For each operator that decides by a condition: where what gives it is, and whether it is negated. That is the operator
/// itself, unless a comparison is directly before it.
fn givers(wasm: &[u8]) -> BTreeMap<u32, (u32, bool)> {
    let mut givers = BTreeMap::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let mut before: Option<(u32, bool)> = None;
        for read in body.get_operators_reader().unwrap().into_iter_with_offsets() {
            let (operator, at) = read.unwrap();
            let at = at as u32;
            let name = format!("{operator:?}");
            let compares = ["Eq", "Ne", "Lt", "Gt", "Le", "Ge"]
                .iter()
                .any(|start| ["I32", "I64", "F32", "F64"].iter().any(|ty| name.starts_with(&format!("{ty}{start}"))));
            before = match operator {
                Operator::If { .. } | Operator::BrIf { .. } | Operator::Select | Operator::TypedSelect { .. } => {
                    givers.insert(at, before.unwrap_or((at, false)));
                    None
                }
                Operator::I32Eqz => Some(before.map_or((at, false), |(giver, negated)| (giver, !negated))),
                _ if compares => Some((at, false)),
                _ => None,
            };
        }
    }
    givers
}

/// What was compared.
#[derive(Debug, Default)]
struct Total {
    modules: u32,
    executions: u32,
    entries: u32,
    decisions: u32,
    arms: u32,
    unwound: u32,
    open: u32,
}

impl Total {
    /// Compares a trace with the counts of all edges.
    fn check(&mut self, run: &Traced, trace: &Trace, counts: &[u32], what: &str) {
        let outcomes = Outcomes::new(trace);
        let givers = givers(&run.original);
        for (edge, &count) in run.new.edges.edges.iter().zip(counts) {
            let truth = |of: bool| {
                let &(giver, negated) = &givers[&edge.offset];
                outcomes.truth.get(&giver).map_or(0, |truth| truth[usize::from(of == negated)])
            };
            let expected = match edge.kind {
                EdgeKind::Entry => outcomes.entered.get(&edge.function).copied().unwrap_or(0),
                EdgeKind::IfTaken | EdgeKind::BrIfTaken | EdgeKind::SelectFirst => truth(true),
                EdgeKind::IfNotTaken | EdgeKind::BrIfNotTaken | EdgeKind::SelectSecond => truth(false),
                EdgeKind::BrTable { arm } => outcomes.arms.get(&(edge.offset, arm)).copied().unwrap_or(0),
                _ => continue,
            };
            match edge.kind {
                EdgeKind::Entry => self.entries += count,
                EdgeKind::BrTable { .. } => self.arms += count,
                _ => self.decisions += count,
            }
            assert_eq!(count, expected, "{what}: {edge:?}");
        }
        self.nesting(trace, what);
        self.executions += 1;
    }

    /// Depths ascend by one, and are left where they were entered.
    fn nesting(&mut self, trace: &Trace, what: &str) {
        let mut depth = 0;
        for record in &trace.records {
            match record.event {
                Event::Enter { depth: entered, .. } => {
                    assert_eq!(entered, depth + 1, "{what}");
                    depth = entered;
                }
                Event::Leave { depth: left, .. } => {
                    assert_eq!(left, depth, "{what}");
                    depth = left - 1;
                }
                Event::Caught { depth: caught } => {
                    assert!(caught <= depth && caught > 0, "{what}");
                    depth = caught;
                }
                _ => {}
            }
        }
        let spans = trace.spans();
        let open = spans.iter().filter(|span| span.end == SpanEnd::Open).count() as u32;
        assert_eq!(open, depth, "{what}");
        self.open += open;
        self.unwound += spans.iter().filter(|span| span.end == SpanEnd::Unwound).count() as u32;
        for span in spans.iter().filter(|span| span.end == SpanEnd::Left(Way::End)) {
            let last = &trace.records[span.records.end - 1].event;
            assert_eq!(*last, Event::Leave { depth: span.depth, way: Way::End }, "{what}");
        }
    }
}

/// The counts of all edges, which have a counter each.
fn counts(run: &mut Traced) -> Vec<u32> {
    let memory = run.memory();
    let counters = &memory.data(&run.store)[layout::COUNTERS as usize..][..4 * run.new.counters.len() as usize];
    let counters: Vec<_> =
        counters.chunks_exact(4).map(|count| u32::from_le_bytes(count.try_into().unwrap())).collect();
    run.new.edge_counts(&counters, &[])
}

#[test]
fn generated_modules_count_what_they_record() {
    let modules = std::env::var("FUZZBOX_SMITH_MODULES").map_or(150, |number| number.parse().unwrap());
    let mut total = Total::default();
    let engine = engine(OptLevel::None, |config| {
        config.memory_reservation(1 << 24).memory_guard_size(1 << 16);
    });
    for seed in 0..modules {
        generated(&engine, seed, &mut total);
    }
    println!("{total:?}");
    let modules = modules as u32;
    assert!(total.modules > modules / 3 && total.executions > modules, "{total:?}");
    assert!(total.decisions > 10 * modules && total.arms > modules && total.open > modules, "{total:?}");
}

fn generated(engine: &Engine, seed: u64, total: &mut Total) {
    let mut random = Random(seed);
    let config = wasm_smith::Config {
        export_everything: true,
        compact_imports_enabled: false,
        threads_enabled: false,
        disallow_traps: random.below(2) == 0,
        allow_start_export: false,
        max_imports: 3,
        max_memories: 3,
        max_memory32_bytes: 20 << 16,
        max_memory64_bytes: 20 << 16,
        max_table_elements: 1_000,
        min_funcs: 4,
        max_funcs: 12,
        max_instructions: 400,
        max_tags: 3,
        ..Default::default()
    };
    let bytes: Vec<u8> = (0..2_000 + random.below(20_000)).map(|_| random.next() as u8).collect();
    let Ok(module) = wasm_smith::Module::new(config, &mut Unstructured::new(&bytes)) else { return };
    let original = module.to_bytes();
    let new = instrument(&original, &Options::traced()).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
    let Ok(module) = Module::new(engine, &new.wasm) else { return };
    let mut store = store(engine);
    let mut linker = Linker::new(engine);
    if linker.define_unknown_imports_as_default_values(&mut store, &module).is_err() {
        return;
    }
    let Ok(instance) = linker.instantiate(&mut store, &module) else { return };
    total.modules += 1;
    let mut run = Traced { original, new, store, instance };
    let names: Vec<_> =
        module.exports().filter_map(|export| Some((export.name(), export.ty().func()?.clone()))).collect();
    for (name, ty) in names {
        if name.starts_with("fuzzbox") {
            continue;
        }
        let arguments: Option<Vec<_>> = ty.params().map(|ty| Val::default_for_ty(&ty)).collect();
        let Some(arguments) = arguments else { continue };
        let memory = run.memory();
        memory.data_mut(&mut run.store)[..layout::COUNTERS as usize + 4 * run.new.counters.len() as usize].fill(0);
        memory
            .write(&mut run.store, layout::FUEL as usize, &(20_000 - Options::traced().fuel.unwrap()).to_le_bytes())
            .unwrap();
        let overflowed = run
            .call(name, &arguments)
            .is_err_and(|error| error.downcast_ref::<Trap>().is_some_and(|trap| *trap == Trap::StackOverflow));
        let trace = run.trace();
        if overflowed || trace.lost > 0 {
            continue; // the last call may have been counted, or recorded, and not the other
        }
        let counts = counts(&mut run);
        total.check(&run, &trace, &counts, &format!("seed {seed}, {name}"));
    }
}

#[test]
fn a_compiled_program_counts_what_it_records() {
    let mut total = Total::default();
    for guest in ["setjmp/legacy.wasm", "setjmp/current.wasm"] {
        let mut run = Traced::guest(guest);
        run.clear();
        let before = run.trace();
        assert_eq!(before.records.len(), 0);
        for text in ["1 2 3", "((1) 2", "(1 (2 3) (4 (5)))", "1 2 x", ")"] {
            let place = run.call("malloc", &[Val::I32(64)]).unwrap()[0].unwrap_i32();
            let guest_memory = run.instance.get_memory(&mut run.store, "memory").unwrap();
            guest_memory.write(&mut run.store, place as usize, text.as_bytes()).unwrap();
            let memory = run.memory();
            let counters = 4 * run.new.counters.len() as usize;
            memory.data_mut(&mut run.store)[layout::COUNTERS as usize..][..counters].fill(0);
            run.clear();
            run.call("LLVMFuzzerTestOneInput", &[Val::I32(place), Val::I32(text.len() as i32)]).unwrap();
            let trace = run.trace();
            assert_eq!(trace.lost, 0);
            let counts = counts(&mut run);
            total.check(&run, &trace, &counts, &format!("{guest}, {text}"));
        }
    }
    println!("{total:?}");
    assert!(total.decisions > 100 && total.unwound > 0, "{total:?}");
    assert_eq!(total.open, 0);
}
