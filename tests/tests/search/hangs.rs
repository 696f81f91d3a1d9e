//! Whatever the guest does, somebody can end it: also in the variants that have no fuel.

use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Executor, Interrupter, THREAD_STACK_BYTES, Target, Variant};
use fuzzbox::settings::Settings;
use fuzzbox_instrument::EdgeSet;
use fuzzbox_tests::random::Random;
use fuzzbox_tests::{Shown, interrupt_until_over, show};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What makes no progress for so long hangs. No step of a test takes a hundredth of it.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Guests whose function `$guest` is endless if its argument is not 0. It sets `$reached` before it is, so that the state
/// tells whether the execution came to where it is endless.
const GUESTS: [(&str, &str); 14] = [
    ("loop", "(func $guest (param i32) (global.set $reached (local.get 0)) (loop (br_if 0 (local.get 0))))"),
    (
        "loop in loop",
        "(func $guest (param i32)
            (loop $outer
                (global.set $reached (local.get 0))
                (loop $inner (br_if $inner (local.get 0)))
                (br_if $outer (local.get 0))))",
    ),
    (
        "loop in loop, behind a tail call",
        "(func $guest (param i32) (return_call $entered (local.get 0)))
         (func $entered (param i32)
            (loop $outer
                (global.set $reached (local.get 0))
                (loop $inner (br_if $inner (local.get 0)))
                (br_if $outer (local.get 0))))",
    ),
    (
        "loop after loop",
        "(func $guest (param i32) (local $passes i32)
            (loop $first
                (local.set $passes (i32.add (local.get $passes) (i32.const 1)))
                (br_if $first (i32.lt_u (local.get $passes) (i32.const 10))))
            (global.set $reached (local.get 0))
            (loop $second (br_if $second (local.get 0))))",
    ),
    (
        "return_call cycle",
        "(func $guest (param i32) (global.set $reached (local.get 0)) (return_call $one (local.get 0)))
         (func $one (param i32) (if (local.get 0) (then (return_call $other (local.get 0)))))
         (func $other (param i32) (return_call $one (local.get 0)))",
    ),
    (
        "return_call_indirect to itself",
        "(table funcref (elem $self)) (type $t (func (param i32)))
         (func $guest (param i32) (global.set $reached (local.get 0)) (call $self (local.get 0)))
         (func $self (param i32)
            (if (local.get 0) (then (return_call_indirect (type $t) (local.get 0) (i32.const 0)))))",
    ),
    (
        "return_call_ref to itself",
        "(elem declare func $self) (type $t (func (param i32)))
         (func $guest (param i32) (global.set $reached (local.get 0)) (call $self (local.get 0)))
         (func $self (type $t) (if (local.get 0) (then (return_call_ref $t (local.get 0) (ref.func $self)))))",
    ),
    (
        "br_table",
        "(func $guest (param i32)
            (global.set $reached (local.get 0))
            (block $end (loop $again (br_table $end $again $again (local.get 0)))))",
    ),
    (
        "calls in a loop",
        "(func $guest (param i32) (global.set $reached (local.get 0)) (loop (call $leaf) (br_if 0 (local.get 0))))
         (func $leaf)",
    ),
    (
        "a loop in a function that may be put in the place of its call",
        "(func $guest (param i32) (global.set $reached (local.get 0)) (loop (call $short (local.get 0)) (br_if 0 (local.get 0))))
         (func $short (param i32) (loop (br_if 0 (i32.eq (local.get 0) (i32.const 1)))))",
    ),
    (
        "nearly all time in a library function",
        "(func $guest (param i32)
            (global.set $reached (local.get 0))
            (loop
                (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536))
                (br_if 0 (local.get 0))))",
    ),
    (
        "copies that compilers could know",
        "(func $guest (param i32)
            (global.set $reached (local.get 0))
            (loop
                (memory.copy (i32.const 0) (i32.const 64) (i32.const 64))
                (br_if 0 (local.get 0))))",
    ),
    (
        "growth that is refused",
        "(func $guest (param i32)
            (global.set $reached (local.get 0))
            (loop (drop (memory.grow (i32.const 65535))) (br_if 0 (local.get 0))))",
    ),
    (
        "allocation",
        "(type $a (array i8))
         (func $guest (param i32)
            (global.set $reached (local.get 0))
            (loop (drop (array.new_default $a (i32.const 1000))) (br_if 0 (local.get 0))))",
    ),
];

