//! A guest's memory is its own: what it does with `memory.size`, with growth, and with every address is what it does in another
//! host that puts nothing there; only the input is somewhere above.

use fuzzbox::outcome::{FailureKind, Outcome, TrapKind, Verdict};
use fuzzbox::sandbox::{Executor, History, Target, Variant};
use fuzzbox::settings::{Settings, Stub};
use fuzzbox_tests::show;
use std::fmt::Write as _;
use std::sync::Arc;
use wasmtime::{
    Engine, Extern, ExternType, Instance, Memory, Module, OptLevel, Store, StoreLimitsBuilder, Trap, TypedFunc,
};

/// What the guest does with an address and a number, `$at` and `$len` (both as wide as addresses). `M` is the memory, `I` the
/// type of addresses, `N` another memory, whose addresses have `J`, and `L` the narrower of both.
const OPERATIONS: [&str; 24] = [
    "(i64.load8_u M (local.get $at))",
    "(i64.extend_i32_u (i32.load M align=1 (local.get $at)))",
    "(i64.load M offset=65533 align=1 (local.get $at))",
    "(i32.store8 M (local.get $at) (i32.const 7)) (i64.const 1)",
    "(i64.store M align=2 (local.get $at) (i64.const 77)) (i64.load M align=1 (local.get $at))",
    "(memory.fill M (local.get $at) (i32.const 5) (local.get $len)) (i64.const 1)",
    "(memory.copy M M (local.get $at) (I.const 0) (local.get $len)) (i64.const 1)",
    "(memory.copy M M (I.const 0) (local.get $at) (local.get $len)) (i64.load8_u M (I.const 0))",
    "(memory.copy M M (I.add (local.get $at) (local.get $len)) (local.get $at) (local.get $len)) (i64.const 2)",
    "(memory.copy M M (local.get $at) (local.get $at) (I.const 16)) (i64.const 3)",
    "(memory.init M $data (local.get $at) (i32.const 0) (i32.const 4)) (i64.load8_u M (local.get $at))",
    "(memory.init M $data (local.get $at) (i32.const 1) (i32.const 4)) (i64.const 1)",
    "(memory.init M $data (I.const 1) (i32.const 0) (N32 (local.get $len))) (i64.const 1)",
    "(data.drop $data) (memory.init M $data (local.get $at) (i32.const 0) (N32 (local.get $len))) (i64.const 1)",
    "(i64.extend_i32_u (memory.atomic.notify M (local.get $at) (i32.const 1)))",
    "(i64.extend_i32_u (memory.atomic.notify M offset=8 (local.get $at) (i32.const 1)))",
    "(i64.extend_i32_u (i32.atomic.rmw.add M (local.get $at) (i32.const 3)))",
    "(i64.atomic.rmw.cmpxchg M (local.get $at) (i64.const 0) (i64.const 9))",
    "(i64x2.extract_lane 0 (v128.load M align=1 (local.get $at)))",
    "(i64x2.extract_lane 0 (v128.load16_lane M align=1 1 (local.get $at) (v128.const i64x2 1 2)))",
    "(memory.copy M N (local.get $at) (J.const 3) (SHORT (local.get $len))) (i64.load8_u M (I.const 2))",
    "(memory.copy N M (J.const 3) (local.get $at) (SHORT (local.get $len))) (i64.load8_u N (J.const 3))",
    "(U64 (memory.grow M (local.get $len)))",
    "(i64.extend_i32_u (memory.atomic.wait32 M (local.get $at) (i32.const 0) (i64.const 0)))",
];

/// A memory to try all that with.
struct Kind {
    /// The memories, in wasm text: the one that the input lies in, and `$n`.
    memories: &'static str,
    /// Addresses have 64 bits: in the memory, in the other.
    wide: [bool; 2],
    /// The bytes of the memory from the start, and those of a page.
    size: u64,
    page: u64,
}

const fn narrow(memories: &'static str, size: u64) -> Kind {
    Kind { memories, wide: [false, false], size, page: 1 << 16 }
}

