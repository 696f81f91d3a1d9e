//! Control-flow graphs: `tests/cfg/*.wat` beside the JSON and DOT that they give, and what must hold for any module.
//!
//! `BLESS=1 cargo test -p fuzzbox-instrument --test cfg` rewrites the expected files.

use std::path::{Path, PathBuf};

use fuzzbox_instrument::{
    BlockKind, Cfg, Cfgs, Edge, EdgeKind, Flow, FlowKind, Options, instrument, translate_legacy_exceptions,
};
use wasm_encoder::{
    BlockType, Catch, CodeSection, Function, FunctionSection, InstructionSink, Module, TypeSection, ValType,
};

fn modules(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wat"));
    paths.sort();
    paths
}

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cfg").join(name).with_extension("wat");
    wat::parse_file(path).unwrap()
}

fn text(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

#[test]
fn golden_graphs_are_as_expected() {
    let mut wrong = Vec::new();
    for path in modules("cfg") {
        let wasm = wat::parse_file(&path).unwrap();
        let (mut json, mut dot) = (String::new(), String::new());
        for cfg in Cfgs::new(&wasm).unwrap() {
            let cfg = cfg.unwrap();
            json += &cfg.to_json().unwrap();
            dot += &cfg.to_dot().unwrap();
        }
        for (extension, found) in [("json", json), ("dot", dot)] {
            let expected = path.with_extension(extension);
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&expected, found).unwrap();
            } else if std::fs::read_to_string(&expected).ok() != Some(found) {
                wrong.push(expected);
            }
        }
    }
    assert!(wrong.is_empty(), "not as expected (BLESS=1 rewrites): {wrong:?}");
}

/// Checks all graphs of a module against its edge map, and what holds for any graph. Gives how many edges were there.
fn check(wasm: &[u8]) -> usize {
    let map = instrument(wasm, &Options::default()).unwrap().edges;
    let cfgs = Cfgs::new(wasm).unwrap();
    assert_eq!(cfgs.names(), map.functions);
    let mut edges = map.edges.as_slice();
    for cfg in cfgs {
        let cfg = cfg.unwrap();
        let (ours, others) = edges.split_at(edges.partition_point(|edge| edge.function == cfg.function()));
        assert_eq!(cfg.edges().start as usize, map.edges.len() - edges.len());
        edges = others;
        assert_eq!(cfg.edges().len(), ours.len());
        assert_eq!(cfg.name(), map.function_name(cfg.function()));
        for (number, edge) in cfg.edges().zip(ours) {
            check_edge(&cfg, number, edge);
        }
        check_shape(&cfg);
    }
    assert!(edges.is_empty());
    map.edges.len()
}

/// An edge of the map is the one in the graph: same kind, at the last operator of its block.
fn check_edge(cfg: &Cfg, number: u32, edge: &Edge) {
    let &Flow { from, to, kind, edge: own, back, .. } = cfg.flow(number).unwrap();
    assert_eq!((own, kind, back), (Some(number), FlowKind::Counted(edge.kind), edge.back));
    let at = |block: u32| cfg.blocks()[block as usize];
    match edge.kind {
        EdgeKind::Entry => assert_eq!((from, at(to).start), (Cfg::ENTRY, edge.offset)),
        EdgeKind::Catch { .. } => assert_eq!((at(from).kind, at(from).start), (BlockKind::Catch, edge.offset)),
        _ => assert_eq!(cfg.block_at(edge.offset), Some(from)),
    }
    // Loops are entered at their heads, so a branch back is one to what dominates it.
    let dominators = cfg.dominators();
    assert!(!dominators.contains(from) || dominators.dominates(to, from) == back);
}

