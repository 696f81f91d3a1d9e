use super::*;

const LINES: &[u8] = include_bytes!("../../../tests/data/lines.wasm");
/// Offsets of instructions in it, from `wasm-objdump -d`.
const TRAP: u32 = 0xc8;
const CALL_IN_ARRAY: u32 = 0xd0;
const CALL_IN_ENTRY: u32 = 0xed;

const NAMES: [&str; 3] = ["parse_value", "parse_array", "LLVMFuzzerTestOneInput"];

fn symbols(module: &[u8]) -> Symbols {
    Symbols::new(module, |index| NAMES.get(index as usize).map(|name| (*name).to_owned()))
}

fn frames() -> [Frame; 3] {
    [(0, TRAP), (1, CALL_IN_ARRAY), (2, CALL_IN_ENTRY)].map(|(function, offset)| Frame { function, offset })
}

fn places(symbols: &Symbols, frames: &[Frame]) -> Vec<String> {
    symbols.resolve(frames).iter().map(ResolvedFrame::place).collect()
}

#[test]
fn frames_have_lines_and_inlined_calls_are_frames() {
    let symbols = symbols(LINES);
    let resolved = symbols.resolve(&frames());
    let places: Vec<String> = resolved.iter().map(ResolvedFrame::place).collect();
    assert_eq!(
        places,
        [
            "digit at lines.h:4:9",
            "number at lines.c:9:30",
            "parse_value at lines.c:15:12",
            "parse_array at lines.c:19:15",
            "LLVMFuzzerTestOneInput at lines.c:24:12",
        ]
    );
    assert!(resolved[..3].iter().all(|frame| (frame.index, frame.offset) == (0, TRAP)));
}

#[test]
fn asked_twice_the_answer_is_the_same() {
    let symbols = symbols(LINES);
    let first = symbols.resolve(&frames()[1..]);
    assert_eq!(symbols.resolve(&frames())[3..], first);
    assert_eq!(symbols.resolve(&frames())[3..], first);
}

#[test]
fn offsets_count_from_the_functions_start() {
    let symbols = symbols(LINES);
    let offsets = frames().map(|frame| symbols.offset_in_function(frame));
    assert_eq!(offsets, [Some(TRAP - 0x50), Some(CALL_IN_ARRAY - 0xcb), Some(CALL_IN_ENTRY - 0xe6)]);
    assert_eq!(symbols.offset_in_function(Frame { function: 0, offset: 3 }), None);
    assert_eq!(symbols.offset_in_function(Frame { function: 99, offset: TRAP }), None);
}

/// The module with each custom section's data replaced by what `change` gives for it; gone for `None`.
fn with_custom_sections(change: impl Fn(&str, &[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut module = LINES[..8].to_vec();
    for payload in Parser::new(0).parse_all(LINES) {
        let payload = payload.unwrap();
        let contents = match &payload {
            Payload::CustomSection(section) => change(section.name(), section.data()).map(|data| {
                let name = section.name();
                [&[name.len() as u8], name.as_bytes(), &data].concat()
            }),
            other => other.as_section().map(|(_, range)| LINES[range.start as usize..range.end as usize].to_vec()),
        };
        if let (Some((id, _)), Some(contents)) = (payload.as_section(), contents) {
            module.push(id);
            leb128(&mut module, contents.len());
            module.extend(contents);
        }
    }
    module
}

fn leb128(out: &mut Vec<u8>, mut n: usize) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

#[test]
fn without_debug_information_there_are_names_and_without_names_indices() {
    let stripped = with_custom_sections(|_, _| None);
    let unnamed = Symbols::new(&stripped, |_| None);
    assert_eq!(places(&unnamed, &frames()), ["func[0]", "func[1]", "func[2]"]);
    assert_eq!(places(&symbols(&stripped), &frames()), NAMES);
}

#[test]
fn dwarf_names_functions_that_the_module_does_not() {
    let unnamed = Symbols::new(LINES, |_| None);
    assert_eq!(places(&unnamed, &frames()[1..])[0], "parse_array at lines.c:19:15");
    assert_eq!(unnamed.name(1), "func[1]", "a signature must not depend on DWARF");
}

#[test]
fn frames_that_cannot_be_are_named_by_index() {
    let symbols = symbols(LINES);
    for offset in [0, 1, 0x4e, 0xfd, 0x200, u32::MAX - 1, u32::MAX] {
        assert_eq!(places(&symbols, &[Frame { function: 77, offset }])[0].split(' ').next(), Some("func[77]"));
    }
}
