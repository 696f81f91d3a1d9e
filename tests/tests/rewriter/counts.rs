//! Counters, fuel, flags and state exports of rewritten modules, by running them.
//!
//! The modules are the rewriter's golden ones, so what is counted can be read there.

use std::path::Path;

use crate::execution::engine;
use fuzzbox_instrument::layout::Flag;
use fuzzbox_instrument::{EdgeKind, Instrumented, Options, instrument, layout};
use wasmtime::*;

/// A rewritten module's instance.
struct Run {
    new: Instrumented,
    store: Store<()>,
    instance: Instance,
}

impl Run {
    fn golden(name: &str) -> Run {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../instrument/tests/golden");
        Run::text(&std::fs::read_to_string(folder.join(name).with_extension("wat")).unwrap())
    }

    fn text(text: &str) -> Run {
        Run::with(text, &Options::default())
    }

    fn with(text: &str, options: &Options) -> Run {
        let new = instrument(&wat::parse_str(text).unwrap(), options).unwrap();
        let engine = engine(OptLevel::Speed, |_| {});
        let module = Module::new(&engine, &new.wasm).unwrap();
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_default_values(&mut store, &module).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        Run { new, store, instance }
    }

    fn call(&mut self, name: &str, arguments: &[Val]) -> Result<Vec<Val>> {
        let function = self.instance.get_func(&mut self.store, name).unwrap();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        function.call(&mut self.store, arguments, &mut results)?;
        Ok(results)
    }

    fn call_i32(&mut self, name: &str, argument: i32) -> Vec<Val> {
        self.call(name, &[Val::I32(argument)]).unwrap()
    }

    fn injected(&mut self) -> Memory {
        self.instance.get_memory(&mut self.store, &self.new.injected.memory_export).unwrap()
    }

    fn flag(&mut self, flag: Flag) -> u8 {
        self.injected().data(&self.store)[flag.offset() as usize]
    }

    fn fuel(&mut self) -> i64 {
        let memory = self.injected();
        let more = i64::from_le_bytes(memory.data(&self.store)[layout::FUEL as usize..][..8].try_into().unwrap());
        more + Options::default().fuel.unwrap()
    }

    fn set_fuel(&mut self, fuel: i64) {
        let memory = self.injected();
        let more = fuel - Options::default().fuel.unwrap();
        memory.write(&mut self.store, layout::FUEL as usize, &more.to_le_bytes()).unwrap();
    }

    /// Makes all counters 0.
    fn forget(&mut self) {
        let (memory, len) = (self.injected(), 4 * self.new.counters.len() as usize);
        memory.data_mut(&mut self.store)[layout::COUNTERS as usize..][..len].fill(0);
    }

    /// The values of all counters.
    fn counters(&mut self) -> Vec<u32> {
        let memory = self.injected();
        let counters = &memory.data(&self.store)[layout::COUNTERS as usize..][..4 * self.new.counters.len() as usize];
        counters.chunks_exact(4).map(|count| u32::from_le_bytes(count.try_into().unwrap())).collect()
    }

    /// The counters of a function, in order, as `kind count`.
    fn counts(&mut self, function: &str) -> Vec<String> {
        let memory = self.injected();
        let counters = &memory.data(&self.store)[layout::COUNTERS as usize..];
        let edges = self.new.edges.edges.iter().zip(counters.chunks_exact(4));
        let ours = edges.filter(|(edge, _)| self.new.edges.function_name(edge.function) == Some(function));
        ours.map(|(edge, count)| format!("{} {}", edge.kind, u32::from_le_bytes(count.try_into().unwrap()))).collect()
    }
}

