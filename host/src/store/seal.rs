//! JSON files with a checksum in them.
//!
//! ```text
//! {
//!   "v": 1,
//!   ...
//!   "check": "9a0b..."
//! }
//! ```
//!
//! `check` is the last member: the blake3 of the file with the digits of `check` itself replaced by zeros. It is over
//! the text, not over values, so it depends on no canonical form of JSON, and any editor's or disk's change is noticed.

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde_json::Value;

/// What stands for the checksum while it is computed.
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Serialize)]
struct Sealed<'a, T> {
    #[serde(flatten)]
    value: &'a T,
    check: &'static str,
}

/// Writes `value`, which must serialise to a map, with its checksum.
pub(super) fn seal(value: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string_pretty(&Sealed { value, check: ZEROS })?;
    text.push('\n');
    let check = blake3::hash(text.as_bytes()).to_hex();
    // The last one: a member before it may hold as many zeros.
    let at = text.rfind(ZEROS).context("the checksum has no place")?;
    text.replace_range(at..at + ZEROS.len(), &check);
    Ok(text)
}

/// Reads what [`seal`] wrote; an error says what is wrong in words that follow "is damaged: ".
///
/// A version above `version_max` is let through unchecked, for the caller to refuse by its number: a later version may
/// be sealed in another way.
pub(super) fn unseal(bytes: &[u8], version_max: u64) -> Result<(u64, Value)> {
    let text = std::str::from_utf8(bytes).ok().context("it is not UTF-8")?;
    let value: Value = serde_json::from_str(text).map_err(|error| anyhow::anyhow!("it is not JSON: {error}"))?;
    let Some(version) = value.get("v").and_then(Value::as_u64) else { bail!("it has no version") };
    if version > version_max {
        return Ok((version, value));
    }
    let check = value.get("check").and_then(Value::as_str).unwrap_or_default();
    ensure!(check.len() == ZEROS.len(), "it has no checksum");
    let at = text.rfind(check).context("it has no checksum")?;
    let mut blank = text.to_owned();
    blank.replace_range(at..at + ZEROS.len(), ZEROS);
    ensure!(blake3::hash(blank.as_bytes()).to_hex().as_str() == check, "its checksum is not that of its content");
    Ok((version, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_is_noticed() {
        let value = serde_json::json!({"v": 1, "zeros": ZEROS, "number": 1.5e300, "text": "a\"b"});
        let sealed = seal(&value).unwrap();
        let (_, read) = unseal(sealed.as_bytes(), 1).unwrap();
        assert_eq!(read["number"], value["number"]);
        for at in 0..sealed.len() {
            for bit in [0x01, 0x02, 0x20, 0x80] {
                let mut bytes = sealed.clone().into_bytes();
                bytes[at] ^= bit;
                // A digit of the version may turn into a later one, which the caller refuses.
                assert!(!matches!(unseal(&bytes, 1), Ok((0 | 1, _))), "byte {at} ^ {bit}");
            }
            assert!(unseal(&sealed.as_bytes()[..at], 1).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn deep_json_is_refused() {
        assert!(unseal("[".repeat(100_000).as_bytes(), 1).is_err());
    }
}
