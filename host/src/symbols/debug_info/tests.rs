use super::super::tests::{LINES, leb128};
use super::super::{Source, Symbols};
use super::*;
use crate::outcome::Frame;
use wasmparser::{Parser, Payload};

const TABLE: &[u8] = include_bytes!("../../../tests/data/table.wasm");
const TABLE_MAP: &[u8] = include_bytes!("../../../tests/data/table.wasm.map");

/// A module of the sections that `keep` keeps, which is asked with a section's id and name, and then of `more`.
fn sections(module: &[u8], keep: impl Fn(u8, &str) -> bool, more: &[(&str, &[u8])]) -> Vec<u8> {
    let mut made = module[..8].to_vec();
    let mut push = |id: u8, contents: &[u8]| {
        made.push(id);
        leb128(&mut made, contents.len());
        made.extend(contents);
    };
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.unwrap();
        let Some((id, range)) = payload.as_section() else { continue };
        let name = if let Payload::CustomSection(section) = &payload { section.name() } else { "" };
        if keep(id, name) {
            push(id, &module[range.start as usize..range.end as usize]);
        }
    }
    for (name, data) in more {
        push(0, &[&[name.len() as u8], name.as_bytes(), data].concat());
    }
    made
}

fn is_code(id: u8, _: &str) -> bool {
    id != 0
}

fn url(text: &str) -> Vec<u8> {
    let mut data = Vec::new();
    leb128(&mut data, text.len());
    data.extend(text.as_bytes());
    data
}

fn pointing(section: &str, to: &str) -> Option<Vec<Pointer>> {
    pointers(&sections(LINES, is_code, &[(section, &url(to))]))
}

/// All offsets of the module, each as if it were of each function.
fn everywhere(module: &[u8]) -> Vec<Frame> {
    let offsets = 0..module.len() as u32 + 10;
    offsets.flat_map(|offset| (0..4).map(move |function| Frame { function, offset })).collect()
}

#[test]
fn dwarf_that_was_split_off_says_what_it_said_in_the_module() {
    let embedded = Symbols::new(LINES, |_| None);
    let stripped = sections(LINES, is_code, &[]);
    // As emcc leaves it, with all sections, and as objcopy does, without code.
    for companion in [LINES.to_vec(), sections(LINES, |_, name| name.starts_with(".debug"), &[])] {
        let symbols = Symbols::new(&stripped[..], |_| None).with_debug_info(DebugInfo::parse(&companion).unwrap());
        let frames = everywhere(&stripped);
        assert_eq!(symbols.resolve(&frames), embedded.resolve(&frames));
        let sources = symbols.sources(&frames);
        assert_eq!(sources, embedded.sources(&frames));
        assert_eq!(sources.iter().flatten().count(), 171, "all bytes of three functions");
    }
    let nothing = Symbols::new(&stripped[..], |_| None).sources(&everywhere(&stripped));
    assert!(nothing.iter().all(Option::is_none));
}

#[test]
fn code_that_moved_in_the_file_is_found() {
    // Sections before the code, which a tool may put there, move file offsets but no DWARF addresses.
    let moved = [&LINES[..8], b"\0\x05\x04xxxx", &sections(LINES, is_code, &[])[8..]].concat();
    let symbols = Symbols::new(&moved[..], |_| None).with_debug_info(DebugInfo::parse(LINES).unwrap());
    let embedded = Symbols::new(LINES, |_| None);
    let count = (0x40..0xfd)
        .filter(|&offset| {
            let place = symbols.source(Frame { function: 0, offset: offset + 7 });
            assert_eq!(place, embedded.source(Frame { function: 0, offset }));
            place.is_some()
        })
        .count();
    assert!(count > 100, "{count}");
}

#[test]
fn a_map_made_from_dwarf_says_what_dwarf_says() {
    let embedded = Symbols::new(LINES, |_| None);
    let frames: Vec<_> = everywhere(LINES).into_iter().filter(|frame| embedded.source(*frame).is_some()).collect();
    let (mut mappings, mut last) = (Vec::new(), [0; 4]);
    let mut files: Vec<String> = Vec::new();
    let mut ordered = frames.clone();
    ordered.sort_by_key(|frame| frame.offset);
    for frame in ordered {
        let Source { file, line, column } = embedded.source(frame).unwrap();
        let index = files.iter().position(|known| *known == file).unwrap_or_else(|| {
            files.push(file);
            files.len() - 1
        });
        let number = |number: Option<u32>| i64::from(number.unwrap_or(1)) - 1;
        let fields = [i64::from(frame.offset), index as i64, number(line), number(column)];
        fields.iter().zip(last).for_each(|(field, last)| vlq::encode(field - last, &mut mappings).unwrap());
        mappings.push(b',');
        last = fields;
    }
    let json = serde_json::json!({ "version": 3, "sources": files, "mappings": String::from_utf8(mappings).unwrap() });
    let map = DebugInfo::parse(json.to_string().as_bytes()).unwrap();
    assert_eq!(map.fits(LINES), Fit::Same);
    let mapped = Symbols::new(LINES, |_| None).with_debug_info(map);
    for frame in frames {
        let (mut expected, found) = (embedded.source(frame).unwrap(), mapped.source(frame).unwrap());
        expected.column.get_or_insert(1);
        assert_eq!(found, expected, "{frame:?}");
    }
}

