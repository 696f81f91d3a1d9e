//! Looks at the sections of a module's file. Nothing here runs or validates it.

use anyhow::{Context as _, Result, ensure};
use std::ops::Range;

const HEADER_BYTES: usize = 8;
const CUSTOM: u8 = 0;

/// Removes the custom sections that have one of these names.
pub(super) fn without_sections(module: &[u8], names: &[&str]) -> Result<Vec<u8>> {
    let mut kept = module.get(..HEADER_BYTES).context("a module without a header")?.to_vec();
    for section in sections(module)? {
        if !(section.id == CUSTOM && names.contains(&custom_name(&module[section.body.clone()])?)) {
            kept.extend_from_slice(&module[section.whole]);
        }
    }
    Ok(kept)
}

/// What executes: a module's bytes without its custom sections. Equal for two builds that differ in debug information
/// only.
pub fn code_sections(module: &[u8]) -> Result<Vec<u8>> {
    let mut code = Vec::new();
    for section in sections(module)?.into_iter().filter(|section| section.id != CUSTOM) {
        code.extend_from_slice(&module[section.whole]);
    }
    Ok(code)
}

struct Section {
    id: u8,
    /// With its id and size.
    whole: Range<usize>,
    body: Range<usize>,
}

fn sections(module: &[u8]) -> Result<Vec<Section>> {
    ensure!(module.starts_with(b"\0asm\x01\0\0\0"), "not a core module");
    let mut sections = Vec::new();
    let mut at = HEADER_BYTES;
    while at < module.len() {
        let start = at;
        let id = module[at];
        at += 1;
        let size = leb128(module, &mut at)?;
        let end = at.checked_add(size).filter(|&end| end <= module.len()).context("a section past the end")?;
        sections.push(Section { id, whole: start..end, body: at..end });
        at = end;
    }
    Ok(sections)
}

fn custom_name(body: &[u8]) -> Result<&str> {
    let mut at = 0;
    let size = leb128(body, &mut at)?;
    let name = at.checked_add(size).and_then(|end| body.get(at..end)).context("a custom section without a name")?;
    std::str::from_utf8(name).context("a custom section whose name is not UTF-8")
}

fn leb128(bytes: &[u8], at: &mut usize) -> Result<usize> {
    let mut value = 0u32;
    for shift in (0..32).step_by(7) {
        let byte = *bytes.get(*at).context("a number past the end")?;
        *at += 1;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value as usize);
        }
    }
    anyhow::bail!("a number of more than five bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A type section with one empty function type, between two custom sections `a` and `b`.
    const MODULE: &[u8] = b"\0asm\x01\0\0\0\x00\x03\x01ax\x01\x04\x01\x60\0\0\x00\x02\x01b";

    #[test]
    fn only_the_named_sections_are_removed() {
        let kept = without_sections(MODULE, &["a", "none"]).unwrap();
        assert_eq!(kept, b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x00\x02\x01b");
    }

    #[test]
    fn custom_sections_do_not_execute() {
        assert_eq!(code_sections(MODULE).unwrap(), b"\x01\x04\x01\x60\0\0");
    }

    #[test]
    fn every_truncation_is_an_error_or_ends_at_a_section() {
        let ends = [8, 13, 19, 23];
        for length in 0..MODULE.len() {
            assert_eq!(code_sections(&MODULE[..length]).is_ok(), ends.contains(&length), "length {length}");
        }
    }
}
