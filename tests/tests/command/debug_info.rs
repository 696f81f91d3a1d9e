//! Lines from files beside a module: the same as from the module itself, in every verb that shows them.

use fuzzbox::outcome::Frame;
use fuzzbox::symbols::{DebugInfo, Fit, Source, Symbols};
use fuzzbox_instrument::{Cfgs, EdgeMap, Options};
use fuzzbox_tests::command::{Fuzzbox, Ran, example};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;
use wasm_encoder::{CustomSection, Encode, Module, RawSection};
use wasmparser::{Parser, Payload};

/// The module's sections that `keep` keeps by their name (code's and the like is empty), and one more.
fn rebuild(module: &[u8], keep: impl Fn(&str) -> bool, more: Option<(&str, &str)>) -> Vec<u8> {
    let mut rebuilt = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.unwrap();
        let name = if let Payload::CustomSection(section) = &payload { section.name() } else { "" };
        if let Some((id, range)) = payload.as_section().filter(|_| keep(name)) {
            rebuilt.section(&RawSection { id, data: &module[range.start as usize..range.end as usize] });
        }
    }
    if let Some((name, url)) = more {
        let mut data = Vec::new();
        url.encode(&mut data);
        rebuilt.section(&CustomSection { name: Cow::Borrowed(name), data: Cow::Owned(data) });
    }
    rebuilt.finish()
}

/// The module without DWARF, with a custom section of this name that holds `url`.
fn stripped(module: &[u8], more: Option<(&str, &str)>) -> Vec<u8> {
    rebuild(module, |name| !name.starts_with(".debug"), more)
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(example(name)).unwrap()
}

fn edges(module: &[u8]) -> EdgeMap {
    fuzzbox_instrument::instrument(module, &Options::default()).unwrap().edges
}

fn symbols(module: &[u8], edges: &EdgeMap) -> Symbols {
    Symbols::new(module, |index| edges.function_name(index).map(ToOwned::to_owned))
}

/// A source map that says of the edges' offsets what is in `sources`.
fn source_map(frames: &[Frame], sources: &[Option<Source>]) -> Vec<u8> {
    let (mut mappings, mut files, mut last) = (Vec::new(), Vec::new(), [0; 4]);
    for (frame, source) in frames.iter().zip(sources) {
        let mut fields = vec![i64::from(frame.offset)];
        if let Some(Source { file, line, column }) = source {
            let index = files.iter().position(|known| known == file).unwrap_or_else(|| {
                files.push(file.clone());
                files.len() - 1
            });
            let number = |number: Option<u32>| i64::from(number.unwrap_or(1)) - 1;
            fields.extend([index as i64, number(*line), number(*column)]);
        }
        for (field, last) in fields.iter().zip(&mut last) {
            vlq::encode(*field - std::mem::replace(last, *field), &mut mappings).unwrap();
        }
        mappings.push(b',');
    }
    json!({ "version": 3, "sources": files, "mappings": String::from_utf8(mappings).unwrap() }).to_string().into()
}

#[test]
fn every_edge_has_the_same_place_from_a_companion_and_from_a_map() {
    let (mut total, mut known) = (0, 0);
    for name in ["first-bug", "json", "stdin-tool", "cjson", "expat"] {
        let module = std::fs::read(fuzzbox_tests::guest(name).unwrap()).unwrap();
        let bare = stripped(&module, None);
        let map = edges(&module);
        assert_eq!(edges(&bare), map);
        let frames: Vec<_> =
            map.edges.iter().map(|edge| Frame { function: edge.function, offset: edge.offset }).collect();
        let expected = symbols(&module, &map).sources(&frames);
        let resolved = symbols(&module, &map).resolve(&frames);
        total += frames.len();
        known += expected.iter().flatten().count();

        let without_code = rebuild(&module, |name| name.starts_with(".debug"), None);
        for (companion, fit) in [(&module, Fit::Same), (&without_code, Fit::Unknown)] {
            let info = DebugInfo::parse(companion).unwrap();
            assert_eq!(info.fits(&bare), fit);
            let symbols = symbols(&bare, &map).with_debug_info(info);
            assert_eq!(symbols.resolve(&frames), resolved, "{name}");
            assert_eq!(symbols.sources(&frames), expected, "{name}");
        }

        let info = DebugInfo::parse(&source_map(&frames, &expected)).unwrap();
        assert_eq!(info.fits(&bare), Fit::Same);
        let found = symbols(&bare, &map).with_debug_info(info).sources(&frames);
        let with_column = |source: &Option<Source>| {
            source.clone().map(|source| Source {
                line: source.line.or(Some(1)),
                column: source.column.or(Some(1)),
                ..source
            })
        };
        assert_eq!(found, expected.iter().map(with_column).collect::<Vec<_>>(), "{name}");
    }
    assert!(known * 1000 > total * 999 && total > 20_000, "{known} of {total} edges have a place");
}

