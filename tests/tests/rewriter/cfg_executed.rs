//! Control-flow graphs against executions: what happened between two blocks is in the graph, as often as it was counted.
//!
//! Two versions of a module do the same. In one, the rewriter counts edges. In the other, which shares nothing with
//! it, each block of the graph tells where the call came from: it counts in a table, in the row of the block that was
//! there before and in its own column.
//!
//! `FUZZBOX_CFG_MODULES=20000 cargo test --workspace --test rewriter cfg_executed` tries more generated modules.

use std::path::Path;

use crate::execution::{Random, engine};
use arbitrary::Unstructured;
use fuzzbox_instrument::{BlockKind, Cfg, Cfgs, Flow, FlowKind, Options, instrument, layout};
use wasm_encoder::{Encode, InstructionSink, MemArg, MemArgTarget, RawSection, Section};
use wasmparser::{BinaryReader, ValidPayload, Validator};
use wasmtime::*;

const TOLD: &str = "told";

/// The injected code's table of a function: a `u32` for each block before and block after.
struct Table {
    /// Where it starts.
    base: usize,
    /// How many blocks there are.
    blocks: usize,
}

/// What happened in all calls of a function.
struct Told {
    cfg: Cfg,
    /// How often each block (column) was executed next after each (row).
    next: Vec<Vec<u64>>,
    /// By number in the graph: how often the edge was counted.
    counts: Vec<u64>,
}

/// Makes each block of a module tell; gives the module and where to look.
fn telling(wasm: &[u8], cfgs: &[Cfg]) -> (Vec<u8>, Vec<Table>) {
    let mut validator = Validator::new_with_features(fuzzbox_instrument::features());
    let mut bodies = Vec::new();
    let mut memory = 0;
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        match validator.payload(&payload.unwrap()).unwrap() {
            ValidPayload::Func(function, body) => bodies.push((function, body)),
            ValidPayload::End(types) => memory = types.as_ref().memory_count(),
            _ => {}
        }
    }
    let mut tables = Vec::new();
    let mut end = 0;
    let mut code = Vec::new();
    bodies.len().encode(&mut code);
    for ((function, body), cfg) in bodies.into_iter().zip(cfgs) {
        let mut validator = function.into_validator(Default::default());
        validator.read_locals(&mut body.get_binary_reader()).unwrap();
        let table = Table { base: end, blocks: cfg.blocks().len() };
        end += 4 * table.blocks * table.blocks;
        let range = body.range().start as usize..body.range().end as usize;
        telling_body(wasm, range, validator.len_locals(), cfg, &table, memory).encode(&mut code);
        tables.push(table);
    }
    let pages = end.div_ceil(1 << 16);
    let mut memory_type = vec![0]; // no maximum
    pages.encode(&mut memory_type);
    let mut export = Vec::new();
    TOLD.encode(&mut export);
    export.push(2); // a memory
    memory.encode(&mut export);
    (with_sections(wasm, &[(5, memory_type), (7, export)], &code), tables)
}

fn telling_body(
    wasm: &[u8],
    range: std::ops::Range<usize>,
    local: u32,
    cfg: &Cfg,
    table: &Table,
    memory: u32,
) -> Vec<u8> {
    let start = cfg.blocks()[0].start as usize;
    let mut locals = BinaryReader::new(&wasm[range.start..start], 0);
    let mut bytes = Vec::new();
    (locals.read_var_u32().unwrap() + 1).encode(&mut bytes);
    bytes.extend_from_slice(&wasm[range.start + locals.current_position()..start]);
    bytes.extend([1, 0x7f]); // one i32: where the row of the block before starts, from that of the entry
    let mut at = start;
    for (number, block) in cfg.blocks().iter().enumerate().filter(|(_, block)| block.kind == BlockKind::Code) {
        bytes.extend_from_slice(&wasm[at..block.start as usize]);
        at = block.start as usize;
        let offset = (table.base + 4 * number) as u64;
        let cell = MemArg { offset, align: 2, target: MemArgTarget::Memory(memory), ordering: None };
        let mut sink = InstructionSink::new(&mut bytes);
        sink.local_get(local).local_get(local).i32_load(cell).i32_const(1).i32_add().i32_store(cell);
        sink.i32_const((4 * number * table.blocks) as i32).local_set(local);
    }
    bytes.extend_from_slice(&wasm[at..range.end]);
    bytes
}