/// A harness that is endless if the input begins with a byte that is not 0.
fn harness(functions: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
            (memory (export "memory") 1)
            (global $reached (mut i32) (i32.const 0))
            {functions}
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (local.get $size) (then (call $guest (i32.load8_u (local.get $data)))))
                (i32.const 0)))"#
    );
    wat::parse_str(text).unwrap()
}

fn settings() -> Settings {
    Settings { fuel_max: 100_000, memory_bytes_max: 32 << 20, input_bytes_max: 4096, ..Settings::default() }
}

/// Full, and fast with no edge, some and all that are of interest.
fn variants(metered: &Target) -> Vec<Variant> {
    let edges = 0..metered.edges.edges.len() as u32;
    let some: EdgeSet = edges.clone().filter(|edge| edge % 3 == 1).collect();
    vec![Variant::Full, Variant::Fast(EdgeSet::default()), Variant::Fast(some), Variant::Fast(edges.collect())]
}

/// Runs a closure in a thread whose stack is large enough for guests. A test that waits for what it gives with
/// [`TIMEOUT`] fails where it would hang.
fn in_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().stack_size(THREAD_STACK_BYTES);
    thread.spawn(move || drop(sender.send(work()))).unwrap();
    receiver
}

fn spin(rounds: u32) {
    (0..rounds).for_each(|_| std::hint::spin_loop());
}

