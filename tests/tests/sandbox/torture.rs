//! Guests that do their worst: each ends as the outcome that it should be, in every variant and in campaigns; the host is
//! unharmed, executes what is harmless as ever, and has its memory back.

use fuzzbox::outcome::{FailureKind, Outcome, TrapKind, Verdict};
use fuzzbox::sandbox::{Executor, THREAD_STACK_BYTES, Target, Variant, Watchdog};
use fuzzbox::settings::Settings;
use fuzzbox_instrument::EdgeSet;
use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::show;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is resident may be so much more after all executions of a guest than after some, in bytes.
const GROWTH_MAX: u64 = 64 << 20;

/// After this, guests without fuel are interrupted.
const TIME: Duration = Duration::from_millis(10);

/// Set in a process that runs one test alone.
const ALONE: &str = "FUZZBOX_TEST_ALONE";

/// A guest that is harmless if the input is empty.
struct Torture {
    name: &'static str,
    declarations: String,
    body: String,
    settings: Settings,
    /// Executions in each variant.
    execs: usize,
    /// How it ends where there is fuel.
    metered: End,
    /// How it ends elsewhere.
    quick: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Ok,
    Hang,
    Interrupted,
    OutOfMemory,
    Crash(TrapKind),
}

impl End {
    fn of(outcome: &Outcome) -> Self {
        match outcome.verdict() {
            Verdict::Passed | Verdict::NoCase => Self::Ok,
            Verdict::Failed(FailureKind::Crash, trap) => Self::Crash(trap.kind),
            Verdict::Failed(FailureKind::Hang, _) => Self::Hang,
            Verdict::Failed(FailureKind::OutOfMemory, _) => Self::OutOfMemory,
            Verdict::Unknown => Self::Interrupted,
            Verdict::Failed(FailureKind::Difference, _) => panic!("nothing is compared"),
        }
    }

    /// How `fuzzbox run` calls it.
    fn kind(self) -> Option<&'static str> {
        match self {
            Self::Ok => None,
            Self::Hang | Self::Interrupted => Some("hang"),
            Self::OutOfMemory => Some("oom"),
            Self::Crash(_) => Some("crash"),
        }
    }
}

impl Torture {
    fn new(name: &'static str, declarations: &str, body: &str, execs: usize, metered: End, quick: End) -> Self {
        let settings =
            Settings { fuel_max: 20_000_000, memory_bytes_max: 96 << 20, input_bytes_max: 4096, ..Settings::default() };
        Self { name, declarations: declarations.into(), body: body.into(), settings, execs, metered, quick }
    }

    /// Recursion with so many locals in each frame, which it takes fuel to fill; so many of them live.
    fn with_locals(name: &'static str, count: u32, live: u32, execs: usize) -> Self {
        let overflow = End::Crash(TrapKind::StackOverflow);
        let call = "(drop (call $deeper (i32.const 1)))";
        let torture = Self::new(name, &recursion_with_locals(count, live), call, execs, overflow, overflow);
        Self { settings: Settings { fuel_max: 2_000_000_000, ..torture.settings }, ..torture }
    }

    fn module(&self) -> Vec<u8> {
        let Self { declarations, body, .. } = self;
        let text = format!(
            r#"(module
                (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
                (memory $memory (export "memory") 20)
                {declarations}
                (func $torture (local $at i32) {body})
                (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                    (if (local.get 1) (then (call $torture)))
                    (i32.const 0)))"#
        );
        wat::parse_str(text).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

fn all() -> Vec<Torture> {
    let overflow = End::Crash(TrapKind::StackOverflow);
    let unreachable = End::Crash(TrapKind::Unreachable);
    let mut all = vec![
        Torture::new("loop", "", "(loop (br 0))", 20, End::Hang, End::Interrupted),
        Torture::new(
            "loop with calls",
            "(func $leaf (param i32) (result i32) (i32.mul (local.get 0) (i32.const 7)))",
            "(loop (local.set $at (call $leaf (local.get $at))) (br 0))",
            20,
            End::Hang,
            End::Interrupted,
        ),
        Torture::new("recursion", "(func $deeper (call $deeper))", "(call $deeper)", 50, overflow, overflow),
        Torture::with_locals("recursion with large frames", 1_000, 1_000, 12),
        Torture::new(
            "endless tail calls",
            "(func $deeper (return_call $deeper))",
            "(call $deeper)",
            20,
            End::Hang,
            End::Interrupted,
        ),
        Torture::new(
            "memory bomb",
            "",
            "(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
             (memory.fill (i32.const 65536) (i32.const 1) (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 65536)))
             unreachable",
            12,
            End::OutOfMemory,
            End::OutOfMemory,
        ),
        Torture::new(
            "table bomb",
            "(table $table 1 funcref)",
            "(loop (br_if 0 (i32.ne (table.grow $table (ref.null func) (i32.const 10000)) (i32.const -1)))) unreachable",
            12,
            unreachable,
            unreachable,
        ),
        Torture::new("unreachable", "", "unreachable", 3_000, unreachable, unreachable),
        Torture::new(
            "fault",
            "",
            "(drop (i32.load (i32.const 0x7fffffff)))",
            3_000,
            End::Crash(TrapKind::MemoryOutOfBounds),
            End::Crash(TrapKind::MemoryOutOfBounds),
        ),
    ];
    // Each growth that is refused is a call of the host, which takes far longer than its fuel says.
    let growth = Torture::new(
        "memory bomb that goes on",
        "",
        "(loop (drop (memory.grow (i32.const 16))) (br 0))",
        4,
        End::Hang,
        End::Interrupted,
    );
    let settings = Settings { fuel_max: 1_000_000, ..growth.settings.clone() };
    all.push(Torture { settings, ..growth });
    // A buffer of 1 MiB, 1024 times.
    let output = Torture::new(
        "1 GiB of output",
        "",
        "(i32.store (i32.const 4) (i32.const 1048576))
         (local.set $at (i32.const 1024))
         (loop (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)))
             (br_if 0 (local.tee $at (i32.sub (local.get $at) (i32.const 1)))))",
        3,
        End::Ok,
        End::Ok,
    );
    let settings = Settings { fuel_max: u32::MAX.into(), ..output.settings.clone() };
    all.push(Torture { settings, ..output });
    all
}