#[test]
fn both_ways_of_an_if_are_counted() {
    let mut run = Run::golden("if");
    for argument in [0, 1, 2, 0, 3] {
        run.call_i32("without_else", argument);
    }
    run.call_i32("with_else", 0);
    assert_eq!(run.counts("without_else"), ["entry 5", "if_taken 3", "if_not_taken 2"]);
    assert_eq!(run.counts("with_else"), ["entry 1", "if_taken 0", "if_not_taken 1"]);
    assert_eq!(run.counts("values_pass_through"), ["entry 0", "if_taken 0", "if_not_taken 0"]);
    assert_eq!(run.call_i32("values_pass_through", 1)[0].i32(), Some(6));
    assert_eq!(run.call_i32("values_pass_through", 0)[0].i32(), Some(5));
    assert_eq!(run.counts("values_pass_through"), ["entry 2", "if_taken 1", "if_not_taken 1"]);
}

#[test]
fn both_ways_of_a_br_if_are_counted_and_values_carried() {
    let mut run = Run::golden("br_if");
    assert_eq!(run.call_i32("one_value", 1)[0].i32(), Some(7));
    assert_eq!(run.call_i32("one_value", 0)[0].i32(), Some(8));
    assert_eq!(run.call_i32("one_value", 0)[0].i32(), Some(8));
    assert_eq!(run.counts("one_value"), ["entry 3", "br_if_taken 1", "br_if_not_taken 2"]);
    let pair = |results: Vec<Val>| (results[0].i32(), results[1].i64());
    assert_eq!(pair(run.call_i32("two_values", 1)), (Some(7), Some(8)));
    assert_eq!(pair(run.call_i32("two_values", 0)), (Some(1), Some(2)));
    let expected = ["entry 2", "br_if_taken 1", "br_if_not_taken 1", "br_if_taken 0", "br_if_not_taken 1"];
    assert_eq!(run.counts("two_values"), expected);
}

#[test]
fn each_arm_of_a_br_table_is_counted_apart() {
    let mut run = Run::golden("br_table");
    // Arm 3 loops for ever: it ends with the fuel.
    for argument in [0, 1, 2, 4, 4, -1, i32::MIN, 5, 1] {
        run.call_i32("arms", argument);
    }
    run.set_fuel(100);
    assert!(run.call("arms", &[Val::I32(3)]).is_err());
    let counts = run.counts("arms");
    assert_eq!(counts, ["entry 10", "br_table 0 1", "br_table 1 2", "br_table 2 1", "br_table 3 19", "br_table 4 5"]);
    run.set_fuel(100);
    run.call_i32("default_only", 77);
    assert_eq!(run.counts("default_only"), ["entry 1", "br_table 0 1"]);
}

#[test]
fn branches_on_references_are_counted_and_see_the_same_reference() {
    let mut run = Run::golden("br_on");
    let function = Func::wrap(&mut run.store, || {});
    let null = Val::FuncRef(None);
    let some = Val::FuncRef(Some(function));
    for (argument, result) in [(null, 0), (some, 1), (some, 1)] {
        assert_eq!(run.call("on_null", &[argument]).unwrap()[0].i32(), Some(result));
        assert_eq!(run.call("on_non_null", &[argument]).unwrap()[0].i32(), Some(result));
    }
    assert_eq!(run.counts("on_null"), ["entry 3", "br_on_taken 1", "br_on_not_taken 2"]);
    assert_eq!(run.counts("on_non_null"), ["entry 3", "br_on_taken 2", "br_on_not_taken 1"]);
    let number = Val::AnyRef(Some(AnyRef::from_i31(&mut run.store, I31::wrapping_u32(1))));
    assert_eq!(run.call("on_cast", &[number]).unwrap()[0].i32(), Some(0));
    assert_eq!(run.counts("on_cast"), ["entry 1", "br_on_taken 0", "br_on_not_taken 1"]);
    assert_eq!(run.call("on_cast_fail", &[number]).unwrap()[0].i32(), Some(1));
    assert_eq!(run.call("on_cast_fail", &[Val::AnyRef(None)]).unwrap()[0].i32(), Some(0));
    assert_eq!(run.counts("on_cast_fail"), ["entry 2", "br_on_taken 1", "br_on_not_taken 1"]);
}

