//! `tests/guests/cxx-exceptions`: C++ as Emscripten compiles it, translated here and by Binaryen, does the same.

use std::collections::BTreeMap;

use fuzzbox_instrument::{Options, instrument, layout};
use wasmtime::{Engine, Error, Linker, Module, OptLevel, Store, ThrownException, Trap};
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder, p1, p1::WasiP1Ctx};

use crate::execution::{Random, engine};
use crate::legacy::variants;

/// Lines of programs, how the whole ends, and what it prints: `~` is a destructor, `!` in it means that an exception is
/// on its way.
const KNOWN: &[(&str, &str, &str)] = &[
    ("", "exit 0", ""),
    ("12+3*\n84/2+", "exit 0", "~0 = 9\n~0 = 4\n"),
    // A reference to a derived class caught by its base, at different distances.
    ("+", "exit 1", "~0! ! nothing left for +\n"),
    ("(((+)))", "exit 0", "~3! (3) [...+] ~2! [..+] ~1 (1) ~0 = 43\n"),
    ("(10/)", "exit 1", "~1! (1) [.division of 1] ~0! ! at depth 1 < division of 1\n"),
    ("?\n3v", "exit 2", "~0! ! unknown '?'\n~0! ! vector\n"),
    // Other types.
    ("4l\ns", "exit 2", "~0! ! 4398046511104\n~0! ! text\n"),
    ("1 (2i) +\n5i", "exit 1", "~1! (1) ~0 = 3\n~0! ! something\n"),
    ("p\nq\n(q)", "exit 3", "~0! ! plain 1\n~0! ! plain 2\n~1! (1) ~0! ! plain 1\n"),
    // Out of a constructor, whose first member is destroyed; out of `new`.
    ("8g\n7g", "exit 2", "~0! ! guard 7\n~6! ~0! ! guard 7\n"),
    ("0m\n2m", "exit 1", "~0 = 0\n~0! ! memory\n"),
    // While another is being handled, which is thrown on in the end.
    ("{s|n}", "exit 1", "~10! ~20! ~0! ! text\n"),
    ("{10/|2d}", "exit 1", "~10! [2.5] ~20! ~0! ! division of 1\n"),
    // Kept.
    ("k+ r\nkq (r)", "exit 2", "~0! ! nothing left for +\n~1! (1) ~0! ! plain 1\n"),
    // Ends in the middle.
    ("1\n{9x|2}", "exit 49", "~0 = 1\n"),
    ("1\n!", "exit 1", "~0 = 1\n"),
    ("1\nn", "exit 1", "~0 = 1\n"),
    ("1\n2d #", "threw", "~0 = 1\n"),
];

/// How many lines are made up.
const RANDOM: usize = 400;

#[test]
fn a_cxx_program_does_the_same_as_its_current_build() {
    let engine = engine(OptLevel::Speed, |_| {});
    let folder = fuzzbox_tests::workspace().join("tests/guests/cxx-exceptions");
    let [legacy, current] = ["legacy.wasm", "current.wasm"].map(|name| std::fs::read(folder.join(name)).unwrap());
    let original = Program::new(&engine, &current, None);
    let rewritten: Vec<_> = variants()
        .iter()
        .map(|(name, options)| {
            let [legacy, current] = [&legacy, &current].map(|wasm| Program::new(&engine, wasm, Some(options)));
            (*name, legacy, current)
        })
        .collect();
    let mut ends = BTreeMap::<_, u32>::new();
    let mut check = |text: &str| {
        let (expected, _) = original.run(text);
        for (variant, legacy, current) in &rewritten {
            let (legacy, current) = (legacy.run(text), current.run(text));
            assert_eq!(legacy.0, expected, "{variant}, legacy, {text}");
            assert_eq!(current.0, expected, "{variant}, current, {text}");
            assert!(legacy.1 == current.1, "{variant}, other counts, {text}");
            assert!(legacy.1.iter().any(|&byte| byte > 0), "{variant}, no counts, {text}");
        }
        *ends.entry(expected.end.clone()).or_default() += 1;
        expected
    };
    for (text, end, stdout) in KNOWN {
        let ran = check(text);
        assert_eq!((ran.end.as_str(), ran.stdout.as_str()), (*end, *stdout), "{text}");
    }
    let mut random = Random(1);
    for _ in 0..RANDOM {
        let mut text = String::new();
        line(&mut random, 6, &mut text);
        if random.below(3) == 0 {
            text.push_str(" #"); // nothing catches an `int` or a `double` then
        }
        check(&text);
    }
    println!("{ends:?}");
    assert!(ends["exit 0"] >= 50 && ends["exit 1"] >= 50 && ends["threw"] >= 5, "{ends:?}");
}