/// A function `$deeper` with so many locals, the first of which live over the call of itself.
fn recursion_with_locals(count: u32, live: u32) -> String {
    let mut text = String::from("(func $deeper (param i32) (result i32) (local");
    (0..count).for_each(|_| text.push_str(" i32"));
    text.push(')');
    for local in 1..=live {
        let _ = write!(text, "(local.set {local} (i32.load offset={} (local.get 0)))", 4 * local);
    }
    text.push_str("(call $deeper (i32.const 0))");
    for local in 1..=live {
        let _ = write!(text, "(i32.add (local.get {local}))");
    }
    text.push(')');
    text
}

/// What is resident of this process, in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("linux");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("the second number") * 4096
}

fn variants(metered: &Target) -> [Variant; 4] {
    let some: EdgeSet = (0..metered.edges.edges.len() as u32).filter(|edge| edge % 3 == 0).collect();
    [Variant::Metered, Variant::Full, Variant::Fast(some), Variant::Traced]
}

/// Runs a test that looks at its process in one of its own: what others need at the same time is not what it leaves
/// behind. There it runs on a thread where executions start none.
fn in_process_of_its_own(test: impl FnOnce() + Send + 'static) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    // On the main thread tests run one after the other.
    if std::env::var_os(ALONE).is_some() || name == "main" {
        let thread = std::thread::Builder::new().stack_size(THREAD_STACK_BYTES).spawn(test).unwrap();
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        return;
    }
    let mut alone = Command::new(std::env::current_exe().unwrap());
    let ran = alone.args([&name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}

#[test]
fn every_torture_ends_as_it_should_and_leaves_nothing_behind() {
    in_process_of_its_own(|| all().iter().for_each(run));
}

fn run(torture: &Torture) {
    let metered = Arc::new(Target::load(&torture.module(), torture.settings.clone()).unwrap());
    let watchdog = Watchdog::new(TIME).unwrap();
    for variant in variants(&metered) {
        let about = format!("{}, {variant:?}", torture.name);
        let is_quick = matches!(variant, Variant::Full | Variant::Fast(_));
        let end = if is_quick { torture.quick } else { torture.metered };
        let target = Arc::new(metered.in_variant(variant).unwrap());
        let mut executor = Executor::new(&target).unwrap();
        // Bombs take their time as well.
        if end == End::Interrupted {
            watchdog.watch(executor.interrupter());
        }
        let harmless = show(&mut Executor::new(&target).unwrap(), b"");
        assert_eq!(harmless.outcome, Outcome::Ok, "{about}");
        let (mut before, mut keys) = (0, Vec::new());
        let begun = Instant::now();
        for exec in 0..torture.execs {
            let outcome = executor.run(b"x").unwrap();
            assert_eq!(End::of(&outcome), end, "{about}: {outcome:?}");
            keys.push(executor.stack_key());
            // The first executions take what is kept.
            if exec == 2 {
                assert_eq!(show(&mut executor, b""), harmless, "{about}");
                before = resident();
            }
        }
        let time = begun.elapsed() / u32::try_from(torture.execs).unwrap();
        assert_eq!(show(&mut executor, b""), harmless, "{about}: the host is harmed");
        let after = resident();
        assert!(after < before + GROWTH_MAX, "{about}: {before} bytes were resident, then {after}");
        println!("{about}: {time:?} each, {:+} KiB", (after as i64 - before as i64) >> 10);
        if end == End::Crash(TrapKind::Unreachable) && is_quick {
            assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "{about}: {:?}", keys[0]);
        }
    }
}

/// Whole campaigns of `fuzzbox run`, with one worker and with two.
#[test]
fn campaigns_find_every_torture_and_end() {
    for torture in all() {
        let fuzzbox = Fuzzbox::new();
        std::fs::write(fuzzbox.dir().join("torture.wasm"), torture.module()).unwrap();
        let execs = if torture.metered == End::Ok { "3" } else { "40" };
        let fuel = torture.settings.fuel_max.to_string();
        let campaign = |jobs| {
            let flags = ["-n", execs, "--seed", "1", "-j", jobs, "--reporter", "json", "--memory-max", "96MiB"];
            let begun = Instant::now();
            let ran = fuzzbox.run("run", &["torture.wasm"], &[&flags[..], &["--fuel-max", &fuel]].concat());
            println!("{}, {jobs} jobs: {:?}", torture.name, begun.elapsed());
            let lines = ran.json_lines();
            let done = lines.last().unwrap_or_else(|| panic!("{ran:?}")).clone();
            assert_eq!(done["execs"].to_string(), execs, "{}: {ran:?}", torture.name);
            let findings = done["findings"].as_array().unwrap();
            let kinds: Vec<_> = findings.iter().map(|finding| finding["kind"].as_str().unwrap()).collect();
            let expected: Vec<_> = torture.metered.kind().into_iter().collect();
            assert_eq!((ran.code, &kinds), (i32::from(!kinds.is_empty()), &expected), "{}: {ran:?}", torture.name);
            done["corpus_hash"].clone()
        };
        let one = campaign("1");
        fuzzbox.delete("targets");
        assert_eq!(one, campaign("2"), "{}", torture.name);
    }
}

/// Loads what is no target, and gives the error.
fn refusal(module: &[u8]) -> String {
    let begun = Instant::now();
    let settings = Settings { fuel_max: 20_000_000, input_bytes_max: 4096, ..Settings::default() };
    let error = format!("{:#}", Target::load(module, settings).map(drop).unwrap_err());
    println!("refused after {:?}: {}", begun.elapsed(), error.chars().take(200).collect::<String>());
    assert!(error.len() < 2_000, "{error}");
    error
}

const HARNESS: &str = r#"(func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0))"#;

/// A module with one function `body` beside the harness.
fn module_with(locals: u32, body: &[u8]) -> Vec<u8> {
    use wasm_encoder::{
        CodeSection, ExportKind, ExportSection, Function, FunctionSection, MemorySection, MemoryType, Module,
        TypeSection, ValType,
    };
    let mut types = TypeSection::new();
    types.ty().function([], []);
    types.ty().function([ValType::I32, ValType::I32], [ValType::I32]);
    let mut functions = FunctionSection::new();
    functions.function(0).function(1);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None });
    let mut exports = ExportSection::new();
    exports.export("LLVMFuzzerTestOneInput", ExportKind::Func, 1);
    let mut function = Function::new([(locals, ValType::I32)]);
    function.raw(body.iter().copied());
    let mut harness = Function::new([]);
    harness.instructions().i32_const(0).end();
    let mut code = CodeSection::new();
    code.function(&function).function(&harness);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&memories).section(&exports).section(&code);
    module.finish()
}