fn check_shape(cfg: &Cfg) {
    let (blocks, flows) = (cfg.blocks(), cfg.flows());
    assert_eq!((blocks[0].kind, blocks[1].kind), (BlockKind::Entry, BlockKind::Exit));
    assert!(flows.iter().all(|flow| flow.to != Cfg::ENTRY && flow.from != Cfg::EXIT));
    let mut end = blocks[0].start;
    for (number, block) in (2..).zip(&blocks[2..]) {
        let out: Vec<_> = flows.iter().filter(|flow| flow.from == number).collect();
        assert!(!out.is_empty());
        if block.kind == BlockKind::Code {
            assert!(end <= block.start && block.start < block.end && block.end <= blocks[1].end);
            end = block.end;
            assert_eq!(cfg.block_at(block.start), Some(number));
            assert_eq!(cfg.block_at(block.end - 1), Some(number));
            // What is not counted follows from what is: at most a call's two ways are not, or the only one.
            let open = out.iter().filter(|flow| flow.edge.is_none()).count();
            assert!(open == 0 || out.len() == 1 || open == 2 && out[1].kind == FlowKind::Throw);
        } else {
            assert_eq!((block.kind, block.start), (BlockKind::Catch, block.end));
        }
    }
    let uncaught = flows.iter().filter(|flow| flow.kind == FlowKind::Uncaught);
    assert!(uncaught.into_iter().all(|flow| blocks[flow.from as usize].kind == BlockKind::Catch));
}

/// All modules, as those that have graphs: without legacy exceptions.
fn current() -> Vec<Vec<u8>> {
    let paths = modules("golden").into_iter().chain(modules("cfg"));
    paths.map(|path| translate_legacy_exceptions(&wat::parse_file(path).unwrap()).unwrap().wasm).collect()
}

#[test]
fn edges_are_those_of_the_edge_map() {
    let edges: usize = current().iter().map(|wasm| check(wasm)).sum();
    assert!(edges > 120, "{edges}");
}

#[test]
fn legacy_exceptions_have_no_graph_until_they_are_translated() {
    let legacy = wat::parse_str("(module (func nop) (func try catch_all end))").unwrap();
    let error = format!("{:#}", Cfg::of(&legacy, 1).unwrap_err());
    assert!(error.contains("legacy exceptions in function 1"), "{error}");
    assert!(Cfg::of(&translate_legacy_exceptions(&legacy).unwrap().wasm, 1).is_ok());
}

/// The triangle example of search-based testing: n1 to n9 are tests and results in code order.
#[test]
fn triangle_depends_as_published() {
    let cfg = Cfg::of(&golden("triangle"), 0).unwrap();
    // Between n4 and n5 is the end of the first inner `if`.
    let [n1, n2, n3, n4, n5, n6, n7, n8, n9] = [2, 3, 4, 5, 7, 8, 9, 10, 11];
    let dependence = cfg.control_dependence();
    let expected = [
        (n1, vec![]),
        (n2, vec![n1]),
        (n3, vec![n2]),
        (n4, vec![n2]),
        (n5, vec![n1]),
        (n6, vec![n5]),
        (n7, vec![n5]),
        (n8, vec![n7]),
        (n9, vec![n7]),
    ];
    for (block, on) in expected {
        assert_eq!(dependence.of(block), on, "{block}");
    }
    let level = |target: u32, path: &[u32]| {
        let levels = dependence.approach_levels(target);
        path.iter().filter_map(|&block| levels[block as usize]).min()
    };
    let (scalene, isosceles, equilateral) = (&[n1, n5, n7, n9], &[n1, n2, n4], &[n1, n2, n3]);
    assert_eq!([level(n3, scalene), level(n3, isosceles), level(n3, equilateral)], [Some(2), Some(1), Some(0)]);
    let levels = [isosceles, &[n1, n5, n6][..], scalene, &[n1, n5, n7, n8]].map(|path| level(n8, path));
    assert_eq!(levels, [Some(3), Some(2), Some(1), Some(0)]);
    assert_eq!(level(n8, &[Cfg::ENTRY, Cfg::EXIT]), None);
    // Here it makes no difference whether a branch must dominate what depends on it.
    let dominators = cfg.dominators();
    assert!((0..15).all(|block| dependence.of(block).iter().all(|&on| dominators.dominates(on, block))));
}

