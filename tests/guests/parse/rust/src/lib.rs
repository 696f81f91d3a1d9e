//! Nested lists.

/// Reads `text`.
pub fn parse(text: &[u8]) {
    let mut levels = Vec::new();
    for at in 0..text.len() {
        if text[at] != b'[' {
            break;
        }
        levels.push(text[at..].to_vec());
        debug_assert!(levels.len() < 3, "too deep: {}", levels.len());
    }
}
