//! Looks through bytes for one of a kind: many at a time, as mostly there is none near.

/// Bytes that are looked at together.
const CHUNK: usize = 16;

/// Where the first byte is that fits.
#[inline]
pub(super) fn find(bytes: &[u8], fits: impl Fn(u8) -> bool) -> Option<usize> {
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    let passed = chunks.iter().take_while(|chunk| !any(chunk, &fits)).count();
    let found = chunks.get(passed).map_or(rest, |chunk| chunk).iter().position(|&byte| fits(byte));
    found.map(|found| passed * CHUNK + found)
}

/// Where the last byte is that fits.
#[inline]
pub(super) fn find_last(bytes: &[u8], fits: impl Fn(u8) -> bool) -> Option<usize> {
    let (rest, chunks) = bytes.as_rchunks::<CHUNK>();
    let left = chunks.iter().rposition(|chunk| any(chunk, &fits));
    let (start, part) = left.map_or((0, rest), |left| (rest.len() + left * CHUNK, &chunks[left][..]));
    part.iter().rposition(|&byte| fits(byte)).map(|found| start + found)
}

/// Whether a byte fits, without branches.
#[inline]
fn any(chunk: &[u8; CHUNK], fits: impl Fn(u8) -> bool) -> bool {
    chunk.iter().fold(false, |any, &byte| any | fits(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_the_first_and_the_last() {
        for len in 0..3 * CHUNK + 2 {
            let mut bytes = vec![0; len];
            assert_eq!((find(&bytes, |byte| byte > 0), find_last(&bytes, |byte| byte > 0)), (None, None));
            for (first, last) in (0..len).flat_map(|first| (first..len).map(move |last| (first, last))) {
                bytes[first] = 1;
                bytes[last] = 1;
                assert_eq!(find(&bytes, |byte| byte > 0), Some(first));
                assert_eq!(find_last(&bytes, |byte| byte > 0), Some(last));
                bytes[first] = 0;
                bytes[last] = 0;
            }
        }
    }
}