#[test]
fn gcd_depends_as_published() {
    let cfg = Cfg::of(&golden("gcd"), 0).unwrap();
    let [less, swap, before, test, body, result] = [2, 3, 4, 5, 6, 7];
    let dependence = cfg.control_dependence();
    let of = |block| dependence.of(block);
    assert_eq!(
        [of(less), of(swap), of(before), of(test), of(body), of(result)],
        [vec![], vec![less], vec![], vec![], vec![test], vec![]]
    );
    let loops = cfg.loops();
    assert_eq!((loops.heads(), loops.innermost(body), loops.depth(result)), (&[test][..], Some(test), 0));
    // Here it makes no difference whether a branch must dominate what depends on it.
    let dominators = cfg.dominators();
    assert!((0..=result).all(|block| of(block).iter().all(|&on| dominators.dominates(on, block))));
}

#[test]
fn what_follows_a_join_depends_on_branches_that_do_not_dominate_it() {
    // if (a) return; if (b) {x} else {return}; y: y is reached from both, and neither of the tests dominates it alone.
    let wasm = text(
        "(module (func (param i32 i32)
            (block $y
                (if (local.get 0) (then (br_if $y (local.get 1)) return))
                (br_if $y (local.get 1))
                return)
            nop))",
    );
    let cfg = Cfg::of(&wasm, 0).unwrap();
    let y = cfg.blocks().len() as u32 - 1;
    let on = cfg.control_dependence().of(y);
    let dominators = cfg.dominators();
    assert_eq!(on.len(), 2);
    assert!(on.iter().all(|&on| !dominators.dominates(on, y)));
}

#[test]
fn endless_loops_have_post_dominators() {
    let cfg = Cfg::of(&golden("ways_out"), 1).unwrap();
    let loops = cfg.loops();
    let endless = cfg.endless();
    assert_eq!(loops.heads().len(), 4);
    assert_eq!(endless.len(), 2);
    assert!(endless.iter().all(|&head| loops.is_head(head)));
    assert_eq!(loops.heads().iter().map(|&head| loops.depth(head)).collect::<Vec<_>>(), [1, 1, 2, 1]);
    let post = cfg.post_dominators();
    assert!((0..cfg.blocks().len() as u32).all(|block| post.contains(block) && post.dominates(Cfg::EXIT, block)));
    // The endless loop inside the first one is entered by a test, and so is the way to the last.
    assert_eq!(cfg.control_dependence().of(endless[0]).len(), 1);
}

#[test]
fn what_has_no_code_or_is_no_module_is_refused() {
    let error = |wasm: &[u8], function| format!("{:#}", Cfg::of(wasm, function).unwrap_err());
    let wasm = golden("empty");
    assert_eq!(error(&wasm, 0), "imports function 0, so it has no code for it");
    assert_eq!(error(&wasm, 3), "has 3 functions, so there is none with index 3");
    assert_eq!(error(b"", 0), "is empty");
    assert!(error(&text("(component)"), 0).starts_with("is a component; only core modules can be rewritten"));
    // The error is another function's, and the module's all the same.
    let invalid = text("(module (func) (func (result i32)))");
    assert!(error(&invalid, 0).starts_with("is not valid wasm: type mismatch: expected i32"));
    let mut cfgs = Cfgs::new(&invalid).unwrap();
    assert!(cfgs.next().unwrap().is_ok() && cfgs.next().unwrap().is_err() && cfgs.next().is_none());
}