/// Writes a line for the machine, which mostly ends in an exception.
fn line(random: &mut Random, depth: u32, text: &mut String) {
    for _ in 0..1 + random.below(5) {
        let number = (b'0' + random.below(10) as u8) as char;
        match random.below(12) {
            0..=3 => text.push(number),
            4 => text.push(['+', '*', '/'][random.below(3) as usize]),
            5 | 6 if depth > 0 => {
                text.push('(');
                line(random, depth - 1, text);
                text.push(')');
            }
            7 if depth > 0 => {
                text.push('{');
                line(random, 0, text);
                text.push('|');
                line(random, 0, text);
                text.push('}');
            }
            8 => text.extend([number, ['i', 'l', 'd', 'g', 'v', 'm', 'i', 'x'][random.below(8) as usize]]),
            9 => text.push(['s', 'p', 'q', 'n', 'r', '?', ')', '#'][random.below(8) as usize]),
            10 => text.extend(['k', ['+', 's', 'p', 'q', 'r', number][random.below(6) as usize]]),
            _ => text.push(' '),
        }
    }
}

/// What one can see of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ran {
    end: String,
    stdout: String,
    stderr: String,
}

struct Program {
    module: Module,
    linker: Linker<WasiP1Ctx>,
    /// The exported memory with the counters, and how many there are.
    injected: Option<(String, usize)>,
}

impl Program {
    /// The module as it is, or rewritten.
    fn new(engine: &Engine, wasm: &[u8], options: Option<&Options>) -> Program {
        let mut linker = Linker::new(engine);
        p1::add_to_linker_sync(&mut linker, |wasi| wasi).unwrap();
        let Some(options) = options else {
            return Program { module: Module::new(engine, wasm).unwrap(), linker, injected: None };
        };
        let new = instrument(wasm, options).unwrap();
        let module = Module::new(engine, &new.wasm).unwrap();
        Program { module, linker, injected: Some((new.injected.memory_export, new.edges.edges.len())) }
    }

    /// Runs it with `text` as standard input. Gives also the counters, if it has some.
    fn run(&self, text: &str) -> (Ran, Vec<u8>) {
        let [stdout, stderr] = [(); 2].map(|()| MemoryOutputPipe::new(1 << 20));
        let mut wasi = WasiCtxBuilder::new();
        wasi.stdin(MemoryInputPipe::new(text.to_owned())).stdout(stdout.clone()).stderr(stderr.clone());
        let mut store = Store::new(self.module.engine(), wasi.build_p1());
        let instance = self.linker.instantiate(&mut store, &self.module).unwrap();
        let start = instance.get_typed_func::<(), ()>(&mut store, "_start").unwrap();
        let end = start.call(&mut store, ()).map_or_else(|error| end(&error), |()| "exit 0".to_owned());
        let counters = self.injected.as_ref().map_or(vec![], |(name, edges)| {
            let memory = instance.get_memory(&mut store, name).unwrap();
            let counters = &memory.data(&store)[layout::COUNTERS as usize..];
            counters[..counters.len().min(4 * edges)].to_vec()
        });
        drop(store);
        let [stdout, stderr] = [stdout, stderr].map(|pipe| String::from_utf8(pipe.contents().to_vec()).unwrap());
        (Ran { end, stdout, stderr }, counters)
    }
}

fn end(error: &Error) -> String {
    match (error.downcast_ref::<I32Exit>(), error.downcast_ref::<Trap>()) {
        (Some(exit), _) => format!("exit {}", exit.0),
        (_, Some(trap)) => format!("trap {trap:?}"),
        _ if error.is::<ThrownException>() => "threw".to_owned(),
        _ => panic!("{error:?}"),
    }
}