#[test]
fn each_clause_of_a_try_table_is_counted() {
    let mut run = Run::golden("try_table");
    assert_eq!(run.call_i32("clauses", 5)[0].i32(), Some(5));
    assert_eq!(run.counts("clauses")[..4], ["entry 1", "catch 0 1", "catch 1 0", "catch 2 0"]);
    assert_eq!(run.call_i32("with_values", 6)[0].i32(), Some(6));
    assert_eq!(run.counts("with_values"), ["entry 1", "catch 0 1"]);
    run.call("inside_each_other", &[]).unwrap();
    assert_eq!(run.counts("inside_each_other")[..4], ["entry 1", "catch 0 0", "catch 0 1", "catch 1 0"]);
}

#[test]
fn back_edges_are_marked_and_counted() {
    let mut run = Run::golden("loop");
    run.set_fuel(1_000);
    assert!(run.call("forever", &[]).is_err());
    // 6 for the entry, 2 for each of 497 passes, and one more that it had no fuel for.
    assert_eq!(run.counts("forever"), ["entry 1", "back_edge 497"]);
    let back: Vec<_> = run.new.edges.edges.iter().filter(|edge| edge.back).map(|edge| edge.kind).collect();
    let taken = EdgeKind::BrIfTaken;
    assert_eq!(back, [EdgeKind::BackEdge, taken, taken, taken]);
}

#[test]
fn counters_wrap() {
    let mut run = Run::golden("if");
    let memory = run.injected();
    memory.write(&mut run.store, layout::COUNTERS as usize, &u32::MAX.to_le_bytes()).unwrap();
    run.call_i32("without_else", 0);
    assert_eq!(run.counts("without_else"), ["entry 0", "if_taken 0", "if_not_taken 1"]);
}

#[test]
fn fuel_is_what_lies_directly_in_bodies_and_loops() {
    let mut run = Run::golden("loop");
    run.set_fuel(1_000);
    run.call_i32("nested", 0);
    assert_eq!(run.fuel(), 1_000 - 2 - 4 - 5);
    assert_eq!(run.flag(Flag::OutOfFuel), 0);
    run.set_fuel(11);
    run.call_i32("nested", 0);
    assert_eq!((run.fuel(), run.flag(Flag::OutOfFuel)), (0, 0));
    run.set_fuel(10);
    let error = run.call("nested", &[Val::I32(0)]).unwrap_err();
    assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::UnreachableCodeReached));
    assert_eq!((run.fuel(), run.flag(Flag::OutOfFuel)), (-1, 1));
}

#[test]
fn bulk_operators_take_fuel_for_their_length() {
    let mut run = Run::golden("bulk");
    run.set_fuel(100_000);
    run.call_i32("fill", 65_536);
    // A bulk operator itself costs 16.
    assert_eq!(run.fuel(), 100_000 - 4 - 16 - 65_536 / 8);
    run.set_fuel(100_000);
    run.call("copy", &[Val::I64(65_000)]).unwrap();
    assert_eq!(run.fuel(), 100_000 - 4 - 16 - 65_000 / 8);
    // A length that traps takes as much, and can't make the fuel wrap.
    run.call("copy", &[Val::I64(-1)]).unwrap_err();
    assert!(run.fuel() < 0);
}