#[test]
fn a_map_by_a_compiler_names_file_and_line() {
    let info = DebugInfo::parse(TABLE_MAP).unwrap();
    let short = sections(LINES, is_code, &[]);
    assert_eq!((info.kind(), info.fits(TABLE), info.fits(&short)), ("source map", Fit::Same, Fit::Other));
    let symbols = Symbols::new(TABLE, |_| None).with_debug_info(info);
    let code = Layout::read(TABLE).code;
    let (mut lines, mut exact, mut near) = (Vec::new(), 0, 0);
    for (function, body) in (code.imported..).zip(&code.bodies) {
        let frames: Vec<_> = body.clone().map(|offset| Frame { function, offset }).collect();
        for source in symbols.sources(&frames).into_iter().flatten() {
            *(if source.column.is_some() { &mut exact } else { &mut near }) += 1;
            if source.file == "table/table.ts" {
                lines.push(source.line.unwrap());
            }
        }
        // The one that fails stands alone, and what follows it is no code of its line.
        if body.len() == 3 && TABLE[body.start as usize + 1] == 0 {
            let source = symbols.source(frames[1]).map(|at| (at.file, at.line, at.column));
            assert_eq!(source, Some(("table/table.ts".to_owned(), Some(22), Some(3))));
        }
    }
    lines.sort_unstable();
    lines.dedup();
    // As many as another reader of source maps finds; and those that the compiler gave no place.
    assert_eq!((exact, near), (457, 178));
    assert_eq!(lines, [6, 10, 13, 18, 22, 26, 27, 28, 29, 30, 31, 33]);
}

#[test]
fn a_function_without_mappings_has_not_those_of_the_one_before() {
    // The first of three functions has one mapping, at its first byte.
    let mut mappings = Vec::new();
    [0x50, 0, 0, 0].into_iter().for_each(|field| vlq::encode(field, &mut mappings).unwrap());
    let mappings = String::from_utf8(mappings).unwrap();
    let json = serde_json::json!({ "version": 3, "sources": ["a"], "mappings": mappings }).to_string();
    let symbols = Symbols::new(LINES, |_| None).with_debug_info(DebugInfo::parse(json.as_bytes()).unwrap());
    let is_known = |function, offset| symbols.source(Frame { function, offset }).is_some();
    assert!(is_known(0, 0x50) && is_known(0, 0xc8) && is_known(0, 0xc9));
    assert!(!is_known(0, 0x4f) && !is_known(0, 0xca) && !is_known(1, 0xd0) && !is_known(2, 0xed));
    assert!(!is_known(1, 0xc8), "that is no offset of function 1");
}

#[test]
fn pointers_lead_to_files_below_the_module_only() {
    let file = |path: &str| Pointer::File(path.into());
    for (to, pointer) in [
        ("a.debug.wasm", file("a.debug.wasm")),
        ("./debug/a.wasm", file("./debug/a.wasm")),
        ("a b.wasm", file("a b.wasm")),
        ("https://example.org/a.wasm", Pointer::Url("https://example.org/a.wasm".into())),
        ("file:///etc/passwd", Pointer::Url("file:///etc/passwd".into())),
        ("/etc/passwd", Pointer::Outside("/etc/passwd".into())),
        ("//host/a", Pointer::Outside("//host/a".into())),
        ("../a.wasm", Pointer::Outside("../a.wasm".into())),
        ("a/../../b", Pointer::Outside("a/../../b".into())),
        ("a/..", Pointer::Outside("a/..".into())),
        ("C:\\a.wasm", Pointer::Outside("C:\\a.wasm".into())),
        ("c:a.wasm", Pointer::Outside("c:a.wasm".into())),
        ("..\\a.wasm", Pointer::Outside("..\\a.wasm".into())),
        ("a\0b", Pointer::Outside("a\0b".into())),
    ] {
        for section in ["external_debug_info", "sourceMappingURL"] {
            assert_eq!(pointing(section, to), Some(vec![pointer.clone()]), "{section} {to}");
        }
    }
    assert_eq!(pointing("sourceMappingURL", ""), Some(vec![]));
    assert_eq!(pointing("something_else", "a"), Some(vec![]));
    assert_eq!(pointers(&sections(LINES, is_code, &[("sourceMappingURL", b"\x7fabc")])), Some(vec![]));
    assert_eq!(pointers(b"not a module"), Some(vec![]));
    let both =
        [("sourceMappingURL", &url("m")[..]), ("external_debug_info", &url("d")), ("sourceMappingURL", &url("x"))];
    assert_eq!(pointers(&sections(LINES, is_code, &both)), Some(vec![file("d"), file("m")]));
    assert_eq!(pointers(&sections(LINES, |_, _| true, &both)), None, "it has DWARF itself");
    assert_eq!(pointers(TABLE), Some(vec![file("./table.wasm.map")]));
}