const KINDS: [Kind; 9] = [
    narrow(r#"(memory $m (export "memory") 1) (memory $n 1)"#, 1 << 16),
    narrow(r#"(memory $n 1) (memory $m (export "memory") 1 4)"#, 1 << 16),
    narrow(r#"(memory $m (export "memory") 2 2) (memory $n 1)"#, 2 << 16),
    narrow(r#"(memory $m 0) (memory $n 1)"#, 0),
    narrow(r#"(import "env" "m" (memory $m 1 4)) (import "env" "m" (memory $same 1 4)) (memory $n 1)"#, 1 << 16),
    narrow(
        r#"(memory $m (export "memory") 1) (memory $n 1) (func $up (drop (memory.grow $m (i32.const 1)))) (start $up)"#,
        2 << 16,
    ),
    Kind {
        memories: r#"(memory $m (export "memory") i64 1) (memory $n 1)"#,
        wide: [true, false],
        size: 1 << 16,
        page: 1 << 16,
    },
    Kind {
        memories: r#"(memory $m (export "memory") 1 200) (memory $n i64 1)"#,
        wide: [false, true],
        size: 1 << 16,
        page: 1 << 16,
    },
    Kind {
        memories: r#"(memory $m (export "memory") 100 (pagesize 1)) (memory $n 1)"#,
        wide: [false, false],
        size: 100,
        page: 1,
    },
];

impl Kind {
    fn operation(&self, text: &str) -> String {
        let [wide, other] = self.wide;
        let name = |wide| if wide { "i64" } else { "i32" };
        let to_32 = if wide { "i32.wrap_i64" } else { "" };
        let short = match (wide, other) {
            (true, false) => "i32.wrap_i64",
            _ => "",
        };
        let call = |name: &str, text: String, word: &str| -> String {
            // `(NAME (x))` becomes `(NAME (x))` of an operator, or `(x)`.
            if name.is_empty() {
                text.replace(&format!("({word} (local.get $len))"), "(local.get $len)")
            } else {
                text.replace(word, name)
            }
        };
        let text = call(to_32, text.to_owned(), "N32");
        let text = call(short, text, "SHORT");
        let text = if wide {
            text.replace("(U64 (memory.grow M (local.get $len)))", "(memory.grow M (local.get $len))")
        } else {
            text.replace("U64", "i64.extend_i32_s")
        };
        text.replace(" M", " $m")
            .replace(" N", " $n")
            .replace("(I.", &format!("({}.", name(wide)))
            .replace("(J.", &format!("({}.", name(other)))
    }

    /// The module: `do` does it, and the harness does what the input says and fails if something else comes out than that says.
    fn module(&self) -> String {
        let address = if self.wide[0] { "i64" } else { "i32" };
        let to_64 = if self.wide[0] { "" } else { "i64.extend_i32_u" };
        let to_64 = |text: &str| if to_64.is_empty() { text.to_owned() } else { format!("({to_64} {text})") };
        let mut functions = String::new();
        for (number, operation) in OPERATIONS.iter().enumerate() {
            let body = self.operation(operation);
            write!(functions, "(func $op{number} (param $at {address}) (param $len {address}) (result i64) {body})")
                .unwrap();
        }
        let elements: String = (0..OPERATIONS.len()).map(|number| format!(" $op{number}")).collect();
        let (size, grown) = (to_64("(memory.size $m)"), to_64("(memory.grow $m (local.get $pages))"));
        format!(
            r#"(module {memories}
                (data $data "data") (data (memory $n) (i32.const 0) "the other") {functions}
                (type $op (func (param {address} {address}) (result i64)))
                (table $ops funcref (elem{elements}))
                (func $do (export "do") (param $op i32) (param $pages {address}) (param $at {address}) (param $len {address})
                    (result i64) (local $seen i64)
                    (local.set $seen {grown})
                    (local.set $seen (i64.add (i64.mul (local.get $seen) (i64.const 31)) {size}))
                    (local.set $seen (i64.add (i64.mul (local.get $seen) (i64.const 31))
                        (call_indirect $ops (type $op) (local.get $at) (local.get $len) (local.get $op))))
                    (i64.add (i64.mul (local.get $seen) (i64.const 31)) {size}))
                (func (export "LLVMFuzzerTestOneInput") (param $in {address}) (param $bytes {address}) (result i32)
                    (if (i64.ne
                            (call $do
                                (i32.load8_u $m (local.get $in))
                                ({address}.load8_u $m offset=1 (local.get $in))
                                ({address}.load $m offset=2 align=1 (local.get $in))
                                ({address}.load $m offset=10 align=1 (local.get $in)))
                            (i64.load $m offset=18 align=1 (local.get $in)))
                        (then unreachable))
                    (i32.const 0)))"#,
            memories = self.memories,
        )
        .replace("(memory $n) (i32.const 0)", if self.wide[1] { "(memory $n) (i64.const 0)" } else { "(memory $n) (i32.const 0)" })
    }

    /// Addresses and lengths that mean something, the addresses none of those of the input.
    fn numbers(&self) -> (Vec<u64>, [u64; 5]) {
        let (end, grown) = (self.size, self.size + 3 * self.page);
        let top = if self.wide[0] { u64::MAX } else { u32::MAX.into() };
        let mut at = vec![0, 4, 1 << 20, 100 << 20, (256 << 20) - 8, top, top - 15];
        for edge in [end, end + 4096, grown, 1 << 16] {
            at.extend([
                edge.saturating_sub(8),
                edge.saturating_sub(3),
                edge.saturating_sub(1),
                edge,
                edge + 1,
                edge + 8,
            ]);
        }
        at.sort_unstable();
        at.dedup();
        (at, [0, 1, 9, 70_000, top])
    }
}

/// How the module does something in another host: what comes out, or the trap.
fn elsewhere(
    engine: &Engine,
    module: &Module,
    kind: &Kind,
    op: usize,
    [pages, at, len]: [u64; 3],
) -> Result<i64, Trap> {
    let limits = StoreLimitsBuilder::new().memory_size(256 << 20).build();
    let mut store = Store::new(engine, limits);
    store.limiter(|limits| limits);
    let mut imports: Vec<Extern> = Vec::new();
    for import in module.imports() {
        let ExternType::Memory(ty) = import.ty() else { unreachable!("memories are imported") };
        // Both have one name.
        let same = imports.first().cloned();
        imports.push(same.unwrap_or_else(|| Memory::new(&mut store, ty).unwrap().into()));
    }
    let instance = Instance::new(&mut store, module, &imports).unwrap();
    let op = i32::try_from(op).unwrap();
    let result = if kind.wide[0] {
        let [pages, at, len] = [pages, at, len].map(u64::cast_signed);
        let f: TypedFunc<(i32, i64, i64, i64), i64> = instance.get_typed_func(&mut store, "do").unwrap();
        f.call(&mut store, (op, pages, at, len))
    } else {
        let [pages, at, len] = [pages, at, len].map(|number| (number as u32).cast_signed());
        let f: TypedFunc<(i32, i32, i32, i32), i64> = instance.get_typed_func(&mut store, "do").unwrap();
        f.call(&mut store, (op, pages, at, len))
    };
    result.map_err(|error| *error.downcast_ref::<Trap>().unwrap())
}

fn compare(kind: &Kind) {
    let text = kind.module();
    let wasm = wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let engine = crate::execution::engine(OptLevel::Speed, |_| ());
    let module = Module::new(&engine, &wasm).unwrap();
    let settings = Settings { input_bytes_max: 4096, stub_imports: Some(Stub::Zero), ..Settings::default() };
    let metered = Arc::new(Target::load(&wasm, settings).unwrap());
    let variants = [Variant::Metered, Variant::Full, Variant::Fast(Default::default()), Variant::Traced];
    let made = variants.map(|variant| metered.in_variant(variant).unwrap()).into_iter();
    // Whose code compares addresses itself.
    let comparing = [Variant::Full, Variant::Traced]
        .map(|variant| metered.in_variant_after(variant, &History::default().comparing()).unwrap());
    let executor = |target| Executor::new(&Arc::new(target)).unwrap();
    let mut executors: Vec<_> = made.chain(comparing).map(executor).collect();
    let (addresses, lengths) = kind.numbers();
    let mut traps = 0;
    for (op, operation) in OPERATIONS.iter().enumerate() {
        // What it doesn't look at need not be another one.
        let places = if operation.contains("$at") { &addresses[..] } else { &addresses[..1] };
        let lengths = if operation.contains("$len") { &lengths[..] } else { &lengths[..1] };
        for pages in [0, 1, 3] {
            for &at in places {
                for &len in lengths {
                    let expected = elsewhere(&engine, &module, kind, op, [pages, at, len]);
                    traps += u32::from(expected.is_err());
                    let mut input = vec![op as u8, pages as u8];
                    let numbers = [at, len, expected.unwrap_or(0).cast_unsigned()];
                    input.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
                    for (number, executor) in executors.iter_mut().enumerate() {
                        let outcome = executor.run(&input).unwrap();
                        let context = || {
                            let variant = &executor.target().variant;
                            format!(
                                "{variant:?}: {operation} with {pages} pages, {at:#x}, {len:#x}: {expected:?}, {outcome:?}\n{}",
                                kind.memories
                            )
                        };
                        match (outcome.verdict(), expected) {
                            (Verdict::Passed, Ok(_)) => {}
                            // Of an access that is misaligned and goes past the end, either can be said.
                            (Verdict::Failed(FailureKind::Crash, trap), Err(Trap::HeapMisaligned))
                                if trap.kind == TrapKind::MemoryOutOfBounds && (kind.page == 1 || number >= 4) => {}
                            (Verdict::Failed(FailureKind::Crash, trap), Err(other)) => {
                                assert_eq!(trap.kind, kind_of(other), "{}", context())
                            }
                            _ => panic!("{}", context()),
                        }
                        if let Some(frame) = outcome.trap().and_then(|trap| trap.frames.first()) {
                            let name = executor.target().edges.functions[frame.function as usize].as_deref();
                            assert!(name.is_some_and(|name| name == format!("op{op}")), "{name:?} {}", context());
                        }
                    }
                }
            }
        }
    }
    assert!(traps > 500, "{traps}");
}

fn kind_of(trap: Trap) -> TrapKind {
    match trap {
        Trap::MemoryOutOfBounds => TrapKind::MemoryOutOfBounds,
        Trap::HeapMisaligned => TrapKind::HeapMisaligned,
        _ => TrapKind::Other,
    }
}

#[test]
fn narrow_memories_are_as_elsewhere() {
    KINDS[..3].iter().for_each(compare);
}

#[test]
fn empty_imported_and_growing_memories_are_as_elsewhere() {
    KINDS[3..6].iter().for_each(compare);
}

#[test]
fn wide_memories_and_those_of_small_pages_are_as_elsewhere() {
    KINDS[6..].iter().for_each(compare);
}

/// Runs inputs on one instance over and over, and each on an instance of its own.
#[track_caller]
fn always(wat: &str, settings: Settings, inputs: &[(&[u8], Option<TrapKind>)]) {
    let metered = Arc::new(Target::load(wat.as_bytes(), settings).unwrap());
    for variant in [Variant::Metered, Variant::Full, Variant::Fast(Default::default())] {
        let target = Arc::new(metered.in_variant(variant).unwrap());
        let fresh: Vec<_> = inputs.iter().map(|(input, _)| show(&mut Executor::new(&target).unwrap(), input)).collect();
        let mut executor = Executor::new(&target).unwrap();
        for round in 0..400 {
            for ((input, kind), fresh) in inputs.iter().zip(&fresh) {
                let shown = show(&mut executor, input);
                assert_eq!(
                    shown.outcome.trap().map(|trap| trap.kind),
                    *kind,
                    "{:?} {:?}",
                    shown.outcome,
                    target.variant
                );
                assert_eq!(shown, *fresh, "round {round}");
            }
        }
    }
}

/// An allocator that takes all from the end of its data to `memory.size`, and grows memory for more: as Emscripten's, and that of wasi-libc before
/// it knew `__heap_end`. It notes the input, fills a block of as many KiB as the first byte says times 16, and looks at the input again.
const SBRK: &str = r#"(module (memory (export "memory") 1)
    (global $top (mut i32) (i32.const 1024))
    (func $sbrk (param $bytes i32) (result i32) (local $old i32)
        (local.set $old (global.get $top))
        (global.set $top (i32.add (global.get $top) (local.get $bytes)))
        (if (i32.gt_u (global.get $top) (i32.shl (memory.size) (i32.const 16))) (then
            (if (i32.eq (i32.const -1) (memory.grow (i32.sub
                    (i32.shr_u (i32.add (global.get $top) (i32.const 65535)) (i32.const 16)) (memory.size))))
                (then unreachable))))
        (local.get $old))
    (func (export "LLVMFuzzerTestOneInput") (param $in i32) (param $len i32) (result i32) (local $block i32) (local $bytes i32)
        (if (i32.eqz (local.get $len)) (then (return (i32.const 0))))
        (memory.copy (call $sbrk (local.get $len)) (local.get $in) (local.get $len))
        (local.set $bytes (i32.shl (i32.load8_u (local.get $in)) (i32.const 14)))
        (local.set $block (call $sbrk (local.get $bytes)))
        (memory.fill (local.get $block) (i32.const 0xee) (local.get $bytes))
        ;; What is between that and the end is zero, and can be written.
        (if (i32.lt_u (global.get $top) (i32.shl (memory.size) (i32.const 16))) (then
            (if (i32.load8_u (global.get $top)) (then unreachable))
            (i32.store8 (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1)) (i32.const 1))))
        (loop $next
            (local.set $len (i32.sub (local.get $len) (i32.const 1)))
            (if (i32.ne
                    (i32.load8_u (i32.add (i32.const 1024) (local.get $len)))
                    (i32.load8_u (i32.add (local.get $in) (local.get $len))))
                (then unreachable))
            (br_if $next (local.get $len)))
        (i32.const 0)))"#;

#[test]
fn a_heap_that_ends_where_memory_does_keeps_off_the_input() {
    let inputs: [(&[u8], _); 5] =
        [(b"", None), (b"\0abc", None), (b"\x04abcdef", None), (b"\xffa", None), (&[3; 4096], None)];
    always(SBRK, Settings { memory_bytes_max: 16 << 20, ..Settings::default() }, &inputs);
}

#[test]
fn a_growth_that_the_limit_refuses_is_out_of_memory() {
    let target = Target::load(SBRK.as_bytes(), Settings { memory_bytes_max: 1 << 20, ..Settings::default() }).unwrap();
    let mut executor = Executor::new(&Arc::new(target)).unwrap();
    for _ in 0..3 {
        assert_eq!(executor.run(b"\x20 half a MiB").unwrap(), Outcome::Ok);
        let outcome = executor.run(b"\x60 more than there is").unwrap();
        assert!(matches!(outcome.failure(), Some((FailureKind::OutOfMemory, _))), "{outcome:?}");
    }
}

#[test]
fn all_of_the_limit_is_the_guests() {
    // 1 page at first, 15 more; the input is none of that.
    let wat = r#"(module (memory (export "memory") 1)
        (func (export "LLVMFuzzerTestOneInput") (param $in i32) (param $len i32) (result i32)
            (if (i32.ne (memory.grow (i32.const 15)) (i32.const 1)) (then unreachable))
            (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable))
            (i32.store (i32.const 0xffffc) (i32.const 1))
            (drop (i32.load (i32.add (i32.const 0x100000) (local.get $len))))
            (i32.const 0)))"#;
    let out = Settings { memory_bytes_max: 1 << 20, input_bytes_max: 8 << 20, ..Settings::default() };
    let target = Arc::new(Target::load(wat.as_bytes(), out).unwrap());
    for input in [&b""[..], b"x"] {
        let outcome = Executor::new(&target).unwrap().run(input).unwrap();
        // The last growth was refused, so it may be for that.
        assert!(
            matches!(outcome.failure(), Some((FailureKind::OutOfMemory, trap)) if trap.kind == TrapKind::MemoryOutOfBounds),
            "{outcome:?}"
        );
    }
}

