//! Names and lines, and what is said of failures.

use crate::failure::{Headline, is_failure_machinery, signature};
use crate::modules::{self, LINES};
use crate::outcome::{FailureKind, Frame, Trap, TrapKind};
use crate::symbols::dwarf::SECTIONS;
use crate::symbols::{DebugInfo, Fit, Pointer, Symbols, demangle, is_library, pointers, simplify};
use crate::text;
use wasmparser::{Parser, Payload};

/// What debug information is found by, beside [`SECTIONS`].
const POINTERS: [&str; 3] = ["build_id", "external_debug_info", "sourceMappingURL"];

/// Places in the code that are asked for.
const FRAMES: usize = 24;

pub(crate) fn dwarf(data: &[u8]) {
    let mut module = modules::bare(LINES);
    let mut rest = data;
    while let [section, low, high, next @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(next.len());
        let (content, behind) = next.split_at(length);
        let names = SECTIONS.iter().chain(&POINTERS);
        let name = names.cycle().nth(usize::from(*section)).expect("there are some");
        modules::add_custom(&mut module, name, content);
        rest = behind;
    }
    let _ = pointers(&module);
    if let Ok(own) = DebugInfo::parse(&module) {
        assert_ne!(own.fits(LINES), Fit::Unknown, "they have the same code");
    }
    look_up(&Symbols::new(module, |_| None));
}

pub(crate) fn source_map(data: &[u8]) {
    let mut module = modules::bare(LINES);
    modules::add_custom(&mut module, "sourceMappingURL", data);
    for pointer in pointers(&module).into_iter().flatten() {
        if let Pointer::File(path) = pointer {
            assert!(path.is_relative() && !path.components().any(|part| part == std::path::Component::ParentDir));
        }
    }
    let Ok(map) = DebugInfo::parse(data) else { return };
    map.fits(&module);
    look_up(&Symbols::new(module, |_| None).with_debug_info(map));
}

pub(crate) fn names(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for name in text.split('\n') {
        let demangled = demangle(name);
        let simple = simplify(&demangled);
        assert!(demangled.len() <= 1 << 12 && simple.len() <= 1 << 8, "{} {}", demangled.len(), simple.len());
        is_library(&demangled, None);
        is_library(&simple, Some(name));
        is_failure_machinery(&simple);
        assert!(text::printable(name).chars().all(text::is_printable));
    }
    let mut module = modules::bare(LINES);
    modules::add_custom(&mut module, "name", data);
    modules::rewrite(&module);
}

/// Asks for lines and names of places all over the code.
pub(crate) fn look_up(symbols: &Symbols) {
    let bodies = Parser::new(0).parse_all(symbols.module()).map_while(Result::ok).filter_map(|payload| match payload {
        Payload::CodeSectionEntry(body) => Some(body.range()),
        _ => None,
    });
    let frames = bodies.enumerate().flat_map(|(function, range)| {
        let function = function as u32;
        range.step_by(7).map(move |offset| Frame { function, offset: offset as u32 })
    });
    let mut frames: Vec<Frame> = frames.take(FRAMES).collect();
    let sources = symbols.sources(&frames);
    assert_eq!(sources.len(), frames.len());
    // Trap's frames are in no order.
    frames.reverse();
    let resolved = symbols.resolve(&frames);
    assert!(resolved.len() >= frames.len());
    for frame in &resolved {
        frame.place();
        frame.is_library();
    }
    Headline::new(&resolved, None);
    for kind in [TrapKind::Unreachable, TrapKind::StackOverflow] {
        let trap = Trap { kind, class: None, frames: frames.clone() };
        let named = signature(FailureKind::Crash, &trap, symbols);
        assert!(named.is_same(&named));
    }
}