/// Copies a module with another code section and with one entry more at the end of some sections.
fn with_sections(wasm: &[u8], added: &[(u8, Vec<u8>)], code: &[u8]) -> Vec<u8> {
    const ORDER: [u8; 13] = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];
    let mut old = [const { None }; 14];
    let mut reader = BinaryReader::new(&wasm[8..], 0);
    while !reader.eof() {
        let (id, size) = (reader.read_u8().unwrap(), reader.read_var_u32().unwrap());
        old[usize::from(id)] = Some(reader.read_bytes(size as usize).unwrap());
    }
    let mut new = wasm[..8].to_vec();
    for id in ORDER {
        let old = old[usize::from(id)];
        let data = match added.iter().find(|(of, _)| *of == id) {
            _ if id == 10 => old.map(|_| code.to_vec()),
            None => old.map(<[u8]>::to_vec),
            Some((_, entry)) => {
                let mut reader = BinaryReader::new(old.unwrap_or(&[0]), 0);
                let mut data = Vec::new();
                (reader.read_var_u32().unwrap() + 1).encode(&mut data);
                data.extend_from_slice(&old.unwrap_or(&[0])[reader.current_position()..]);
                data.extend_from_slice(entry);
                Some(data)
            }
        };
        if let Some(data) = data {
            RawSection { id, data: &data }.append_to(&mut new);
        }
    }
    new
}

/// How calls of a module ended.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ends {
    returned: u32,
    /// They trapped or threw.
    failed: u32,
    overflowed: bool,
}

/// Instantiates a module and makes the calls; gives the bytes of an exported memory.
fn execute(engine: &Engine, wasm: &[u8], calls: &Calls<'_>, memory: &str) -> Option<(Vec<u8>, Ends)> {
    let module = Module::new(engine, wasm).ok()?;
    let limits = StoreLimitsBuilder::new().memory_size(64 << 20).table_elements(20_000).build();
    let mut store = Store::new(engine, limits);
    store.limiter(|limits| limits);
    let mut linker = Linker::new(engine);
    linker.define_unknown_imports_as_default_values(&mut store, &module).ok()?;
    let instance = linker.instantiate(&mut store, &module).ok()?;
    let mut ends = Ends::default();
    let overflow = |error: &Error| error.downcast_ref() == Some(&Trap::StackOverflow);
    for (name, arguments) in calls(&module) {
        let function = instance.get_func(&mut store, &name).unwrap();
        let mut results = vec![Val::I32(0); function.ty(&store).results().len()];
        match function.call(&mut store, &arguments, &mut results) {
            Ok(()) => ends.returned += 1,
            Err(error) => {
                store.take_pending_exception();
                ends.failed += 1;
                ends.overflowed |= overflow(&error);
            }
        }
    }
    let memory = instance.get_memory(&mut store, memory).unwrap();
    Some((memory.data(&store).to_vec(), ends))
}

/// Says what to call.
type Calls<'c> = dyn Fn(&Module) -> Vec<(String, Vec<Val>)> + 'c;

fn number(bytes: &[u8], index: usize) -> u64 {
    u32::from_le_bytes(bytes[4 * index..][..4].try_into().unwrap()).into()
}