#[test]
fn host_functions_never_go_between_memory_and_input() {
    let wat = |at: &str, len: u32| {
        format!(
            r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
            (memory (export "memory") 1)
            (func (export "LLVMFuzzerTestOneInput") (param $in i32) (param $len i32) (result i32) (local $at i32)
                (if (i32.gt_u (local.get $len) (i32.const 2)) (then (drop (memory.grow (i32.const 1)))))
                (local.set $at {at})
                (i32.store (i32.const 8) (local.get $at))
                (i32.store (i32.const 12) (i32.const {len}))
                ;; 21 is errno::fault.
                (if (i32.ne (i32.const 21) (call $fd_write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 16))) (then unreachable))
                (if (i32.ne (i32.const 21) (call $fd_write (i32.const 1) (local.get $at) (i32.const 1) (i32.const 16))) (then unreachable))
                (if (i32.ne (i32.const 21) (call $random_get (local.get $at) (i32.const {len}))) (then unreachable))
                (i32.const 0)))"#
        )
    };
    let inputs: [(&[u8], _); 3] = [(b"", None), (b"ab", None), (b"more", None)];
    let end = "(i32.shl (memory.size) (i32.const 16))";
    for (at, len) in [
        (end.to_owned(), 8),
        (format!("(i32.add {end} (i32.const 70000))"), 8),
        (format!("(i32.sub {end} (i32.const 3))"), 8),
        (format!("(i32.sub {end} (i32.const 3))"), 300 << 20),
        ("(i32.const 0x8000000)".to_owned(), 8),
        ("(i32.const 0xffffff0)".to_owned(), 0x2_0000),
        ("(i32.const 0x10000000)".to_owned(), 9),
    ] {
        always(&wat(&at, len), Settings::default(), &inputs);
    }
}

