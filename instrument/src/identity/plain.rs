//! Names without what a compiler adds to them anew in every build.

use std::borrow::Cow;

/// A function's name without hashes, so that it is the same in the next build:
///
/// | in the name section | plain |
/// | --- | --- |
/// | `_ZN4core3fmt5write17h0123456789abcdefE` | `_ZN4core3fmt5writeE` |
/// | `core::fmt::write::h0123456789abcdef` | `core::fmt::write` |
/// | `_RNvCs1234_7mycrate3foo` | `_RNvC7mycrate3foo` |
/// | `static_function.llvm.1234567890` | `static_function` |
///
/// Rust's hash is of the crate with all its dependencies, and its generic instances differ in nothing else: several
/// functions may have one plain name.
pub(super) fn plain_name(name: &str) -> Cow<'_, str> {
    let name = without_suffix(name, ".llvm.", |c| c.is_ascii_digit());
    if name.starts_with("_R") {
        return Cow::Owned(without_disambiguators(name));
    }
    let short = without_suffix(name, "::h", |c| c.is_ascii_hexdigit());
    if name.len() - short.len() == "::h0123456789abcdef".len() {
        return Cow::Borrowed(short);
    }
    match name.rfind("17h") {
        Some(at) if name.starts_with("_ZN") && is_hash(&name[at + 3..]) => {
            Cow::Owned(format!("{}{}", &name[..at], &name[at + 19..]))
        }
        _ => Cow::Borrowed(name),
    }
}

/// Whether this begins with 16 hexadecimal digits and the end of a mangled path.
fn is_hash(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.get(16) == Some(&b'E') && bytes[..16].iter().all(u8::is_ascii_hexdigit)
}

/// Cuts `mark` and what follows off the end, if all of that is of one kind.
fn without_suffix<'a>(name: &'a str, mark: &str, kind: impl Fn(char) -> bool) -> &'a str {
    match name.rsplit_once(mark) {
        Some((before, after)) if !after.is_empty() && after.chars().all(kind) => before,
        _ => name,
    }
}

/// Takes the numbers out of a name in Rust's second mangling that change with code elsewhere: hashes of crates, which
/// `impl` of a module and which closure of a function it is, and references back to an offset in the name.
///
/// Identifiers, which have their lengths before them, stay as they are.
fn without_disambiguators(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let kept = match first {
            '0'..='9' => identifier(rest),
            's' | 'B' if number(&rest[1..]) > 0 => {
                out.push_str(if first == 'B' { "B_" } else { "" });
                rest = &rest[1 + number(&rest[1..])..];
                continue;
            }
            'K' => rest.find('_').map_or(1, |end| end + 1),
            first => first.len_utf8(),
        };
        out.push_str(&rest[..kept]);
        rest = &rest[kept..];
    }
    out
}

/// The length of a number to the base of 62 with its end, `_`; 0 if there is none.
fn number(text: &str) -> usize {
    match text.find(|c: char| !c.is_ascii_alphanumeric()) {
        Some(end) if text[end..].starts_with('_') => end + 1,
        _ => 0,
    }
}

/// The length of an identifier with its length; if it is cut off, that of all there is.
fn identifier(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = text[..digits].parse().unwrap_or_default();
    let start = digits + usize::from(text[digits..].starts_with('_'));
    text.floor_char_boundary(start.saturating_add(length).min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_left_out() {
        assert_eq!(plain_name("_ZN4core3fmt5write17h0123456789abcdefE"), "_ZN4core3fmt5writeE");
        assert_eq!(plain_name("_ZN4core3fmt5write17h0123456789abcdefE.llvm.77"), "_ZN4core3fmt5writeE");
        assert_eq!(plain_name("core::fmt::write::h0123456789abcdef"), "core::fmt::write");
        assert_eq!(plain_name("_RNvCs1234_7mycrate3foo"), "_RNvC7mycrate3foo");
        assert_eq!(plain_name("_RINvCsAz_1aNtCs_1bE"), "_RINvC1aNtC1bE");
        assert_eq!(
            plain_name("_RNvXs0_NtCs3j_6shapes5shapeNtB5_4LineNtB5_5Shape4area"),
            plain_name("_RNvXs1b_NtCs3j_6shapes5shapeNtB7_4LineNtB7_5Shape4area")
        );
        assert_eq!(plain_name("_RNvC1a6Bs0_s_x"), "_RNvC1a6Bs0_s_x");
        assert_eq!(plain_name("quick.llvm.1234"), "quick");
    }

    #[test]
    fn what_only_looks_like_a_hash_stays() {
        for name in [
            "", "_R", "_RCs", "_RCs1", "_RCsé", "_R99é", "_R1é", "_RK", "_R5_ab", "main", "a.llvm.", "a.llvm.x",
            "a::h12", "::h", "_ZN17h", "_ZN17hé",
        ] {
            assert_eq!(plain_name(name), name);
        }
        let sixteen = "_ZN17h0123456789abcdef";
        assert_eq!(plain_name(sixteen), sixteen);
    }
}