/// Executes `input` while another thread interrupts it, not before it has waited for some time. `None` if the guest goes on.
fn run_interrupted(mut executor: Executor, input: &'static [u8], patience: u32) -> Option<(Executor, Outcome)> {
    let interrupter = executor.interrupter();
    let running = in_thread(move || {
        let outcome = executor.run(input).expect("the host doesn't fail");
        (executor, outcome)
    });
    let begun = Instant::now();
    while interrupter.running().is_none() {
        assert!(begun.elapsed() < TIMEOUT, "the guest was never called");
        std::thread::yield_now();
    }
    spin(patience);
    assert!(interrupter.interrupt().unwrap(), "the guest was running and is endless");
    // It may not have been in the guest's code, so this is repeated until it ends.
    while begun.elapsed() < TIMEOUT {
        match running.recv_timeout(Duration::from_millis(1)) {
            Ok(ended) => return Some(ended),
            Err(RecvTimeoutError::Timeout) => {
                assert!(!interrupter.interrupt().unwrap(), "it can't be interrupted twice")
            }
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}

#[test]
fn endless_guests_are_interrupted_in_full_and_in_fast_and_leave_nothing_behind() {
    for (name, functions) in GUESTS {
        let wasm = harness(functions);
        let metered = Arc::new(Target::load(&wasm, settings()).unwrap());
        let mut executor = Executor::new(&metered).unwrap();
        let hang = show(&mut executor, b"\x01");
        assert!(hang.outcome.is_hang(), "{name}: {:?}", hang.outcome);
        for variant in variants(&metered) {
            let about = format!("{name}, {variant:?}");
            let target = Arc::new(metered.in_variant(variant).unwrap());
            let harmless = show(&mut Executor::new(&target).unwrap(), b"\x00");
            assert_eq!(harmless.outcome, Outcome::Ok, "{about}");

            let mut executor = Executor::new(&target).unwrap();
            let (begun, mut patience, mut reached) = (Instant::now(), 0, false);
            while !reached {
                assert!(begun.elapsed() < TIMEOUT, "{about}: it never came to where it is endless");
                let run = run_interrupted(executor, b"\x01", patience);
                let (back, outcome) = run.unwrap_or_else(|| panic!("{about}: it was interrupted and goes on"));
                executor = back;
                assert_eq!(outcome, Outcome::Interrupted, "{about}");
                // It has done what the one that ran out of fuel had done.
                reached = executor.state_hash() == hang.state;
                assert_eq!(show(&mut executor, b"\x00"), harmless, "{about}");
                patience = patience * 2 + 1_000;
            }
        }
    }
}

#[test]
fn only_the_execution_that_is_meant_is_interrupted() {
    let target = Arc::new(Target::load_variant(&harness(GUESTS[0].1), settings(), Variant::Full).unwrap());
    let mut executor = Executor::new(&target).unwrap();
    let interrupter = executor.interrupter();
    assert_eq!(interrupter.running(), None);
    assert!(!interrupter.interrupt().unwrap(), "nothing runs");
    assert_eq!(executor.run(b"").unwrap(), Outcome::Ok);

    let running = in_thread(move || {
        let outcomes = [executor.run(b"\x01").unwrap(), executor.run(b"\x01").unwrap()];
        drop(executor);
        outcomes
    });
    let begun = Instant::now();
    let wait = |different: Option<_>| loop {
        assert!(begun.elapsed() < TIMEOUT, "the guest was never called");
        match interrupter.running() {
            Some(execution) if Some(execution) != different => return execution,
            _ => std::thread::yield_now(),
        }
    };
    let first = wait(None);
    interrupt_until_over(&interrupter, first);
    let second = wait(Some(first));
    assert!(!interrupter.interrupt_only(first).unwrap(), "it is over");
    interrupt_until_over(&interrupter, second);
    let outcomes = running.recv_timeout(TIMEOUT).expect("what was interrupted ends");
    assert_eq!(outcomes, [Outcome::Interrupted, Outcome::Interrupted]);
    assert!(!interrupter.interrupt().unwrap(), "there is no executor any more");
}

#[test]
fn endless_initialisers_are_refused_in_every_variant() {
    // An operator that takes much fuel in little time.
    let endless = "(loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 32768)) (br 0))";
    let harness = r#"(func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0))"#;
    let start = format!("(module (memory 1) (func $start {endless}) (start $start) {harness})");
    let initialize = format!(r#"(module (memory 1) (func (export "_initialize") {endless}) {harness})"#);
    let loads = [(start, Variant::Full), (initialize, Variant::Fast(EdgeSet::default()))]
        .map(|(text, variant)| in_thread(move || Target::load_variant(text.as_bytes(), settings(), variant).map(drop)));
    for load in loads {
        let error = load.recv_timeout(TIMEOUT).expect("loading ends").unwrap_err();
        assert!(error.to_string().contains("before it is given any input"), "{error:#}");
    }
}

/// How many functions `many_functions` has.
const FUNCTIONS: u32 = 2_048;

/// A guest with counters on many pages: each two bytes of the input choose one of its functions.
fn many_functions() -> Vec<u8> {
    let mut text = String::from("(module (memory (export \"memory\") 3) (type $t (func (param i32)))");
    for function in 0..FUNCTIONS {
        let address = function * 67;
        let _ = write!(
            text,
            "(func $f{function} (type $t)
                (loop $again
                    (if (i32.and (local.get 0) (i32.const 1))
                        (then (i32.store8 (i32.const {address}) (local.get 0)))
                        (else (i32.store8 (i32.const {}) (local.get 0))))
                    (br_if $again (local.tee 0 (i32.shr_u (local.get 0) (i32.const 1))))))",
            address + 4_096
        );
    }
    text.push_str("(table funcref (elem");
    for function in 0..FUNCTIONS {
        let _ = write!(text, " $f{function}");
    }
    text.push_str(
        r#"))
        (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
            (local $at i32) (local $word i32)
            (block $end
                (loop $next
                    (br_if $end (i32.ge_u (i32.add (local.get $at) (i32.const 1)) (local.get $size)))
                    (local.set $word (i32.load16_u (i32.add (local.get $data) (local.get $at))))
                    (call_indirect (type $t) (local.get $word) (i32.and (local.get $word) (i32.const 2047)))
                    (local.set $at (i32.add (local.get $at) (i32.const 2)))
                    (br $next)))
            (i32.const 0)))"#,
    );
    wat::parse_str(text).unwrap()
}

/// The torture goes on for so many outcomes of each kind, ...
const TORTURE: usize = 3_000;
/// ... or for so many executions, on machines where threads take turns and rarely meet.
const EXECUTIONS_MAX: usize = 40_000;
/// Executions after which an executor is replaced by a new one, whose pages are all cold.
const EXECUTOR_LIFE: usize = 50;
/// One in so many of the others is compared with a fresh one in all that it shows; the rest in outcome and state.
const ALL_SHOWN: u64 = 8;

#[test]
fn interruptions_at_any_moment_change_nothing_but_the_execution_they_meet() {
    let metered = Arc::new(Target::load(&many_functions(), settings()).unwrap());
    let edges = metered.edges.edges.len() as u32;
    for variant in [Variant::Full, Variant::Fast((0..edges).filter(|edge| edge % 5 != 0).collect())] {
        let target = Arc::new(metered.in_variant(variant).unwrap());
        let progress = Arc::new(AtomicUsize::new(0));
        let executions = progress.clone();
        let torture = in_thread(move || torture(&target, &executions));
        let [interrupted, not] = loop {
            let before = progress.load(SeqCst);
            match torture.recv_timeout(TIMEOUT) {
                Ok(counts) => break counts,
                Err(RecvTimeoutError::Timeout) => assert_ne!(progress.load(SeqCst), before, "an execution goes on"),
                Err(RecvTimeoutError::Disconnected) => panic!("the torture failed"),
            }
        };
        assert!(interrupted > 0 && not > 0);
        println!("{interrupted} executions were interrupted, {not} not");
    }
}

fn edges(executor: &Executor) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    executor.observation().edges(|edge, count| edges.push((edge, count)));
    edges.sort_unstable();
    edges
}