/// A directory with a module without DWARF and the companion that it names.
fn split(fuzzbox: &Fuzzbox, url: &str) -> (Vec<u8>, String) {
    let module = read("first-bug");
    let path = fuzzbox.dir().join("guest.wasm");
    std::fs::write(&path, stripped(&module, Some(("external_debug_info", url)))).unwrap();
    (module, path.to_str().unwrap().to_owned())
}

fn write(fuzzbox: &Fuzzbox, name: &str, bytes: &[u8]) {
    let path = fuzzbox.dir().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// The first finding of a run until there is one.
fn finding(fuzzbox: &Fuzzbox, module: &str, flags: &[&str]) -> (Value, Ran) {
    let args = ["--execs", "2000000", "--seed", "1", "--stop-on", "first", "--reporter", "json"];
    let ran = fuzzbox.run("run", &[module], &[&args, flags].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    let done = ran.json_lines().pop().unwrap();
    (done["findings"][0].clone(), ran)
}

#[test]
fn findings_of_a_split_module_are_those_of_the_whole() {
    let whole = Fuzzbox::new();
    let (expected, _) = finding(&whole, &example("first-bug"), &[]);
    let fuzzbox = Fuzzbox::new();
    let (module, path) = split(&fuzzbox, "debug/guest.debug.wasm");
    write(&fuzzbox, "debug/guest.debug.wasm", &module);
    let (found, ran) = finding(&fuzzbox, &path, &[]);
    assert_eq!(found, expected, "ids, signatures and lines");
    assert_eq!(ran.stderr, "");

    // The store has no file beside the module: the lines are those of the finding, or of the flag.
    let id = found["id"].as_str().unwrap();
    let again = |verb: &str, flags: &[&str]| fuzzbox.run(verb, &[&id[..8]], &[&["--json"], flags].concat());
    let repro = again("repro", &[]);
    assert_eq!(repro.json_lines()[0]["frames"], expected["frames"], "{repro:?}");
    let known = &repro.json_lines()[0];
    assert!(
        known["same"] == true && known["signature"] != known["expected"],
        "lines are lost, the failure is known: {repro:?}"
    );
    std::fs::remove_dir_all(fuzzbox.dir().join("debug")).unwrap();
    let dwarf = example("first-bug");
    for verb in ["repro", "show"] {
        let shown = again(verb, &["--debug-info", &dwarf]);
        assert_eq!(shown.json_lines()[0]["frames"], expected["frames"], "{shown:?}");
        assert_eq!(shown.stderr, "");
    }
}

#[test]
fn lines_can_come_later_than_the_finding() {
    let fuzzbox = Fuzzbox::new();
    let (_, path) = split(&fuzzbox, "guest.debug.wasm");
    let (found, ran) = finding(&fuzzbox, &path, &[]);
    assert_eq!(ran.stderr, "", "a companion that was not shipped is nothing to warn of");
    let frames = found["frames"].as_array().unwrap();
    assert!(frames.iter().all(|frame| frame["file"].is_null()), "{found}");
    let inspected = fuzzbox.run("inspect", &[&path], &[]);
    assert!(inspected.stdout.contains("debug     `guest.debug.wasm` is not there"), "{inspected:?}");

    let id = &found["id"].as_str().unwrap()[..8];
    let place = "draw_runs at examples/first-bug/first-bug.c:";
    let dwarf = example("first-bug");
    for verb in ["show", "repro"] {
        let without = fuzzbox.run(verb, &[id], &[]);
        let with = fuzzbox.run(verb, &[id], &["--debug-info", &dwarf]);
        assert!(!without.stdout.contains(place) && with.stdout.contains(place), "{without:?} {with:?}");
        let wrong = fuzzbox.run(verb, &[id], &["--debug-info", &path]);
        assert!(wrong.code == 2 && wrong.stderr.contains("a wasm file without DWARF"), "{wrong:?}");
    }
    // A run with it finds the same, and shows lines.
    let (with, _) = finding(&Fuzzbox::new(), &path, &["--debug-info", &dwarf]);
    assert_eq!(with["id"], found["id"]);
    let signatures = [&found, &with].map(|finding| finding["signature"].as_str().unwrap().to_owned());
    assert!(signatures[0].contains(": draw_runs@") && signatures[1].contains(": draw_runs:+4 <"), "{signatures:?}");
    // In one store it is one finding, whichever comes first.
    let (_, _) = (finding(&fuzzbox, &path, &["--debug-info", &dwarf]), finding(&fuzzbox, &path, &[]));
    let ls = fuzzbox.run("ls", &[], &["--json"]);
    let kept = ls.json_lines()[0]["findings"].as_array().unwrap().clone();
    assert_eq!((kept.len(), kept[0]["signature"].as_str()), (1, Some(&*signatures[1])), "{ls:?}");
    assert!(with["frames"][0]["line"].is_u64(), "{with}");
}

#[test]
fn a_module_does_not_choose_what_is_read_outside_of_its_directory() {
    let fuzzbox = Fuzzbox::new();
    let outside = fuzzbox.dir().join("outside.wasm");
    std::fs::write(&outside, read("first-bug")).unwrap();
    for url in ["../outside.wasm", "a/../../outside.wasm", outside.to_str().unwrap(), "/dev/stdin"] {
        let module = stripped(&read("first-bug"), Some(("external_debug_info", url)));
        write(&fuzzbox, "in/guest.wasm", &module);
        let ran = fuzzbox.run("inspect", &["in/guest.wasm"], &["--json"]);
        assert_eq!((ran.code, &ran.json_lines()[0]["lines"]), (0, &Value::Null), "{url}");
        assert_eq!(ran.stderr.matches("is not below the module's directory").count(), 1, "{ran:?}");
        let ran = fuzzbox.run("inspect", &["in/guest.wasm"], &["--json", "--debug-info", "outside.wasm"]);
        assert_eq!((&ran.json_lines()[0]["lines"], &*ran.stderr), (&json!("DWARF in `outside.wasm`"), ""));
    }
    // What is no file, endless, huge, or the module itself gives one warning; what is of the network gives none.
    // A link may lead to anything, of whatever name: also to what would be right.
    let (elsewhere, link) = (tempfile::tempdir().unwrap(), |to: &Path, name| {
        std::os::unix::fs::symlink(to, fuzzbox.dir().join(name)).unwrap();
    });
    std::fs::write(elsewhere.path().join("outside.wasm"), read("first-bug")).unwrap();
    link(&elsewhere.path().join("outside.wasm"), "link.wasm");
    link(elsewhere.path(), "linked");
    link(Path::new("/dev/zero"), "zero.wasm");
    link(Path::new("cycle.wasm"), "cycle.wasm");
    std::fs::File::create(fuzzbox.dir().join("huge.wasm")).unwrap().set_len(1 << 40).unwrap();
    for (url, warning) in [
        ("in", "it is a directory"),
        ("link.wasm", "it is reached by a symbolic link; --debug-info reads it all the same"),
        ("linked/outside.wasm", "it is reached by a symbolic link; --debug-info reads it all the same"),
        ("zero.wasm", "it is reached by a symbolic link; --debug-info reads it all the same"),
        ("guest.wasm", "a wasm file without DWARF"),
        ("https://example.org/a.wasm", ""),
        ("guest.wasm/x", "failed to read"),
        ("cycle.wasm", "failed to read"),
        ("huge.wasm", "it is larger than 512 MiB"),
    ] {
        let (_, path) = split(&fuzzbox, url);
        std::fs::create_dir_all(fuzzbox.dir().join("in")).unwrap();
        let ran = fuzzbox.run("inspect", &[&path], &["--json"]);
        assert_eq!((ran.code, &ran.json_lines()[0]["lines"]), (0, &Value::Null), "{url}");
        assert!(
            ran.stderr.contains(warning) && ran.stderr.lines().count() == usize::from(!warning.is_empty()),
            "{ran:?}"
        );
    }
}

#[test]
fn debug_information_of_another_build_is_warned_of_once() {
    let fuzzbox = Fuzzbox::new();
    let (module, path) = split(&fuzzbox, "guest.debug.wasm");
    let lines = |flags: &[&str], warning: &str| {
        let ran = fuzzbox.run("inspect", &[&path], &[&["--json"], flags].concat());
        assert_eq!((ran.code, ran.stderr.lines().count()), (0, 1), "{ran:?}");
        assert!(ran.stderr.contains(warning), "{ran:?}");
        ran.json_lines()[0]["lines"].clone()
    };
    write(&fuzzbox, "guest.debug.wasm", &read("json"));
    assert_eq!(lines(&[], "of another build"), Value::Null, "wrong lines are worse than none");
    let used = lines(&["--debug-info", "guest.debug.wasm"], "of another build");
    assert_eq!(used, "DWARF in `guest.debug.wasm`");
    write(&fuzzbox, "guest.debug.wasm", &rebuild(&module, |name| name.starts_with(".debug"), None));
    assert_eq!(lines(&[], "neither code nor a build id"), "DWARF in `guest.debug.wasm`");
    write(&fuzzbox, "guest.debug.wasm", b"{\"version\":3,\"mappings\":\"+/////D\"}");
    lines(&[], "of another build");
    write(&fuzzbox, "guest.debug.wasm", b"{\"version\":3,");
    assert_eq!(lines(&[], "it is no source map"), Value::Null);
}

#[test]
fn blocks_of_a_graph_have_lines() {
    let fuzzbox = Fuzzbox::new();
    let (module, path) = split(&fuzzbox, "guest.debug.wasm");
    let draw = |path: &str, flags: &[&str]| fuzzbox.run("inspect", &[path], &[&["--cfg", "draw_runs"], flags].concat());
    let without = draw(&path, &[]);
    write(&fuzzbox, "guest.debug.wasm", &module);
    let (json, dot) = (draw(&path, &[]), draw(&path, &["--format", "dot"]));
    assert_eq!(json.stdout, draw(&example("first-bug"), &[]).stdout);
    let graph = |ran: &Ran| serde_json::from_str::<Value>(&ran.stdout).unwrap();
    let (mut with, without) = (graph(&json), graph(&without));

    let wasm = std::fs::read(&path).unwrap();
    let index = with["function"].as_u64().unwrap() as u32;
    let cfg = Cfgs::new(&wasm).unwrap().function(index).unwrap();
    let symbols = Symbols::new(&module[..], |_| None);
    let mut known = 0;
    for (block, shown) in cfg.blocks().iter().zip(with["blocks"].as_array_mut().unwrap()) {
        let source = symbols.source(Frame { function: index, offset: block.start });
        let shown = shown.as_object_mut().unwrap();
        let place = (shown.remove("file"), shown.remove("line"));
        if block.kind == fuzzbox_instrument::BlockKind::Exit {
            assert_eq!(place, (None, None));
        } else if let Some(Source { file, line: Some(line), .. }) = source {
            assert!(dot.stdout.contains(&format!("{:#x}", block.start)) || block.start == block.end);
            assert!(dot.stdout.contains(&format!("\\n{file}:{line}")), "{dot:?}");
            assert_eq!(place, (Some(json!(file)), Some(json!(line))));
            known += 1;
        }
    }
    assert!(known > 5, "{json:?}");
    assert_eq!(with, without, "nothing else is different");
}

#[test]
fn a_guest_with_a_source_map_shows_lines() {
    let fuzzbox = Fuzzbox::new();
    let data = fuzzbox_tests::workspace().join("host/tests/data");
    let module = data.join("table.wasm");
    write(&fuzzbox, "seeds/9", b"9");
    let show = |module: &str, flags: &[&str]| finding(&Fuzzbox::new(), module, flags).0["frames"].clone();
    let seeds = fuzzbox.dir().join("seeds");
    let corpus = ["--corpus", seeds.to_str().unwrap()];
    let frames = show(module.to_str().unwrap(), &corpus);
    let places: Vec<_> = frames
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| format!("{} {} {}", frame["function"].as_str().unwrap(), frame["file"], frame["line"]))
        .collect();
    assert_eq!(
        places,
        [
            "table/fail \"table/table.ts\" 22",
            "~lib/staticarray/StaticArray<i32>#__get \"table/~lib/staticarray.ts\" 78",
            "table/Table#bump \"table/table.ts\" 13",
            "table/LLVMFuzzerTestOneInput \"table/table.ts\" 31",
        ]
    );

    // The map elsewhere, and in the module.
    let map_path = data.join("table.wasm.map");
    let map = std::fs::read(&map_path).unwrap();
    let keep = |name: &str| name != "sourceMappingURL";
    let wasm = std::fs::read(&module).unwrap();
    write(&fuzzbox, "bare.wasm", &rebuild(&wasm, keep, None));
    let path = |name: &str| fuzzbox.dir().join(name).to_str().unwrap().to_owned();
    let with_map = [&corpus[..], &["--debug-info", map_path.to_str().unwrap()]].concat();
    assert_eq!(show(&path("bare.wasm"), &with_map), frames);
    let map = String::from_utf8(map).unwrap();
    let url = format!("data:application/json,{}", map.replace('%', "%25").replace('#', "%23"));
    write(&fuzzbox, "inline.wasm", &rebuild(&wasm, keep, Some(("sourceMappingURL", &url))));
    assert_eq!(show(&path("inline.wasm"), &corpus), frames);
    let inspected = fuzzbox.run("inspect", &[&path("inline.wasm")], &["--json"]);
    assert_eq!(inspected.json_lines()[0]["lines"], "source map in the module");
}

#[test]
fn the_flag_is_for_one_target() {
    let fuzzbox = Fuzzbox::new();
    let (a, b) = (example("first-bug"), example("json"));
    let ran = fuzzbox.run("run", &[&a, &b], &["--debug-info", &a]);
    assert!(ran.code == 2 && ran.stderr.contains("--debug-info is for one target"), "{ran:?}");
    let ran = fuzzbox.run("run", &[&a], &["--debug-info", "missing.wasm"]);
    assert!(ran.code == 2 && ran.stderr.contains("failed to read debug information `missing.wasm`"), "{ran:?}");
    assert!(!fuzzbox.store().exists());
}