/// A module with one function of one parameter.
fn module(body: impl FnOnce(&mut InstructionSink<'_>)) -> Vec<u8> {
    let (mut types, mut functions, mut code) = (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function([ValType::I32], []);
    functions.function(0);
    let mut function = Function::new([]);
    body(&mut function.instructions());
    function.instructions().end();
    code.function(&function);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&code);
    module.finish()
}

/// None of these is a matter of recursion, nor of the square of its size; only their lists can be too long.
#[test]
fn monstrous_bodies_have_graphs_in_no_time() {
    const DEEP: u32 = 100_000;
    let nested_loops = module(|code| {
        for _ in 0..DEEP {
            code.loop_(BlockType::Empty);
        }
        for _ in 0..DEEP {
            code.local_get(0).br_if(0).end();
        }
    });
    let cfg = Cfg::of(&nested_loops, 0).unwrap();
    let (loops, dependence, dominators) = (cfg.loops(), cfg.control_dependence(), cfg.dominators());
    let innermost = 2 + DEEP;
    assert_eq!((loops.heads().len(), loops.depth(innermost)), (DEEP as usize, DEEP));
    assert_eq!(dominators.depth(innermost), DEEP + 1);
    // Each loop's test decides whether all that is in it comes again; the innermost block is a test itself.
    assert_eq!(dependence.of(innermost).len() as u32, DEEP - 1);
    assert_eq!(dependence.approach_levels(innermost).iter().flatten().max(), Some(&1));
    let too_many = "has a function with more than 8388608 control dependences, too many to list";
    assert_eq!(cfg.to_json().unwrap_err().to_string(), too_many);
    assert_eq!(cfg.to_dot().unwrap_err().to_string(), too_many);

    let nested_ifs = module(|code| {
        for _ in 0..DEEP {
            code.local_get(0).if_(BlockType::Empty);
        }
        for _ in 0..DEEP {
            code.else_().end();
        }
    });
    let cfg = Cfg::of(&nested_ifs, 0).unwrap();
    let dependence = cfg.control_dependence();
    assert_eq!(dependence.approach_levels(2 + DEEP)[2], Some(DEEP));
    assert_eq!(cfg.to_json().unwrap().lines().filter(|line| line.contains("if_taken")).count() as u32, DEEP);

    let row = module(|code| {
        code.block(BlockType::Empty);
        for _ in 0..5 * DEEP {
            code.local_get(0).br_if(0);
        }
        code.end();
    });
    let cfg = Cfg::of(&row, 0).unwrap();
    assert_eq!(cfg.dominators().parent(2 + 5 * DEEP + 1), Some(2));
    assert_eq!(cfg.control_dependence().of(2 + 5 * DEEP), [1 + 5 * DEEP]);

    let arms = module(|code| {
        for _ in 0..1_000 {
            code.block(BlockType::Empty);
        }
        code.local_get(0).br_table((0..1_000_000).map(|arm| arm % 1_000), 0);
        for _ in 0..1_000 {
            code.end();
        }
    });
    let cfg = Cfg::of(&arms, 0).unwrap();
    assert_eq!(cfg.flows().iter().filter(|flow| flow.from == 2).count(), 1_000_001);
    assert_eq!(cfg.control_dependence().of(3), [2]);

    let handlers = module(|code| {
        code.block(BlockType::Empty);
        for depth in 0..DEEP {
            code.try_table(BlockType::Empty, [Catch::All { label: depth }]);
        }
        for _ in 0..DEEP {
            code.local_get(0).call(0).end();
        }
        code.end();
    });
    let cfg = Cfg::of(&handlers, 0).unwrap();
    assert_eq!(cfg.post_dominators().parent(Cfg::ENTRY), Some(2));
    assert_eq!(cfg.flows().iter().filter(|flow| flow.kind == FlowKind::Throw).count() as u32, DEEP);
}

#[test]
fn broken_modules_have_a_graph_or_an_error() {
    let mut state = 1u64;
    let mut random = |limit: usize| {
        // Knuth's MMIX generator; its high bits are good enough to choose with.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let modules: Vec<_> = current().into_iter().filter(|wasm| wasm.len() > 8).collect();
    let (mut graphs, mut errors) = (0, 0);
    for case in 0..4_000 {
        let mut wasm = modules[case % modules.len()].clone();
        for _ in 0..=random(3) {
            let at = 8 + random(wasm.len() - 8);
            wasm[at] = if random(2) == 0 { random(256) as u8 } else { wasm[at] ^ 1 << random(8) };
        }
        let cfgs: anyhow::Result<Vec<_>> = Cfgs::new(&wasm).and_then(Iterator::collect);
        match cfgs {
            Ok(_) if instrument(&wasm, &Options::default()).is_ok() => {
                check(&wasm);
                graphs += 1;
            }
            Ok(_) => {}
            Err(error) => {
                errors += 1;
                let legacy = format!("{error:#}").contains("legacy exceptions");
                assert!(legacy || instrument(&wasm, &Options::default()).is_err());
            }
        }
    }
    assert!(graphs > 500 && errors > 500, "{graphs} graphs, {errors} errors");
}