/// Functions that never end, by every way back there is. An optimiser may merge what looks the same, so they are here
/// in the shapes in which equal checks dominate each other.
#[test]
fn nothing_endless_escapes_the_fuel() {
    let endless = [
        "(func $f (export \"f\") loop br 0 end)",
        "(func $f (export \"f\") loop loop br 0 end end)",
        "(func $f (export \"f\") loop i32.const 0 br_if 0 end loop br 0 end)",
        "(func $f (export \"f\") loop (br_if 0 (i32.const 1)) end)",
        "(func $f (export \"f\") loop (br_table 0 0 (i32.const 7)) end)",
        "(func $f (export \"f\") loop (br_on_null 0 (ref.null func)) drop end)",
        "(func $f (export \"f\") loop (br_if 0 (i32.const 1)) (br 0) end)",
        "(memory 9) (func $f (export \"f\") loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 400000)) br 0 end)",
        "(func $f (export \"f\") return_call $f)",
        "(func $f (export \"f\") return_call $g) (func $g return_call $f)",
        "(elem declare func $f) (type $t (func)) (func $f (export \"f\") (return_call_ref $t (ref.func $f)))",
        "(table funcref (elem $f)) (type $t (func)) (func $f (export \"f\") (return_call_indirect (type $t) (i32.const 0)))",
        "(tag $e) (func $f (export \"f\") loop (try_table (catch $e 0) (throw $e)) end)",
        "(tag $e) (func $f (export \"f\") loop block (try_table (catch_all 0) (throw $e)) end br 0 end)",
    ];
    for text in endless {
        let mut run = Run::text(&format!("(module {text})"));
        run.set_fuel(100_000);
        let error = run.call("f", &[]).unwrap_err();
        assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::UnreachableCodeReached), "{text}");
        assert_eq!(run.flag(Flag::OutOfFuel), 1, "{text}");
        // What it takes is the same each time.
        let counters = run.counts("f");
        run.set_fuel(100_000);
        run.call("f", &[]).unwrap_err();
        let twice = run.counts("f");
        let number = |count: &String| count.rsplit_once(' ').unwrap().1.parse::<u32>().unwrap();
        assert!(counters.iter().zip(&twice).all(|(once, twice)| 2 * number(once) == number(twice)), "{text}");
    }
}

#[test]
fn a_start_function_runs_on_the_fuel_it_is_given() {
    let wasm = wat::parse_str("(module (memory 1) (data \"x\") (func $f loop br 0 end) (start $f))").unwrap();
    let mut options = Options::default();
    options.fuel = Some(1_000_000);
    let new = instrument(&wasm, &options).unwrap();
    let engine = engine(OptLevel::Speed, |_| {});
    let module = Module::new(&engine, &new.wasm).unwrap();
    let error = Instance::new(&mut Store::new(&engine, ()), &module, &[]).unwrap_err();
    assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::UnreachableCodeReached));
    let mut run = Run::golden("start");
    assert_eq!(run.fuel(), Options::default().fuel.unwrap() - 4 - 16);
    let own = run.instance.get_memory(&mut run.store, &run.new.state.memories[0]).unwrap();
    assert_eq!(&own.data(&run.store)[..12], b"def\0\0\0\0\0abc\0");
}

#[test]
fn state_can_be_reached_and_changes_are_flagged() {
    let mut run = Run::golden("state");
    let flags = [Flag::TableWrite, Flag::TableGrow, Flag::SegmentDrop, Flag::MemoryGrow];
    assert_eq!(flags.map(|flag| run.flag(flag)), [0; 4]);
    assert_eq!(run.call_i32("f", 0)[0].i32(), Some(1));
    assert_eq!(flags.map(|flag| run.flag(flag)), [1; 4]);
    let state = run.new.state.clone();
    let memories: Vec<_> = state.memories.iter().map(|name| run.instance.get_memory(&mut run.store, name)).collect();
    let sizes: Vec<_> = memories.into_iter().map(|memory| memory.unwrap().size(&run.store)).collect();
    assert_eq!(sizes, [1, 2]);
    let tables: Vec<_> = state.tables.iter().map(|name| run.instance.get_table(&mut run.store, name)).collect();
    let sizes: Vec<_> = tables.into_iter().map(|table| table.unwrap().size(&run.store)).collect();
    assert_eq!(sizes, [1, 2]);
    assert_eq!(state.globals, ["fuzzbox:global:0", "fuzzbox:global:2"]);
    assert_eq!(state.irreversible, None);
    assert!(Run::golden("objects").new.state.irreversible.is_some());
}

