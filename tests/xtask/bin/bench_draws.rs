//! What a draw costs: `cargo build --release --workspace && target/release/bench-draws`.
//!
//! 100 million draws of an integer each, cut into executions, because a stream has an end, and 16 to a turn of a loop: CPU time of the executing thread, medians over
//! rounds in which all have their turn. Everything between one draw and the next is in it: the guest's loop, giving it its stream, and
//! going back to the initial state. Beside it, the same module with a host function that does the same: the stream is decoded and
//! copied for each execution by the same code, it reads an index from it, checks its bounds, and appends a record of the same size.

use cpu_time::ThreadTime;
use fuzzbox::sandbox::{Executor, THREAD_STACK_BYTES, Target, Variant, compiler_settings};
use fuzzbox::settings::Settings;
use fuzzbox::stream::area::StreamArea;
use fuzzbox::stream::float::zigzag;
use fuzzbox::stream::{Choice, Rule, Tail, encode};
use fuzzbox_instrument::layout::stream as layout;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::{Caller, Engine, Linker, Module, Store, TypedFunc};

const DRAWS: u32 = 100_000_000;
const ROUNDS: u32 = 10;
/// Draws of an execution: with so many, records fit into the second-level cache of most machines.
const FEW: u32 = 8_192;
/// As many as there may be.
const MANY: u32 = 65_536;

/// Draws in a turn of the guest's loop: each turn is a span, where draws are recorded.
const TURN: u32 = 16;

