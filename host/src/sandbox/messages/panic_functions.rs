//! The functions that programs call to fail, by their names, and what they are given.
//!
//! A table of conventions: those of the libraries that come with languages. Names are compared demangled and without
//! hashes.

use super::ImportCall;
use super::memory::Memory;
use crate::said::Message;

/// What the parameters of a function are that fails with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// AssemblyScript's `abort`: two of its strings, line, column.
    Abort,
    /// C's assertion failed: expression, file, line, function; here by the numbers of the first three.
    Assertion([u8; 3]),
    /// A text and its length; last of all a `Location`, if it is Rust's.
    Text,
    /// `core::panicking::panic_fmt`: arguments of `format!`, and a `Location`.
    Format,
    /// Rust's: index, length, `Location`.
    Bounds,
    /// Zig's: index, length, last of all.
    ZigBounds,
    /// Zig's: a text and its length, and an address behind them. Builds for debugging have another parameter before
    /// all.
    ZigPanic,
    /// Rust's: `Location`.
    UnwrapNone,
    /// Only a `Location`, at one of these places.
    Hook,
}

/// What an import of this name and with so many parameters is given.
pub(crate) fn of_import(module: &str, name: &str, params: usize) -> Option<Kind> {
    Some(match (module, name, params) {
        ("env", "abort", 4) => Kind::Abort,
        ("env", "__assert_fail", 4) => Kind::Assertion([0, 1, 2]),
        (_, name, 2) if name.trim_start_matches("__wbg_").starts_with("__wbindgen_throw") => Kind::Text,
        _ => return None,
    })
}

/// What a function of the module is given, by its name as the module has it.
pub(crate) fn of_function(name: &str) -> Option<Kind> {
    // Most names are told apart from these at once.
    const PARTS: [&str; 6] = ["panic", "assert", "unwrap_failed", "expect_failed", "outOfBounds", "Panic"];
    if !PARTS.iter().any(|part| name.contains(part)) {
        return None;
    }
    let demangled = format!("{:#}", rustc_demangle::demangle(name));
    Some(match &*demangled {
        "core::panicking::panic_fmt" | "core::panicking::panic_nounwind_fmt" => Kind::Format,
        "core::panicking::panic"
        | "core::panicking::panic_str"
        | "core::panicking::panic_str_2015"
        | "core::panicking::panic_nounwind"
        | "core::option::expect_failed"
        | "core::result::unwrap_failed"
        | "std::panicking::begin_panic" => Kind::Text,
        "debug.defaultPanic" => Kind::ZigPanic,
        "core::panicking::panic_bounds_check" => Kind::Bounds,
        "core::option::unwrap_failed" => Kind::UnwrapNone,
        "std::panicking::panic_with_hook" | "std::panicking::rust_panic_with_hook" => Kind::Hook,
        "__assert_fail" | "__assert" => Kind::Assertion([0, 1, 2]),
        // Newlib's, and that of macOS.
        "__assert_func" => Kind::Assertion([3, 0, 1]),
        "__assert_rtn" => Kind::Assertion([3, 1, 2]),
        name if name.starts_with("debug.FullPanic") && name.ends_with(".outOfBounds") => Kind::ZigBounds,
        _ => return None,
    })
}

impl ImportCall {
    /// What these parameters say; `format` makes a text of those of [`Kind::Format`] but the last, by the guest's own
    /// code.
    pub(crate) fn message_in(
        &self,
        memory: &Memory<'_>,
        format: &mut dyn FnMut(&[u32]) -> Option<String>,
    ) -> Option<Message> {
        let params: Vec<u32> = self.params.iter().map_while(|&param| u32::try_from(param).ok()).collect();
        let param = |number: usize| params.get(number).copied();
        let position = |number: usize| param(number).filter(|&position| position != 0);
        let words = |text: String| Message { text, ..Message::default() };
        let located = |text: Option<String>, location: Option<u32>| {
            let location = location.and_then(|location| location_at(memory, location));
            (text.is_some() || location.is_some())
                .then(|| Message { text: text.unwrap_or_default(), ..location.unwrap_or_default() })
        };
        match self.kind {
            Kind::Abort => {
                let (text, file) = (memory.utf16(param(0)?).unwrap_or_default(), memory.utf16(param(1)?));
                let file = file.filter(|file| !file.is_empty());
                Some(Message { text, file, line: position(2), column: position(3) })
            }
            Kind::Assertion(numbers) => {
                let [expression, file, line] = numbers.map(usize::from);
                let text = format!("assertion failed: {}", memory.text_to_zero(param(expression)?)?);
                Some(Message { text, file: memory.text_to_zero(param(file)?), line: position(line), column: None })
            }
            Kind::Text => located(memory.text(param(0)?, param(1)?), params.get(2..)?.last().copied()),
            Kind::Format => {
                let (&location, arguments) = params.split_last()?;
                located(format(arguments).or_else(|| unformatted(memory, arguments)), Some(location))
            }
            Kind::Bounds => {
                let text = format!("index out of bounds: the len is {} but the index is {}", param(1)?, param(0)?);
                located(Some(text), param(2))
            }
            Kind::ZigBounds => {
                let &[.., index, len] = &params[..] else { return None };
                Some(words(format!("index out of bounds: index {index}, len {len}")))
            }
            Kind::ZigPanic => {
                let &[.., text, len, _] = &params[..] else { return None };
                memory.text(text, len).map(words)
            }
            Kind::UnwrapNone => located(Some("called `Option::unwrap()` on a `None` value".to_owned()), param(0)),
            // Older ones have the message before it.
            Kind::Hook => [2, 3].into_iter().find_map(|number| located(None, param(number))),
        }
    }
}