#[test]
fn waiting_is_over_at_once() {
    let mut run = Run::golden("atomic_wait");
    let timed_out = Some(2);
    assert_eq!(run.call("f", &[Val::I64(-1)]).unwrap()[0].i32(), timed_out);
    assert_eq!(run.call("f", &[Val::I64(i64::MAX)]).unwrap()[0].i32(), timed_out);
}

/// Goes round `n` times; one in four rounds takes the first way, the others the second.
const TWO_WAYS: &str = "(module (func (export \"f\") (param $n i32)
    (block $out (loop $again
      (br_if $out (i32.eqz (local.get $n)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (if (i32.and (local.get $n) (i32.const 3)) (then nop) (else nop))
      (br $again)))))";

#[test]
fn a_profile_moves_counters_to_where_little_happens() {
    let mut plain = Run::with(TWO_WAYS, &Options::full());
    plain.call_i32("f", 400);
    let counters = plain.counters();
    let counts = plain.new.edge_counts(&counters, &[]);
    // Entry; out of the loop or not; the two ways; back.
    assert_eq!(counts, [1, 1, 400, 300, 100, 400]);
    let mut options = Options::full();
    options.profile = Some(counts.iter().map(|&count| u64::from(count)).collect());
    let mut guided = Run::with(TWO_WAYS, &options);
    guided.call_i32("f", 400);
    let counters = guided.counters();
    assert_eq!(guided.new.edge_counts(&counters, &[]), counts);
    // Three are enough: 1 call, 100 times the rare way, and either the loop's head or the frequent way must be counted.
    assert_eq!(counters.iter().sum::<u32>(), 1 + 100 + 300, "{counters:?}");
}

#[test]
fn counters_that_were_used_lie_together() {
    // Fifty functions that do one thing or the other, each twice.
    let function = |index: u32| {
        format!(
            "(func $f{index} (param $n i32)
              (if (i32.and (local.get $n) (i32.const 1)) (then nop) (else (if (local.get $n) (then nop))))
              (if (i32.and (local.get $n) (i32.const 2)) (then nop) (else nop)))"
        )
    };
    let functions: String = (0..50).map(function).collect();
    let calls: String = (0..50).map(|index| format!("(call $f{index} (local.get $n))")).collect();
    let text = format!("(module {functions} (func (export \"f\") (param $n i32) {calls}))");
    let mut plain = Run::with(&text, &Options::full());
    let mut counts = |n: i32| {
        plain.forget();
        plain.call_i32("f", n);
        let counters = plain.counters();
        plain.new.edge_counts(&counters, &[])
    };
    let mut options = Options::full();
    options.lines = true;
    options.profile = Some(counts(1).iter().map(|&count| u64::from(count)).collect());
    let mut guided = Run::with(&text, &options);
    let mut lines = |n: i32| {
        guided.forget();
        guided.call_i32("f", n);
        let counters = guided.counters();
        assert_eq!(guided.new.edge_counts(&counters, &[]), counts(n), "{n}");
        let used = (0..).zip(&counters).filter(|(_, count)| **count > 0);
        used.map(|(counter, _): (u32, _)| counter / layout::LINE_COUNTERS).collect::<std::collections::BTreeSet<_>>()
    };
    // One counter for each function at least, 16 to a line.
    let usual = lines(1);
    assert!(usual.len() < 8 && usual.iter().eq(&(0..usual.len() as u32).collect::<Vec<_>>()), "{usual:?}");
    // What was not done before is counted elsewhere.
    assert!(lines(2).difference(&usual).count() >= 4);
    assert_eq!(lines(1), usual);
}