/// Runs both versions of a module. `None` if it has no instance, or runs out of stack.
fn tell(engine: &Engine, wasm: &[u8], calls: &Calls<'_>) -> Option<(Vec<Told>, Ends)> {
    let cfgs: Vec<Cfg> = Cfgs::new(wasm).unwrap().map(Result::unwrap).collect();
    let mut options = Options::default();
    options.fuel = Some(i64::MAX);
    let new = instrument(wasm, &options).unwrap();
    let numbered: Vec<_> = cfgs.iter().flat_map(|cfg| cfg.edges().map(move |edge| (cfg, edge))).collect();
    assert_eq!(numbered.len(), new.edges.edges.len());
    for (number, ((cfg, edge), known)) in (0..).zip(numbered.into_iter().zip(&new.edges.edges)) {
        let flow = cfg.flow(edge).unwrap();
        assert_eq!(
            (edge, cfg.function(), flow.kind, flow.back),
            (number, known.function, FlowKind::Counted(known.kind), known.back)
        );
    }
    let (telling, tables) = telling(wasm, &cfgs);
    Validator::new_with_features(fuzzbox_instrument::features()).validate_all(&telling).unwrap();
    let (cells, told_ends) = execute(engine, &telling, calls, TOLD)?;
    let (injected, ends) = execute(engine, &new.wasm, calls, &new.injected.memory_export)?;
    if ends.overflowed || told_ends.overflowed {
        return None;
    }
    assert_eq!(ends, told_ends);
    let counters = &injected[layout::COUNTERS as usize..];
    let told = cfgs.into_iter().zip(&tables).map(|(cfg, table)| {
        let cell = |row: usize, column: usize| number(&cells[table.base..], row * table.blocks + column);
        let rows = 0..table.blocks;
        let next = rows.map(|row| (0..table.blocks).map(|column| cell(row, column)).collect()).collect();
        let counts = cfg.edges().map(|edge| number(counters, edge as usize)).collect();
        Told { cfg, next, counts }
    });
    Some((told.collect(), ends))
}

/// Whether nothing can have thrown.
fn throws_nothing(told: &[Told]) -> bool {
    told.iter().flat_map(|told| told.cfg.flows()).all(|flow| flow.kind != FlowKind::Throw)
}

impl Told {
    /// How often a block was executed.
    fn executed(&self, block: usize) -> u64 {
        self.next.iter().map(|row| row[block]).sum()
    }

    fn count(&self, flow: &Flow) -> Option<u64> {
        Some(self.counts[(flow.edge? - self.cfg.edges().start) as usize])
    }

    /// The blocks that an exception out of `block` can lead to, over all `try_table`s around.
    fn caught(&self, block: usize) -> Vec<usize> {
        let flows = |from: usize| self.cfg.flows().iter().filter(move |flow| flow.from as usize == from);
        let handler = |flow: Option<&Flow>| flow.map(|flow| flow.to as usize).filter(|&to| to != Cfg::EXIT as usize);
        let mut caught = Vec::new();
        let mut next = handler(flows(block).find(|flow| flow.kind == FlowKind::Throw));
        while let Some(at) = next {
            caught.extend(flows(at).filter(|flow| flow.edge.is_some()).map(|flow| flow.to as usize));
            next = handler(flows(at).find(|flow| flow.kind == FlowKind::Uncaught));
        }
        caught
    }

    /// Checks what was told against the graph and the counters; gives how many steps there were. `clean` says that
    /// nothing trapped or threw.
    fn check(&self, clean: bool, seen: &mut Vec<&'static str>) -> u64 {
        let blocks = self.cfg.blocks();
        let mut steps = 0;
        let caught: Vec<Vec<usize>> = (0..blocks.len()).map(|block| self.caught(block)).collect();
        for (to, block) in blocks.iter().enumerate().filter(|(_, block)| block.kind == BlockKind::Code) {
            let into: Vec<&Flow> = self.cfg.flows().iter().filter(|flow| flow.to as usize == to).collect();
            let (mut counted_least, mut counted_most) = (0, 0);
            for (from, row) in self.next.iter().enumerate() {
                let direct: Vec<&&Flow> = into.iter().filter(|flow| flow.from as usize == from).collect();
                let is_caught = caught[from].contains(&to);
                assert!(row[to] == 0 || is_caught || !direct.is_empty(), "{from} -> {to} at {:#x}", block.start);
                steps += row[to];
                let uncounted = direct.iter().any(|flow| flow.edge.is_none());
                counted_most += if uncounted && !is_caught { 0 } else { row[to] };
                counted_least += if uncounted { 0 } else { row[to] };
                // A handler has no code to be told of.
                if !uncounted && !is_caught && blocks[from].kind != BlockKind::Catch {
                    let counts: u64 = direct.iter().filter_map(|flow| self.count(flow)).sum();
                    assert_eq!(row[to], counts, "{from} -> {to} at {:#x}", block.start);
                }
            }
            let counts: u64 = into.iter().filter_map(|flow| self.count(flow)).sum();
            assert!((counted_least..=counted_most).contains(&counts), "into {to} at {:#x}", block.start);
            for flow in into.iter().filter(|flow| self.count(flow).is_some_and(|count| count > 0)) {
                seen.push(flow.kind.name());
            }
            let left: u64 = self.next[to].iter().sum();
            let exits =
                || self.cfg.flows().iter().filter(|flow| flow.from as usize == to).map(|flow| flow.to == Cfg::EXIT);
            let place = format!("out of {to} at {:#x}", block.start);
            assert!(left <= self.executed(to) && (left == 0 || !exits().all(|exit| exit)), "{place}");
            // A frame is left in the middle of a block only by a trap or an exception.
            assert!(!clean || exits().any(|exit| exit) || left == self.executed(to), "{place}");
        }
        steps
    }
}