#[test]
fn bulk_operators_from_memory_through_to_the_input_trap() {
    let wat = |body: &str| {
        format!(
            r#"(module (memory (export "memory") 1)
            (func (export "LLVMFuzzerTestOneInput") (param $in i32) (param $len i32) (result i32) {body} (i32.const 0)))"#
        )
    };
    let out = Some(TrapKind::MemoryOutOfBounds);
    let behind = Some(TrapKind::InputOverrun);
    let (first, second): (&[u8], &[u8]) = (b"four", &[7; 5000]);
    for (body, kind) in [
        ("(memory.fill (i32.const 0) (i32.const 1) (local.get $in))", out),
        ("(memory.fill (i32.const 65535) (i32.const 1) (local.get $in))", out),
        ("(memory.copy (i32.const 65530) (local.get $in) (local.get $len))", None),
        ("(memory.fill (local.get $in) (i32.const 1) (local.get $len))", None),
        ("(memory.fill (local.get $in) (i32.const 1) (i32.add (local.get $len) (i32.const 1)))", behind),
        ("(memory.fill (local.get $in) (i32.const 1) (i32.add (local.get $len) (i32.const 4097)))", out),
        ("(memory.fill (local.get $in) (i32.const 1) (i32.const -1))", out),
        ("(memory.copy (i32.const 0) (local.get $in) (i32.add (local.get $len) (i32.const 1)))", behind),
    ] {
        let of_long = if body.contains("65530") { out } else { kind };
        always(&wat(body), Settings::default(), &[(first, kind), (second, of_long)]);
    }
}