/// Executes short inputs while another thread interrupts. Returns how many executions were interrupted, and how many not.
fn torture(target: &Arc<Target>, progress: &AtomicUsize) -> [usize; 2] {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let inputs: Vec<Vec<u8>> =
        (0..24).map(|index| (0..20 * index).map(|_| random.below(256) as u8).collect()).collect();
    let expected: Vec<Shown> = inputs.iter().map(|input| show(&mut Executor::new(target).unwrap(), input)).collect();

    let mut executor = Executor::new(target).unwrap();
    let present: Mutex<Interrupter> = Mutex::new(executor.interrupter());
    let (stop, successes) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut counts = [0; 2];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut random, mut waited) = (Random(7), 0_u32);
            while !stop.load(SeqCst) {
                let interrupter = present.lock().unwrap().clone();
                let Some(execution) = interrupter.running() else {
                    // Waits awake, to be in time, but not for long: there may be one core for both.
                    waited += 1;
                    if waited % 1_000 == 0 {
                        std::thread::yield_now()
                    } else {
                        std::hint::spin_loop()
                    }
                    continue;
                };
                if random.below(2) == 0 {
                    // This one is left alone.
                    while interrupter.running() == Some(execution) {
                        std::thread::yield_now();
                    }
                    continue;
                }
                spin(random.below(400) as u32);
                successes.fetch_add(usize::from(interrupter.interrupt().unwrap()), SeqCst);
            }
        });
        let mut executions = 0;
        while counts.contains(&0) || executions < EXECUTIONS_MAX && counts.iter().any(|&count| count < TORTURE) {
            let input = executions % inputs.len();
            let outcome = executor.run(&inputs[input]).unwrap();
            let interrupted = outcome == Outcome::Interrupted;
            counts[usize::from(!interrupted)] += 1;
            let fresh = &expected[input];
            let mut same = outcome == fresh.outcome && executor.state_hash() == fresh.state;
            if random.below(ALL_SHOWN) == 0 {
                same &= edges(&executor) == fresh.edges;
            }
            if !interrupted && !same {
                stop.store(true, SeqCst);
                panic!("input {input} does something else than in a new instance: {outcome:?}");
            }
            executions += 1;
            progress.store(executions, SeqCst);
            if executions.is_multiple_of(EXECUTOR_LIFE) {
                executor = Executor::new(target).unwrap();
                *present.lock().unwrap() = executor.interrupter();
            }
        }
        stop.store(true, SeqCst);
    });
    assert_eq!(successes.load(SeqCst), counts[0], "each success is an execution that was interrupted");
    counts
}
