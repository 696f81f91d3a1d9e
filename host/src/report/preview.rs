//! A glance at an input.

use crate::text::{columns, counted, is_printable};
use std::fmt::Write as _;

/// Shows the beginning of `input` in at most about `columns_max` columns, and its length: escaped text if most of it is
/// text, else hex. The result is safe to print.
pub(crate) fn preview(input: &[u8], columns_max: usize) -> String {
    if input.is_empty() {
        return "(empty)".to_owned();
    }
    let length = format!(" ({})", counted(input.len() as u64, "byte"));
    let room = columns_max.saturating_sub(length.len()).max(8);
    // More bytes than columns are never shown.
    let shown = &input[..input.len().min(4 * room)];
    let text = if is_mostly_text(shown) { quoted(shown, input.len(), room) } else { hex(shown, input.len(), room) };
    text + &length
}

/// At least three in five bytes belong to characters that can be printed.
fn is_mostly_text(bytes: &[u8]) -> bool {
    let text_bytes: usize = bytes
        .utf8_chunks()
        .flat_map(|chunk| chunk.valid().chars())
        .filter(|c| is_printable(*c) || matches!(c, '\n' | '\r' | '\t'))
        .map(char::len_utf8)
        .sum();
    text_bytes * 5 >= bytes.len() * 3
}

fn quoted(bytes: &[u8], total: usize, room: usize) -> String {
    let mut text = String::from("\"");
    // For the closing quote, and for the ellipsis that may follow.
    let mut left = room.saturating_sub(3);
    let mut shown = 0;
    'all: for chunk in bytes.utf8_chunks() {
        let characters = chunk.valid().chars().map(|c| (escaped(c), c.len_utf8()));
        let broken = chunk.invalid().iter().map(|byte| (format!("\\x{byte:02x}"), 1));
        for (piece, length) in characters.chain(broken) {
            let wide = columns(&piece);
            if wide > left {
                break 'all;
            }
            left -= wide;
            shown += length;
            text.push_str(&piece);
        }
    }
    text.push('"');
    if shown < total {
        text.push('…');
    }
    text
}

fn escaped(c: char) -> String {
    match c {
        '\0' => "\\0".to_owned(),
        '"' | '\\' | '\n' | '\r' | '\t' => c.escape_default().to_string(),
        c if is_printable(c) => c.to_string(),
        c if c.is_ascii() => format!("\\x{:02x}", u32::from(c)),
        c => c.escape_unicode().to_string(),
    }
}

fn hex(bytes: &[u8], total: usize, room: usize) -> String {
    // Three columns for each byte, the last of which is not used by the last byte; two for the ellipsis.
    let fits = (room + 1) / 3;
    let count = if total <= fits { total } else { room.saturating_sub(1) / 3 };
    let mut text = String::new();
    for byte in &bytes[..count.min(bytes.len())] {
        let _ = write!(text, "{byte:02x} ");
    }
    if count < total {
        text.push('…');
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_as_text_and_the_rest_escaped() {
        assert_eq!(preview(b"a\tb\nc\"\\\xff", 64), r#""a\tb\nc\"\\\xff" (8 bytes)"#);
        assert_eq!(preview("größer\u{202e}\u{1b}[2J".as_bytes(), 64), r#""größer\u{202e}\x1b[2J" (15 bytes)"#);
    }

    #[test]
    fn what_is_mostly_text_is_text_and_the_rest_is_hex() {
        assert_eq!(preview(b"{\"a\":\x00", 64), r#""{\"a\":\0" (6 bytes)"#);
        assert_eq!(preview(b"\x7fELF\x02\x01\x01\x00", 64), "7f 45 4c 46 02 01 01 00 (8 bytes)");
        assert_eq!(preview(b"", 64), "(empty)");
    }

    #[test]
    fn previews_are_bounded_and_say_how_much_there_is() {
        assert_eq!(preview(&[b'a'; 1000], 32), format!("\"{}\"… (1,000 bytes)", "a".repeat(15)));
        assert_eq!(preview(&[0; 1000], 32), "00 00 00 00 00 … (1,000 bytes)");
        for length in 1..200 {
            for fill in [&b"a"[..], &b"\0"[..], "日".as_bytes(), &b"\xffabc"[..]] {
                let input: Vec<u8> = fill.iter().copied().cycle().take(length).collect();
                for room in [0, 24, 33, 64] {
                    let text = preview(&input, room);
                    assert!(columns(&text) <= room.max(8 + " (199 bytes)".len()), "{text}");
                    assert!(text.ends_with("bytes)") || length == 1);
                }
            }
        }
    }
}
