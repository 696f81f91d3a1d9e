//! Names and lines, and what is said of failures.

#[path = "../../../../host/src/report/decoded.rs"]
mod decoded;
#[path = "../../../../host/src/report/event.rs"]
mod event;
#[path = "../../../../host/src/report/origin.rs"]
mod origin;
#[path = "../../../../host/src/report/preview.rs"]
mod preview;
#[path = "../../../../host/src/report/said.rs"]
mod said;
#[path = "../../../../host/src/report/signature.rs"]
mod signature;
#[path = "../../../../host/src/report/symbols/mod.rs"]
mod symbols;
#[path = "../../../../host/src/report/text.rs"]
pub mod text;

pub use decoded::Decoded;
pub use event::{ResolvedFrame, unresolved};
pub use origin::{Headline, is_library};
pub use preview::{PREVIEW_COLUMNS, preview};
pub use said::Said;
pub use signature::{Signature, is_failure_machinery, signature};
pub use symbols::{DebugInfo, Fit, Pointer, Symbols, demangle, pointers, simplify};

use crate::modules::{self, LINES};
use crate::outcome::{Frame, Outcome, Trap, TrapKind};
use wasmparser::{Parser, Payload};

/// Names of sections, by their number.
const SECTIONS: [&str; 12] = [
    ".debug_abbrev",
    ".debug_addr",
    ".debug_info",
    ".debug_line",
    ".debug_line_str",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_str",
    ".debug_str_offsets",
    "build_id",
    "external_debug_info",
    "sourceMappingURL",
];

/// Places in the code that are asked for.
const FRAMES: usize = 24;

pub(crate) fn dwarf(data: &[u8]) {
    let mut module = modules::bare(LINES);
    let mut rest = data;
    while let [section, low, high, next @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(next.len());
        let (content, behind) = next.split_at(length);
        modules::add_custom(&mut module, SECTIONS[usize::from(*section) % SECTIONS.len()], content);
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
        let named = signature("crash", &trap, symbols);
        assert!(named.is_same(&named));
    }
}
