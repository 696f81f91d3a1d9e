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

/// Takes the crates' hashes out of a name in Rust's second mangling: `Cs`, digits of base 62, `_`.
fn without_disambiguators(mut name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    while let Some(at) = name.find("Cs") {
        let (before, rest) = name.split_at(at + 1);
        out.push_str(before);
        let digits = rest[1..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len() - 1);
        let end = 1 + digits;
        name = if rest[end..].starts_with('_') { &rest[end + 1..] } else { rest };
    }
    out + name
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
        assert_eq!(plain_name("quick.llvm.1234"), "quick");
    }

    #[test]
    fn what_only_looks_like_a_hash_stays() {
        for name in
            ["", "_R", "_RCs", "_RCs1", "_RCsé", "main", "a.llvm.", "a.llvm.x", "a::h12", "::h", "_ZN17h", "_ZN17hé"]
        {
            assert_eq!(plain_name(name), name);
        }
        let sixteen = "_ZN17h0123456789abcdef";
        assert_eq!(plain_name(sixteen), sixteen);
    }
}
