//! Names as numbers.

/// The label of a name: its 32-bit FNV-1a hash (offset basis 0x811c9dc5, prime 0x01000193).
///
/// Spans with the same label are taken for the same kind of thing: a mutator may put one in the place of another. So a name
/// should say what kind of value is drawn, `"json::Number"`, not which one.
///
/// ```
/// const NUMBER: u32 = fuzzbox_guest::label("json::Number");
/// assert_eq!(fuzzbox_guest::label(""), 0x811c9dc5);
/// ```
pub const fn label(name: &str) -> u32 {
    let (bytes, mut hash, mut at) = (name.as_bytes(), 0x811c_9dc5_u32, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

/// The label of something with a part that has a label of its own: a list of numbers is not a list of names.
pub const fn mix(label: u32, part: u32) -> u32 {
    let (bytes, mut hash, mut at) = (part.to_le_bytes(), label, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

/// The 64-bit FNV-1a hash of a name (offset basis 0xcbf29ce484222325, prime 0x100000001b3), for ids of types.
pub const fn label64(name: &str) -> u64 {
    let (bytes, mut hash, mut at) = (name.as_bytes(), 0xcbf2_9ce4_8422_2325_u64, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_published_hashes() {
        assert_eq!(label("a"), 0xe40c_292c);
        assert_eq!(label("foobar"), 0xbf9c_f968);
        assert_eq!(label64("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_part_makes_a_difference() {
        assert_ne!(mix(label("vec"), label("u8")), mix(label("vec"), label("u16")));
    }
}