#[test]
fn memory_that_can_have_everything_leaves_room_for_the_input() {
    let wat = |pages: u32| {
        format!(
            r#"(module (memory (export "memory") {pages})
            (func (export "LLVMFuzzerTestOneInput") (param $in i32) (param $len i32) (result i32)
                (drop (i32.load8_u (i32.add (local.get $in) (local.get $len)))) (i32.const 0)))"#
        )
    };
    let settings = || Settings { memory_bytes_max: 4 << 30, input_bytes_max: 1 << 20, ..Settings::default() };
    always(&wat(1), settings(), &[(b"", Some(TrapKind::MemoryOutOfBounds)), (b"x", Some(TrapKind::MemoryOutOfBounds))]);
    let error = Target::load(wat(65_530).as_bytes(), settings()).unwrap_err().to_string();
    let expected = "there is no room for inputs of 1048576 bytes: the guest has 4095 MiB of the 4 GiB that can be addressed\n\
        help: lower --input-bytes-max";
    assert_eq!(error, expected);
}

#[test]
fn arguments_of_initialisers_lie_beside_the_input() {
    let wat = r#"(module (memory (export "memory") 1)
        (func (export "LLVMFuzzerInitialize") (param $argc i32) (param $argv i32) (result i32)
            (if (i32.ne (i32.load (local.get $argc)) (i32.const 1)) (then unreachable))
            (if (i32.ne (i32.load (i32.load (i32.load (local.get $argv)))) (i32.const 0x7a7a7566)) (then unreachable))
            (if (i32.ne (memory.size) (i32.const 1)) (then unreachable))
            (i32.store (i32.const 0) (i32.load (i32.load (local.get $argv))))
            (drop (memory.grow (i32.const 1)))
            (i32.const 0))
        (func (export "LLVMFuzzerTestOneInput") (param $in i32) (param $len i32) (result i32)
            (if (i32.ne (memory.size) (i32.const 2)) (then unreachable))
            (if (i32.ne (i32.load (i32.load (i32.const 0))) (i32.const 0x7a7a7566)) (then unreachable))
            (i32.store (i32.load (i32.const 0)) (i32.const 1))
            (i32.const 0)))"#;
    let longest = [9; 4096];
    let settings = Settings { input_bytes_max: 4096, ..Settings::default() };
    always(wat, settings, &[(b"x", None), (&longest, None)]);
}
