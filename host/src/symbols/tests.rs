use super::*;
use wasmparser::{Parser, Payload};

pub(super) const LINES: &[u8] = include_bytes!("../../tests/data/lines.wasm");
/// Offsets of instructions in it, from `wasm-objdump -d`.
const TRAP: u32 = 0xc8;
const CALL_IN_ARRAY: u32 = 0xd0;
const CALL_IN_ENTRY: u32 = 0xed;

const NAMES: [&str; 3] = ["parse_value", "parse_array", "LLVMFuzzerTestOneInput"];

fn symbols(module: &[u8]) -> Symbols {
    Symbols::new(module.to_vec(), |index| NAMES.get(index as usize).map(|name| (*name).to_owned()))
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
fn resolved_frames_lead_back_to_what_was_resolved() {
    let [inlined, array, entry] = frames();
    let other = Frame { offset: TRAP + 1, ..inlined };
    for frames in [vec![], vec![inlined, array, entry], vec![inlined; 3], vec![array, array, inlined, other, inlined]] {
        for symbols in [symbols(LINES), Symbols::new(LINES, |_| None), symbols(&LINES[..0xfd])] {
            assert_eq!(super::unresolved(&symbols.resolve(&frames)), frames);
        }
    }
}

fn stable(symbols: &Symbols, frames: &[Frame], lines: bool) -> Vec<String> {
    let calls = symbols.stable_calls(frames, lines).into_iter();
    calls.map(|call| format!("{}{}", call.name, symbols.stable_place(&call))).collect()
}

#[test]
fn places_count_from_the_functions_first_line_or_instruction() {
    let by_lines = stable(&symbols(LINES), &frames(), true);
    assert_eq!(by_lines, ["digit:+2", "number:+3", "parse_value:+2", "parse_array:+1", "LLVMFuzzerTestOneInput:+1"]);
    let instructions = ["parse_value@59", "parse_array@2", "LLVMFuzzerTestOneInput@3"];
    assert_eq!(stable(&symbols(LINES), &frames(), false), instructions);
    assert_eq!(stable(&symbols(&with_custom_sections(|_, _| None)), &frames(), true), instructions);
    let odd = [Frame { function: 0, offset: 3 }, Frame { function: 99, offset: TRAP }];
    assert_eq!(stable(&symbols(LINES), &odd, false), ["parse_value", "func[99]"]);
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

pub(super) fn leb128(out: &mut Vec<u8>, mut n: usize) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

#[test]
fn without_debug_information_there_are_names_and_without_names_indices() {
    let stripped = with_custom_sections(|_, _| None);
    let unnamed = Symbols::new(stripped.clone(), |_| None);
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

#[test]
fn damaged_debug_information_never_harms() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let sections = [".debug_abbrev", ".debug_info", ".debug_line", ".debug_ranges", ".debug_str"];
    let expected = places(&symbols(LINES), &frames());
    let mut unharmed = 0;
    for _ in 0..2000 {
        let victim = sections[next(sections.len())];
        let (what, at, value) = (next(4), next(1 << 16), next(256) as u8);
        let damaged = with_custom_sections(|name, data| {
            let mut data = data.to_vec();
            if name == victim {
                let at = at % data.len();
                match what {
                    0 => data.truncate(at),
                    1 => data[at] = value,
                    2 => data[at] = [0, 0x7f, 0x80, 0xff][usize::from(value) % 4],
                    _ => data.copy_within(at.., at / 2),
                }
            }
            Some(data)
        });
        let found = symbols(&damaged).resolve(&frames());
        for (index, name) in NAMES.iter().enumerate() {
            assert!(found.iter().any(|frame| frame.index as usize == index && frame.function == *name));
        }
        unharmed += usize::from(found.iter().map(ResolvedFrame::place).eq(expected.iter().cloned()));
    }
    assert!((200..1800).contains(&unharmed), "{unharmed} of 2000: damage must hit something, and not everything");
}

/// A module with the code of `lines.wasm` and one unit of hand-made DWARF 4: its root has the attributes of
/// abbreviation 1.
fn with_dwarf(abbreviations: &[u8], entries: &[u8], others: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut info = (7 + entries.len() as u32).to_le_bytes().to_vec();
    info.extend([4, 0, 0, 0, 0, 0, 4]);
    info.extend(entries);
    let mut module = with_custom_sections(|_, _| None);
    let ours = [(".debug_abbrev", abbreviations.to_vec()), (".debug_info", info)];
    for (name, data) in ours.iter().chain(others) {
        module.push(0);
        leb128(&mut module, 1 + name.len() + data.len());
        module.push(name.len() as u8);
        module.extend(name.as_bytes());
        module.extend(data);
    }
    module
}

/// Abbreviation `code` with children, and with the given attributes and forms.
fn abbreviation(code: u8, tag: gimli::DwTag, attributes: &[(gimli::DwAt, gimli::DwForm)]) -> Vec<u8> {
    let mut bytes = vec![code, tag.0 as u8, 1];
    for (name, form) in attributes {
        leb128(&mut bytes, usize::from(name.0));
        leb128(&mut bytes, usize::from(form.0));
    }
    bytes.extend([0, 0]);
    bytes
}

const PCS: [(gimli::DwAt, gimli::DwForm); 2] =
    [(gimli::DW_AT_low_pc, gimli::DW_FORM_addr), (gimli::DW_AT_high_pc, gimli::DW_FORM_data4)];

/// Addresses that hold all code of the module.
const ALL_CODE: [u8; 8] = [1, 0, 0, 0, 0xff, 0, 0, 0];

#[test]
fn endless_inlining_overflows_no_stack() {
    let abbreviations = [
        abbreviation(1, gimli::DW_TAG_compile_unit, &PCS),
        abbreviation(2, gimli::DW_TAG_subprogram, &PCS),
        abbreviation(3, gimli::DW_TAG_inlined_subroutine, &PCS),
    ]
    .concat();
    let mut entries = [&[1], &ALL_CODE[..], &[2], &ALL_CODE[..]].concat();
    for _ in 0..200_000 {
        entries.push(3);
        entries.extend(ALL_CODE);
    }
    let symbols = symbols(&with_dwarf(&abbreviations, &entries, &[]));
    let found = symbols.resolve(&frames());
    assert!((3..=3 * 34).contains(&found.len()), "{}", found.len());
    assert_eq!(found.last().unwrap().function, NAMES[2]);
}

#[test]
fn what_costs_too_much_is_given_up_once_for_all() {
    let ranges_attribute = [(gimli::DW_AT_ranges, gimli::DW_FORM_sec_offset)];
    let abbreviations = [
        abbreviation(1, gimli::DW_TAG_compile_unit, &PCS),
        abbreviation(2, gimli::DW_TAG_subprogram, &ranges_attribute),
    ]
    .concat();
    // Fifty thousand functions that all claim the same fifty thousand ranges, far away.
    let mut entries = [&[1], &ALL_CODE[..]].concat();
    for _ in 0..50_000 {
        entries.extend([2, 0, 0, 0, 0]);
    }
    let mut ranges = Vec::new();
    for at in 0..50_000_u32 {
        ranges.extend((0x10_0000 + 2 * at).to_le_bytes());
        ranges.extend((0x10_0001 + 2 * at).to_le_bytes());
    }
    ranges.extend([0; 8]);
    let symbols = symbols(&with_dwarf(&abbreviations, &entries, &[(".debug_ranges", ranges)]));
    assert_eq!(places(&symbols, &frames()), NAMES);
    let Lines::Dwarf(dwarf) = &symbols.lines else { panic!("it is not from a map") };
    assert!(dwarf.is_spent());
    assert_eq!(places(&symbols, &[Frame { function: 0, offset: TRAP + 1 }]), NAMES[..1]);
}

#[test]
fn a_damaged_module_gives_what_can_be_read() {
    for length in 0..LINES.len() {
        let symbols = symbols(&LINES[..length]);
        assert_eq!(symbols.resolve(&frames()).last().unwrap().index, 2);
    }
    assert_eq!(places(&symbols(b"not a module"), &frames()[..1]), ["func[0]"]);
}

#[test]
fn every_address_has_the_places_that_another_symboliser_finds() {
    let layout = Layout::read(LINES);
    let load = |id: gimli::SectionId| {
        let data = layout.debug_sections.get(id.name()).copied().unwrap_or_default();
        Ok::<_, gimli::Error>(gimli::EndianSlice::new(data, gimli::LittleEndian))
    };
    let context = addr2line::Context::from_dwarf(gimli::Dwarf::load(load).unwrap()).unwrap();
    let addresses: Vec<u64> = (1..0xaf).collect();
    let found = Dwarf::new(&layout.debug_sections).find(&addresses);
    let (mut known, mut lineless) = (0, 0);
    for (address, places) in addresses.iter().zip(found) {
        let mut ours: Vec<String> = places.iter().map(in_words).collect();
        let mut theirs = oracle(&context, *address);
        if theirs.first().is_some_and(|place| place.ends_with(":None:None")) {
            // Ours is the function's first line here.
            ours.remove(0);
            theirs.remove(0);
            lineless += 1;
        }
        assert_eq!(ours, theirs, "address {address:#x}");
        known += usize::from(!places.is_empty());
    }
    assert_eq!((known, lineless), (171, 50));
}

fn in_words(place: &Place) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{} {}:{:?}:{:?}", text(&place.function), text(&place.file), place.line, place.column)
}

/// The places that a ready-made symboliser finds for a DWARF address.
fn oracle(context: &addr2line::Context<gimli::EndianSlice<'_, gimli::LittleEndian>>, address: u64) -> Vec<String> {
    let mut places = Vec::new();
    let mut frames = context.find_frames(address).skip_all_loads().unwrap();
    while let Some(frame) = frames.next().unwrap() {
        let location = frame.location.as_ref();
        places.push(in_words(&Place {
            function: frame.function.map(|name| name.raw_name().unwrap().into_owned()),
            file: location.and_then(|at| at.file).map(|file| file.trim_start_matches("./").to_owned()),
            line: location.and_then(|at| at.line),
            column: location.and_then(|at| at.column).filter(|column| *column > 0),
            ..Place::default()
        }));
    }
    places
}

/// Whatever a module says about where its code was before it was linked, there is an answer.
#[test]
fn damaged_tables_of_linked_code_do_no_harm() {
    let tables: [&[u8]; 6] = [
        &[],
        &[0],
        &[0, 1],
        &[1, 200, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1],
        &[0xff; 12],
        &[0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2],
    ];
    for table in tables {
        let mut module = LINES.to_vec();
        let content = [&[17], &b"fuzzbox.addresses"[..], table].concat();
        module.extend([0, content.len() as u8]);
        module.extend(content);
        let symbols = Symbols::new(module, |_| None);
        let frames: Vec<_> = (0..LINES.len() as u32).rev().map(|offset| Frame { function: 1, offset }).collect();
        assert_eq!(symbols.sources(&frames).len(), frames.len());
    }
}
