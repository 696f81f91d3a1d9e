//! Inputs as text, for functions that take strings.

/// The string that an input is: itself if it is UTF-8, and else every byte that isn't part of UTF-8 is the character of
/// its number, as in Latin-1. So every input is a string, and none is lost to the search; `buffer` holds it if it isn't
/// the input itself.
pub(super) fn as_text<'a>(input: &'a [u8], buffer: &'a mut String) -> &'a str {
    match std::str::from_utf8(input) {
        Ok(text) => text,
        Err(_) => {
            buffer.clear();
            for chunk in input.utf8_chunks() {
                buffer.push_str(chunk.valid());
                buffer.extend(chunk.invalid().iter().map(|&byte| char::from(byte)));
            }
            buffer
        }
    }
}

/// The input's text in UTF-16, little-endian, at the end of `to`.
pub(super) fn as_utf16(text: &str, to: &mut Vec<u8>) {
    to.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
}

/// In none of these encodings takes the text of an input more than so many times its bytes.
pub(super) const GROWTH_MAX: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_is_text_and_text_is_itself() {
        let text = |input: &[u8]| as_text(input, &mut String::new()).to_owned();
        assert_eq!(text(b"plain"), "plain");
        assert_eq!(text("größe 𝄞".as_bytes()), "größe 𝄞");
        assert_eq!(text(b"a\xffb"), "aÿb");
        assert_eq!(text(b"\xc3\xa4\xc3"), "äÃ");
        assert_eq!(text(b"\xf0\x9f\x92x\xed\xa0\x80"), "ð\u{9f}\u{92}xí\u{a0}\u{80}");
        assert_eq!(text(b""), "");
    }

    #[test]
    fn text_grows_by_no_more_than_is_said() {
        let (mut text, mut wide) = (String::new(), Vec::new());
        for first in 0..=255_u8 {
            for rest in [&[][..], b"a", b"\x80", b"\xbf\xbf", b"\x9f\x98\x80"] {
                let input = [&[first], rest].concat();
                let text = as_text(&input, &mut text);
                wide.clear();
                as_utf16(text, &mut wide);
                assert!(text.len().max(wide.len()) <= GROWTH_MAX * input.len(), "{input:?}");
            }
        }
        assert_eq!(wide.len(), 2 * 4);
        wide.clear();
        as_utf16("aß𝄞", &mut wide);
        assert_eq!(wide, [0x61, 0, 0xdf, 0, 0x34, 0xd8, 0x1e, 0xdd]);
    }
}
