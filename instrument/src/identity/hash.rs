//! 128-bit hashes: short enough to keep many, long enough that no two things share one by chance.

/// The first half of a BLAKE3 hash.
pub(super) type Hash = [u8; 16];

/// Hashes parts so that neither their order nor where one ends can be mistaken.
pub(super) fn hash(parts: &[&[u8]]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut short = Hash::default();
    short.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_part_ends_matters() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_ne!(hash(&[]), hash(&[b""]));
        assert_eq!(hash(&[b"ab", b"c"]), hash(&[b"ab", b"c"]));
    }
}