#[test]
fn what_is_larger_than_engines_accept_is_refused_with_the_reason() {
    in_process_of_its_own(|| {
        let locals = refusal(&module_with(100_000, &[0x0b]));
        assert!(locals.contains("locals"), "{locals}");
        let mut body = vec![0x01; 50_000_000];
        body.push(0x0b);
        let before = resident();
        let function = refusal(&module_with(0, &body));
        assert!(function.contains("size"), "{function}");
        drop(body);
        assert!(resident() < before + GROWTH_MAX);
    });
}

#[test]
fn as_many_locals_as_engines_accept_are_executed() {
    in_process_of_its_own(|| {
        let begun = Instant::now();
        run(&Torture::with_locals("49,999 locals", 49_999, 500, 4));
        println!("49,999 locals took {:?}", begun.elapsed());
    });
}

#[test]
fn what_never_gets_ready_is_refused() {
    in_process_of_its_own(|| {
        // An operator that takes much fuel in little time.
        let endless = "(loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 32768)) (br 0))";
        let deep = "(call $deeper)";
        let declarations = "(memory 1) (func $deeper (call $deeper))";
        for (body, says) in
            [(endless, "4000000000 units of fuel"), (deep, "65536 calls"), ("unreachable", "wasm `unreachable`")]
        {
            let start = format!("(module {declarations} (func $start {body}) (start $start) {HARNESS})");
            let initialise = format!(r#"(module {declarations} (func (export "_initialize") {body}) {HARNESS})"#);
            for module in [start, initialise] {
                let error = refusal(module.as_bytes());
                assert!(error.contains("before it is given any input") && error.contains(says), "{error}");
            }
        }
    });
}
