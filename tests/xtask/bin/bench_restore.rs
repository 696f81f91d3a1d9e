//! What going back to the initial state costs: `cargo build --release --workspace && target/release/bench-restore`.
//!
//! CPU time of the executing thread, medians over rounds in which all guests have their turn, so that what else the machine does
//! meets all of them. Arguments pick the guests whose names contain one of them.

use cpu_time::ThreadTime;
use fuzzbox::sandbox::{Executor, Target, Variant};
use fuzzbox::settings::Settings;
use std::sync::Arc;
use std::time::Duration;

const ROUNDS: usize = 15;
const ROUND_TIME: Duration = Duration::from_millis(20);
/// Executions before anything is measured: what is rarely written is demoted by then.
const WARM_UP: u32 = 5_000;

/// A guest to measure.
struct Guest {
    name: String,
    /// Pages of 4 KiB that each execution writes, beside those that the empty guest writes.
    pages: u32,
    wat: String,
}

impl Guest {
    fn new(name: &str, pages: u32, wat: String) -> Self {
        Self { name: name.to_owned(), pages, wat }
    }

    /// Writes one word in each of `pages` pages, `stride` pages apart; its memory holds `fill` everywhere.
    fn that_writes(pages: u32, stride: u32, fill: u8) -> Self {
        let apart = if stride == 1 { "adjacent" } else { "apart" };
        let holds = if fill == 0 { "of zeros" } else { "of data" };
        let store = format!(
            "(local $at i32)
            (loop $again
                (i32.store offset=64 (local.get $at) (i32.const 7))
                (local.set $at (i32.add (local.get $at) (i32.const {})))
                (br_if $again (i32.lt_u (local.get $at) (i32.const {}))))",
            4096 * stride,
            4096 * stride * pages,
        );
        let name = format!("{pages} pages {holds}, {apart}");
        Self::new(&name, pages, harness((pages * stride).div_ceil(16).max(1), fill, &store))
    }
}

/// A module with so many pages of 64 KiB, which `body` is to write to.
fn harness(memory: u32, fill: u8, body: &str) -> String {
    format!(
        "(module
            (memory (export \"memory\") {memory})
            (func $start
                (if (i32.const {fill}) (then
                    (memory.fill (i32.const 0) (i32.const {fill}) (i32.const {}))
                )))
            (start $start)
            (func (export \"LLVMFuzzerTestOneInput\") (param $data i32) (param $size i32) (result i32)
                {body}
                (i32.const 0)))",
        u64::from(memory) << 16
    )
}

fn guests() -> Vec<Guest> {
    let mut guests = vec![Guest::new("empty", 0, harness(1, 0, ""))];
    for pages in [1, 10, 100, 1_000] {
        for (stride, fill) in [(1, 0), (1, 5), (2, 0), (2, 5)] {
            guests.push(Guest::that_writes(pages, stride, fill));
        }
    }
    let other = "(i32.store
        (i32.mul (i32.rem_u (i32.mul (i32.load (local.get $data)) (i32.const 7919)) (i32.const 16001)) (i32.const 4096))
        (i32.const 7))";
    guests.push(Guest::new("another page each time", 1, harness(1024, 0, other)));
    for (pages, writes) in [(1, 1), (1, 16), (16, 1), (16, 256), (64, 64), (64, 1024)] {
        let grow = format!(
            "(local $at i32) (local $end i32)
            (local.set $at (i32.mul (i32.const 65536) (memory.grow (i32.const {pages}))))
            (local.set $end (i32.add (local.get $at) (i32.const {})))
            (loop $again
                (i32.store (local.get $at) (i32.const 7))
                (local.set $at (i32.add (local.get $at) (i32.const 4096)))
                (br_if $again (i32.lt_u (local.get $at) (local.get $end))))",
            4096 * writes,
        );
        let name = format!("grows by {} KiB, writes {writes} pages of it", 64 * pages);
        guests.push(Guest::new(&name, writes, harness(1, 0, &grow)));
    }
    guests
}

/// An executor that is measured.
struct Bench {
    guest: Guest,
    executor: Executor,
    next_input: u32,
    executions: u32,
    /// Nanoseconds per execution, by round.
    times: Vec<f64>,
}

impl Bench {
    fn new(guest: Guest) -> Self {
        let settings = Settings { input_bytes_max: 4096, ..Settings::default() };
        let target =
            Target::load_variant(guest.wat.as_bytes(), settings, Variant::Full).expect("the guest is a target");
        let executor = Executor::new(&Arc::new(target)).expect("the guest can be instantiated");
        let mut bench = Self { guest, executor, next_input: 0, executions: 0, times: Vec::new() };
        bench.run(WARM_UP);
        bench.executions = 100;
        while bench.run(bench.executions) < ROUND_TIME {
            bench.executions += bench.executions / 4;
        }
        bench
    }

    fn run(&mut self, executions: u32) -> Duration {
        let start = ThreadTime::now();
        for _ in 0..executions {
            self.next_input = self.next_input.wrapping_add(1);
            let outcome = self.executor.run(&self.next_input.to_le_bytes()).expect("the host doesn't fail");
            assert_eq!(outcome.name(), "ok");
        }
        start.elapsed()
    }

    fn round(&mut self) {
        let time = self.run(self.executions);
        self.times.push(time.as_nanos() as f64 / f64::from(self.executions));
    }

    fn median(&mut self) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[self.times.len() / 2]
    }
}

fn main() {
    let wanted: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |guest: &Guest| {
        wanted.is_empty() || guest.name == "empty" || wanted.iter().any(|wanted| guest.name.contains(wanted))
    };
    let mut benches: Vec<_> = guests().into_iter().filter(is_wanted).map(Bench::new).collect();
    for _ in 0..ROUNDS {
        benches.iter_mut().for_each(Bench::round);
    }
    let empty = benches[0].median();
    println!("{:44} {:>12} {:>14}", "guest", "ns/execution", "ns/page beyond");
    for bench in &mut benches {
        let time = bench.median();
        let page = if bench.guest.pages == 0 { String::new() } else { per_page(time - empty, bench.guest.pages) };
        println!("{:44} {time:>12.0} {page:>14}", bench.guest.name);
    }
}

fn per_page(time: f64, pages: u32) -> String {
    format!("{:.0}", time / f64::from(pages))
}