fn golden(path: &str) -> Vec<u8> {
    wat::parse_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("../instrument/tests").join(path)).unwrap()
}

/// Calls of an export with one `i32` each.
fn calls(name: &str, arguments: &[i32]) -> Vec<(String, Vec<Val>)> {
    arguments.iter().map(|&argument| (name.to_owned(), vec![Val::I32(argument)])).collect()
}

#[test]
fn golden_modules_go_as_their_graphs_say() {
    let engine = engine(OptLevel::Speed, |_| {});
    let null = |name: &str| vec![(name.to_owned(), vec![Val::FuncRef(None)])];
    let triples = [[3, 4, 5], [3, 3, 5], [3, 3, 3], [3, 4, 4], [3, 4, 3]];
    let three = || triples.map(|sides| ("triangle".to_owned(), sides.map(Val::I32).to_vec())).to_vec();
    let gcd = || [(12, 18), (7, 0), (0, 0)].map(|(a, b)| ("gcd".to_owned(), vec![Val::I32(a), Val::I32(b)])).to_vec();
    let cases: [(&str, u32, Vec<_>); 9] = [
        ("cfg/triangle.wat", 0, three()),
        ("cfg/gcd.wat", 0, gcd()),
        (
            "cfg/exceptions.wat",
            3,
            [
                calls("throws", &[0, 1]),
                calls("nested", &[0, 1, 2]),
                calls("not_all", &[0]),
                calls("nothing_throws", &[1]),
            ]
            .concat(),
        ),
        ("cfg/ways_out.wat", 3, [calls("arms", &[0, 2, 3]), null("null")].concat()),
        ("golden/if.wat", 0, [calls("without_else", &[0, 1, 2]), calls("with_else", &[0, 5])].concat()),
        ("golden/br_if.wat", 0, [calls("one_value", &[0, 1, 0]), calls("two_values", &[0, 1])].concat()),
        ("golden/br_table.wat", 0, [calls("arms", &[0, 1, 2, 4, -1]), calls("default_only", &[7])].concat()),
        ("golden/br_on.wat", 0, [null("on_null"), null("on_non_null")].concat()),
        ("golden/try_table.wat", 0, [calls("clauses", &[5]), calls("with_values", &[6])].concat()),
    ];
    for (path, failed, calls) in cases {
        let (told, ends) = tell(&engine, &golden(path), &|_: &Module| calls.clone()).unwrap();
        assert_eq!((ends.failed, ends.returned), (failed, calls.len() as u32 - failed), "{path}");
        let clean = failed == 0 && throws_nothing(&told);
        let steps: u64 = told.iter().map(|told| told.check(clean, &mut Vec::new())).sum();
        assert!(steps >= calls.len() as u64, "{path}");
    }
}