/// Rust's `core::panic::Location`: a file's pointer and length, line, column.
fn location_at(memory: &Memory<'_>, at: u32) -> Option<Message> {
    /// No path is longer, and no file has so many lines.
    const FILE_BYTES_MAX: u32 = 1024;
    const LINES_MAX: u32 = 10_000_000;
    let number = |place: u32| memory.number(at.checked_add(4 * place)?);
    let [pointer, len, line, column] = [number(0)?, number(1)?, number(2)?, number(3)?];
    if at == 0 || !(1..=FILE_BYTES_MAX).contains(&len) || !(1..=LINES_MAX).contains(&line) || column > LINES_MAX {
        return None;
    }
    let file = memory.text(pointer, len)?;
    // Some versions count the zero that ends it.
    let file = file.trim_end_matches('\0').to_owned();
    if file.is_empty() || file.contains(char::is_control) {
        return None;
    }
    let column = (column != 0).then_some(column);
    Some(Message { text: String::new(), file: Some(file), line: Some(line), column })
}

/// The literal parts of `core::fmt::Arguments`, with `{}` for the rest.
///
/// Until Rust 1.91 they are a pointer to a struct, which begins with a slice of pieces; since then two pointers: to a
/// text and its length, doubled, plus 1; or to a template, which `core::fmt` describes, and the arguments.
fn unformatted(memory: &Memory<'_>, arguments: &[u32]) -> Option<String> {
    match *arguments {
        [text, len, ..] if len & 1 == 1 => memory.text(text, len >> 1),
        [template, _, ..] => from_template(memory, template),
        [at] => {
            /// More pieces than a message has.
            const PIECES_MAX: u32 = 64;
            let (pieces, count) = (memory.number(at)?, memory.number(at.checked_add(4)?)?);
            let piece = |number: u32| {
                let at = pieces.checked_add(8 * number)?;
                memory.text(memory.number(at)?, memory.number(at.checked_add(4)?)?)
            };
            let pieces: Option<Vec<String>> = (0..count.min(PIECES_MAX)).map(piece).collect();
            Some(pieces?.join("{}"))
        }
        [] => None,
    }
}

/// See `core::fmt::Arguments`: pieces with their lengths before them, and placeholders with what describes them behind
/// them.
fn from_template(memory: &Memory<'_>, template: u32) -> Option<String> {
    const PARTS_MAX: usize = 64;
    let mut text = String::new();
    let mut at = template;
    let mut take = |len: u32| {
        let start = at;
        at = at.checked_add(len)?;
        memory.bytes(start, len)
    };
    for _ in 0..PARTS_MAX {
        let begins = take(1)?[0];
        let len = match begins {
            0 => break,
            1..=0x7f => u32::from(begins),
            0x80 => u32::from(u16::from_le_bytes(*take(2)?.first_chunk()?)),
            0x81..=0xbf => return None,
            _ => {
                text.push_str("{}");
                let fields = [(1, 4), (2, 2), (4, 2), (8, 2)];
                take(fields.iter().filter(|(flag, _)| begins & flag != 0).map(|(_, bytes)| bytes).sum())?;
                continue;
            }
        };
        text.push_str(std::str::from_utf8(&take(len)?).ok()?);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_fail_are_known_by_their_names_whatever_mangles_them() {
        let known = [
            ("_RNvNtCsgXGp5Oqx2Ny_4core9panicking9panic_fmt", Kind::Format),
            ("_ZN4core9panicking9panic_fmt17h0123456789abcdefE", Kind::Format),
            ("_ZN4core9panicking18panic_bounds_check17h0123456789abcdefE", Kind::Bounds),
            ("_RNvNtCsgXGp5Oqx2Ny_4core6option13expect_failed", Kind::Text),
            ("_ZN3std9panicking11begin_panic17h29b144d5555fcbf6E", Kind::Text),
            ("__assert_fail", Kind::Assertion([0, 1, 2])),
            ("debug.FullPanic((function 'defaultPanic')).outOfBounds", Kind::ZigBounds),
            ("debug.defaultPanic", Kind::ZigPanic),
        ];
        for (name, kind) in known {
            assert_eq!(of_function(name), Some(kind), "{name}");
        }
        for name in ["panic_fmt", "assert", "core::panicking", "my::panic", "_ZN2my5panic17h0123456789abcdefE"] {
            assert_eq!(of_function(name), None, "{name}");
        }
    }
}