/// A module that makes so many draws, so many in a turn of a loop; or as many turns of the same loop without.
fn guest(draws: u32, draw: bool, turn: u32) -> String {
    let one = if draw {
        "(call $draw_int (i64.const -1000) (i64.const 1000) (i64.const 0))"
    } else {
        "(i64.extend_i32_u (local.get $i))"
    };
    let one = format!("(local.set $sum (i64.add (local.get $sum) {one}))").repeat(turn as usize);
    let draws = draws / turn;
    format!(
        "(module
            (import \"fuzzbox_v1\" \"draw_int\" (func $draw_int (param i64 i64 i64) (result i64)))
            (memory (export \"memory\") 1)
            (func (export \"fbx_draws\") (local $i i32) (local $sum i64)
                (loop $again
                    {one}
                    (br_if $again
                        (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const {draws}))))
                (i64.store (i32.const 0) (local.get $sum))))"
    )
}

/// A stream of so many draws.
fn stream(draws: u32) -> Vec<u8> {
    encode(&(0..draws).map(|index| Choice::Index(u64::from(index) * 7919 % 2001)).collect::<Vec<_>>())
}

/// What is measured.
struct Bench {
    name: String,
    draws: u32,
    run: Box<dyn FnMut()>,
    /// Nanoseconds for each draw, by round.
    times: Vec<f64>,
}

impl Bench {
    /// Executions by an executor.
    fn executor(name: &str, variant: &Variant, draws: u32, given: bool, tail: Tail) -> Self {
        Self::of(name, variant, draws, true, TURN, given, tail)
    }

    fn of(name: &str, variant: &Variant, draws: u32, draw: bool, turn: u32, given: bool, tail: Tail) -> Self {
        let settings = Settings { fuel_max: 4_000_000_000, ..Settings::default() };
        let target = Target::load_variant(guest(draws, draw, turn).as_bytes(), settings, variant.clone());
        let mut executor = Executor::new(&Arc::new(target.expect("it is a target"))).expect("it can be instantiated");
        let (stream, rule) = (if given { stream(draws) } else { Vec::new() }, Rule { tail, ..Rule::default() });
        let run = move || {
            let outcome = executor.run_stream(&stream, &rule).expect("the host doesn't fail");
            assert_eq!(outcome.name(), "ok");
        };
        Self { name: name.to_owned(), draws, run: Box::new(run), times: Vec::new() }
    }

    /// Calls of a module that is not rewritten.
    fn host(name: &str, draws: u32) -> Self {
        let (mut store, function) = Host::instance(draws);
        let stream = stream(draws);
        let run = move || {
            store.data_mut().begin(&stream);
            function.call(&mut store, ()).expect("it does not trap");
        };
        Self { name: name.to_owned(), draws, run: Box::new(run), times: Vec::new() }
    }

    /// The host's decoding of a stream, which is a part of what executors do.
    fn decoding(draws: u32) -> Self {
        let (mut given, stream) = (StreamArea::default(), stream(draws));
        let run = move || given.set(&stream, &Rule::default());
        Self { name: "decoding alone".to_owned(), draws, run: Box::new(run), times: Vec::new() }
    }

    fn round(&mut self) {
        let executions = DRAWS / ROUNDS / self.draws;
        let start = ThreadTime::now();
        (0..executions).for_each(|_| (self.run)());
        let time: Duration = start.elapsed();
        self.times.push(time.as_nanos() as f64 / (f64::from(executions) * f64::from(self.draws)));
    }

    fn median(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}

/// The host function's side.
struct Host {
    given: StreamArea,
    /// As in the guest's area: an index in the first eight bytes of each.
    items: Vec<[u64; 2]>,
    position: usize,
    records: Vec<[u64; 5]>,
}

impl Host {
    fn instance(draws: u32) -> (Store<Self>, TypedFunc<(), ()>) {
        let wasm = wat::parse_str(guest(draws, true, TURN)).expect("it is a module");
        let engine = Engine::new(&compiler_settings()).expect("settings are fine");
        let module = Module::new(&engine, &wasm).expect("it compiles");
        let mut linker = Linker::new(&engine);
        let draw =
            |mut caller: Caller<'_, Self>, lo: i64, hi: i64, towards: i64| caller.data_mut().draw(lo, hi, towards);
        linker.func_wrap("fuzzbox_v1", "draw_int", draw).expect("it is the first");
        let host = Self { given: StreamArea::default(), items: Vec::new(), position: 0, records: Vec::new() };
        let mut store = Store::new(&engine, host);
        let instance = linker.instantiate(&mut store, &module).expect("it can be instantiated");
        let function = instance.get_typed_func(&mut store, "fbx_draws").expect("it is there");
        (store, function)
    }

    /// A stream is given.
    fn begin(&mut self, stream: &[u8]) {
        self.position = 0;
        self.records.clear();
        self.items.clear();
        self.given.set(stream, &Rule::default());
        let items = &mut self.items;
        self.given.parts(|place, bytes| {
            if place == layout::ITEMS {
                let (words, _) = bytes.as_chunks::<8>();
                let (pairs, _) = words.as_chunks::<2>();
                items.extend(pairs.iter().map(|pair| pair.map(u64::from_le_bytes)));
            }
        });
    }

    fn draw(&mut self, lo: i64, hi: i64, towards: i64) -> i64 {
        let (towards, max) = (towards.clamp(lo, hi), hi.wrapping_sub(lo).cast_unsigned());
        let index = self.items.get(self.position).map(|item| item[0]).filter(|&index| index <= max).unwrap_or(0);
        self.position += 1;
        self.records.push([1, index, lo.cast_unsigned(), hi.cast_unsigned(), towards.cast_unsigned()]);
        zigzag(index, lo, hi, towards)
    }
}

fn main() {
    // On a thread with less stack, the executor would start one of its own, and that would be measured by nobody.
    let thread = std::thread::Builder::new().stack_size(THREAD_STACK_BYTES).spawn(measure);
    thread.expect("the thread can be started").join().expect("the bench does not panic");
}

fn measure() {
    let random = Tail::Random { seed: 1, choices: u32::MAX };
    let (metered, full) = (Variant::Metered, Variant::Full);
    let mut benches = vec![
        Bench::host("host function", FEW),
        Bench::decoding(FEW),
        Bench::executor("recorded, from the stream", &metered, FEW, true, Tail::Zero),
        Bench::executor("recorded, from the stream", &metered, MANY, true, Tail::Zero),
        Bench::of("the same, a span for each", &metered, FEW, true, 1, true, Tail::Zero),
        Bench::executor("recorded, zeros", &metered, FEW, false, Tail::Zero),
        Bench::executor("recorded, random", &metered, FEW, false, random),
        Bench::of("the loop alone, metered", &metered, FEW, false, TURN, false, Tail::Zero),
        Bench::executor("read, from the stream", &full, FEW, true, Tail::Zero),
        Bench::executor("read, zeros", &full, FEW, false, Tail::Zero),
        Bench::executor("read, random", &full, FEW, false, random),
        Bench::of("the loop alone, full", &full, FEW, false, TURN, false, Tail::Zero),
    ];
    for _ in 0..ROUNDS {
        benches.iter_mut().for_each(Bench::round);
    }
    let host = benches[0].median();
    println!("{:28} {:>16} {:>8} {:>18}", "", "draws/execution", "ns/draw", "host function is");
    for bench in &benches {
        let time = bench.median();
        println!("{:28} {:>16} {time:>8.2} {:>17.1}x", bench.name, bench.draws, host / time);
    }
}