/// The figures of the literature, for blocks that were really executed.
#[test]
fn triangle_has_the_published_approach_levels() {
    let engine = engine(OptLevel::Speed, |_| {});
    let wasm = golden("cfg/triangle.wat");
    let level = |sides: [i32; 3], target: u32| {
        let calls = vec![("triangle".to_owned(), sides.map(Val::I32).to_vec())];
        let (told, _) = tell(&engine, &wasm, &|_: &Module| calls.clone()).unwrap();
        let levels = told[0].cfg.control_dependence().approach_levels(target);
        (0..levels.len()).filter(|&block| told[0].executed(block) > 0).filter_map(|block| levels[block]).min()
    };
    let (n3, n8) = (4, 10);
    assert_eq!([[1, 2, 3], [1, 1, 2], [1, 1, 1]].map(|sides| level(sides, n3)), [Some(2), Some(1), Some(0)]);
    let levels = [[1, 1, 2], [1, 2, 2], [1, 2, 3], [1, 2, 1]].map(|sides| level(sides, n8));
    assert_eq!(levels, [Some(3), Some(2), Some(1), Some(0)]);
}

/// A module with all control operators, which stops.
fn generate(random: &mut Random) -> Option<Vec<u8>> {
    use wasm_smith::InstructionKind::{Aggregate, Control, Parametric, Reference, Variable};
    let config = wasm_smith::Config {
        export_everything: true,
        compact_imports_enabled: false, // unknown to wasmtime 48
        custom_page_sizes_enabled: false,
        threads_enabled: false, // waiting would block
        allow_start_export: false,
        disallow_traps: random.below(4) > 0,
        allowed_instructions: wasm_smith::InstructionKinds::new(&[Control, Parametric, Variable, Reference, Aggregate]),
        max_types: 12,
        max_imports: 2,
        max_globals: 6,
        max_tags: 3,
        max_values: 4,
        min_funcs: 4,
        max_funcs: 10,
        max_memories: 1,
        max_memory32_bytes: 1 << 16,
        max_memory64_bytes: 1 << 16,
        max_tables: 2,
        max_table_elements: 100,
        max_instructions: 400,
        max_nesting_depth: 20,
        ..wasm_smith::Config::default()
    };
    let bytes: Vec<u8> = (0..2_000 + random.below(20_000)).map(|_| random.next() as u8).collect();
    let mut module = wasm_smith::Module::new(config, &mut Unstructured::new(&bytes)).ok()?;
    module.ensure_termination(1_000).ok()?;
    Some(module.to_bytes())
}

/// Calls all exports whose arguments we have, with numbers from `seed`.
fn all_exports(module: &Module, seed: u64) -> Vec<(String, Vec<Val>)> {
    let mut random = Random(!seed);
    let mut value = |ty: ValType| match ty {
        ValType::I32 => Some(Val::I32(random.number() as i32)),
        ValType::I64 => Some(Val::I64(random.number() as i64)),
        ty => Val::default_for_ty(&ty),
    };
    // The rewriter adds some of its own.
    let exports = module.exports().filter(|export| !export.name().starts_with("fuzzbox:"));
    let functions = exports.filter_map(|export| Some((export.name().to_owned(), export.ty().func()?.clone())));
    functions.filter_map(|(name, ty)| Some((name, ty.params().map(&mut value).collect::<Option<_>>()?))).collect()
}

#[test]
fn generated_modules_go_as_their_graphs_say() {
    let modules = std::env::var("FUZZBOX_CFG_MODULES").map_or(400, |number| number.parse().unwrap());
    let engine = engine(OptLevel::None, |_| {});
    let (mut compared, mut clean, mut steps) = (0, 0, 0);
    let mut seen = Vec::new();
    for seed in 0..modules {
        let Some(wasm) = generate(&mut Random(seed)) else { continue };
        let exports = |module: &Module| all_exports(module, seed);
        let Some((told, ends)) = tell(&engine, &wasm, &exports) else { continue };
        compared += 1;
        let is_clean = ends.failed == 0 && throws_nothing(&told);
        clean += u64::from(is_clean);
        for told in told {
            steps += told.check(is_clean, &mut seen);
        }
        seen.sort_unstable();
        seen.dedup();
    }
    println!("{modules} modules, {compared} compared, {clean} of them clean, {steps} steps, {seen:?}");
    assert!(compared * 3 > modules && steps > 10 * modules);
    // All kinds of edges that there are.
    assert_eq!(seen.len(), 10, "{seen:?}");
}