#[test]
fn a_map_can_be_in_the_module() {
    const JSON: &str = r#"{"version":3,"sources":[],"mappings":""}"#;
    let base64 = "eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXSwibWFwcGluZ3MiOiIifQ==";
    let encoded = format!("data:application/json;base64,{base64}");
    let plain = format!("DATA:,{}", JSON.replace('"', "%22"));
    for to in [&encoded, &plain] {
        assert_eq!(pointing("sourceMappingURL", to), Some(vec![Pointer::Data(JSON.into())]), "{to}");
    }
    for to in ["data:application/json", "data:;base64,a", "data:;base64,!!!!"] {
        let pointers = pointing("sourceMappingURL", to).unwrap();
        assert!(matches!(&pointers[..], [Pointer::Broken(why)] if why.contains("`data:` URL")), "{pointers:?}");
    }
}

#[test]
fn debug_information_of_another_build_is_told() {
    let id = |id: &'static [u8]| [("build_id", id)];
    let build = |module: &[u8], keep: &dyn Fn(u8, &str) -> bool, id: &[(&str, &[u8])]| sections(module, keep, id);
    let fit = |companion: &[u8], module: &[u8]| DebugInfo::parse(companion).unwrap().fits(module);
    let debug = |_: u8, name: &str| name.starts_with(".debug");
    let with_code = |id: u8, name: &str| id != 0 || name.starts_with(".debug");

    assert_eq!(fit(LINES, &build(LINES, &is_code, &[])), Fit::Same);
    assert_eq!(fit(LINES, TABLE), Fit::Other);
    // Code decides, whatever the ids say.
    assert_eq!(fit(&build(LINES, &with_code, &id(b"\x02ab")), &build(LINES, &is_code, &id(b"\x02xy"))), Fit::Same);
    assert_eq!(fit(&build(LINES, &with_code, &id(b"\x02ab")), &build(TABLE, &is_code, &id(b"\x02ab"))), Fit::Other);
    // Without code, the ids do.
    assert_eq!(fit(&build(LINES, &debug, &id(b"\x02ab")), &build(LINES, &is_code, &id(b"\x02ab"))), Fit::Same);
    assert_eq!(fit(&build(LINES, &debug, &id(b"\x02ab")), &build(LINES, &is_code, &id(b"\x02xy"))), Fit::Other);
    for damaged in [&b""[..], b"\x00", b"\x05ab", b"\xff\xff\xff\xff\x0f"] {
        let companion = build(LINES, &debug, &[("build_id", damaged)]);
        assert_eq!(fit(&companion, &build(LINES, &is_code, &[("build_id", damaged)])), Fit::Unknown);
    }
    // A code section without functions says nothing.
    let empty = [&build(LINES, &debug, &[])[..], &[10, 1, 0]].concat();
    assert_eq!(fit(&empty, LINES), Fit::Unknown);
    assert_eq!(fit(&build(LINES, &debug, &[]), LINES), Fit::Unknown);
}

#[test]
fn what_holds_no_lines_is_refused() {
    for (bytes, words) in [
        (&b""[..], "neither a wasm file nor a source map"),
        (b"\x7fELF", "neither a wasm file nor a source map"),
        (b"[1]", "neither a wasm file nor a source map"),
        (b"\0asm", "without DWARF"),
        (b"\0asm\x0d\0\x01\0", "without DWARF"),
        (TABLE, "without DWARF"),
        (b" {\"version\":4}", "not a source map of version 3"),
    ] {
        let error = format!("{:#}", DebugInfo::parse(bytes).unwrap_err());
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_truncated_companion_gives_what_can_be_read() {
    let stripped = sections(LINES, is_code, &[]);
    let frames = everywhere(&stripped);
    let mut refused = 0;
    for length in (0..LINES.len()).step_by(7) {
        match DebugInfo::parse(&LINES[..length]) {
            Ok(info) => drop(Symbols::new(&stripped[..], |_| None).with_debug_info(info).sources(&frames)),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 50, "{refused}");
}