#[test]
fn enough_counters_are_fewer_and_tell_the_same() {
    for name in ["br_if", "br_table", "if", "loop", "try_table", "unfolded"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../instrument/tests/golden");
        let text = std::fs::read_to_string(folder.join(name).with_extension("wat")).unwrap();
        let (every, full) = (Run::text(&text), Run::with(&text, &Options::full()));
        assert_eq!(every.new.edges, full.new.edges, "{name}");
        assert_eq!(every.new.counters.len() as usize, every.new.edges.edges.len(), "{name}");
        assert!(full.new.counters.len() < every.new.counters.len(), "{name}");
    }
}

#[test]
fn mutable_globals_are_saved_and_restored_by_the_module() {
    let text = "(module
      (type $f (func)) (func $a) (func $b) (elem declare func $a $b)
      (global $i (mut i32) (i32.const 1)) (global $l (mut i64) (i64.const 2))
      (global $s (mut f32) (f32.const 3)) (global $d (mut f64) (f64.const 4))
      (global $v (mut v128) (v128.const i64x2 5 6)) (global $r (mut externref) (ref.null extern))
      (global $fixed i32 (i32.const 7)) (global $n (mut (ref $f)) (ref.func $a))
      (func (export \"change\") (param i32)
        (global.set $i (local.get 0)) (global.set $l (i64.const 20)) (global.set $s (f32.const 30))
        (global.set $d (f64.const 40)) (global.set $v (v128.const i64x2 50 60)) (global.set $n (ref.func $b)))
      (func (export \"is_a\") (param i32) (result i32)
        (i32.eq (global.get $i) (local.get 0))))";
    for options in [Options::default(), Options::full()] {
        let mut run = Run::with(text, &options);
        let values = |run: &mut Run| {
            let names = run.new.state.globals.clone();
            let value = |name: &String| run.instance.get_global(&mut run.store, name).unwrap();
            let globals: Vec<_> = names.iter().map(value).collect();
            globals.into_iter().map(|global| format!("{:?}", global.get(&mut run.store))).collect::<Vec<_>>()
        };
        let (save, restore) =
            (run.new.state.save_globals.clone().unwrap(), run.new.state.restore_globals.clone().unwrap());
        run.call_i32("change", 9);
        let saved = values(&mut run);
        assert_eq!(saved.len(), 7);
        run.call(&save, &[]).unwrap();
        run.call_i32("change", 10);
        assert_ne!(values(&mut run), saved);
        run.call(&restore, &[]).unwrap();
        assert_eq!(values(&mut run), saved);
        assert_eq!(run.call_i32("is_a", 9)[0].i32(), Some(1));
    }
    assert_eq!(Run::text("(module (global i32 (i32.const 1)))").new.state.restore_globals, None);
}

#[test]
fn a_host_can_end_an_unreachable_at_less_cost() {
    let text = "(module (func (export \"f\") (param i32) (if (local.get 0) (then unreachable))))";
    let mut run = Run::with(text, &Options::full());
    let trap = |run: &mut Run| run.call("f", &[Val::I32(1)]).unwrap_err();
    // Unless the host does something, it is the trap that it was.
    assert_eq!(trap(&mut run).downcast_ref::<Trap>(), Some(&Trap::UnreachableCodeReached));
    let name = run.new.injected.trap_table_export.clone().unwrap();
    let table = run.instance.get_table(&mut run.store, &name).unwrap();
    let own = Func::wrap(&mut run.store, || -> Result<()> { Err(Error::msg("ours")) });
    table.set(&mut run.store, 0, Ref::Func(Some(own))).unwrap();
    let error = trap(&mut run);
    assert!(error.downcast_ref::<Trap>().is_none());
    assert_eq!(error.root_cause().to_string(), "ours");
    let offset = error.downcast_ref::<WasmBacktrace>().unwrap().frames()[0].module_offset().unwrap();
    let original = run.new.offsets.original(offset as u32).unwrap() as usize;
    assert_eq!(wat::parse_str(text).unwrap()[original], 0, "the frame is that of the operator");
    run.call_i32("f", 0);
}
