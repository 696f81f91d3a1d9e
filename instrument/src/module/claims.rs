//! How many entries sections claim to have.

use anyhow::{Result, ensure};
use wasmparser::{BinaryReader, SubType};

use crate::module::features::{INVALID, features};
use crate::module::sections::{Section, Sections};

/// A group of recursive types.
const GROUP: u8 = 0x4e;

/// The fewest bytes that a type in a group takes: a struct without fields.
const TYPE_BYTES_MIN: usize = 2;

/// Refuses sections, and groups in the type section, that claim more entries than there is room for.
///
/// ```text
/// 01 06   01 4e c0 84 3d 00     a group of 1,000,000 types, in 6 bytes
/// ```
///
/// Whoever reads a list sets memory aside for as many entries as it claims to have. The validator does so before it
/// reads the first one, up to its limit of a million: that is a hundred megabytes for a module of a few bytes. After
/// this check, it is a small multiple of the module's size.
pub(crate) fn check_counts(sections: Sections<'_>) -> Result<()> {
    for section in sections {
        // What is broken otherwise has an error of the validator, which is told from it by its offset.
        let Ok(section) = section else { return Ok(()) };
        let Some(bytes_min) = entry_bytes_min(section.id) else { continue };
        let mut reader = BinaryReader::new(section.bytes, section.range.start as u64);
        let Ok(count) = reader.read_var_u32() else { return Ok(()) };
        check(count, bytes_min, &reader, &section)?;
        if section.id == 1 {
            check_groups(count, reader, &section)?;
        }
    }
    Ok(())
}

fn check_groups(count: u32, mut reader: BinaryReader<'_>, section: &Section<'_>) -> Result<()> {
    reader.set_features(features());
    for _ in 0..count {
        let mut types = 1;
        if reader.clone().read_u8().is_ok_and(|byte| byte == GROUP) {
            let Ok(size) = reader.read_u8().and_then(|_| reader.read_var_u32()) else { return Ok(()) };
            check(size, TYPE_BYTES_MIN, &reader, section)?;
            types = size;
        }
        for _ in 0..types {
            if reader.read::<SubType>().is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn check(count: u32, bytes_min: usize, rest: &BinaryReader<'_>, section: &Section<'_>) -> Result<()> {
    let left = rest.bytes_remaining();
    ensure!(
        count as usize <= left / bytes_min,
        "{INVALID}: section {} claims {count} entries where {left} bytes are left (at offset {:#x})",
        section.id,
        rest.original_position()
    );
    Ok(())
}

/// The fewest bytes that an entry of a section with this id takes, if it is a list.
fn entry_bytes_min(section: u8) -> Option<usize> {
    Some(match section {
        1 => 1,  // types: an empty group is `4e 00`, but the least that may follow is checked there
        2 => 4,  // imports: two names, kind, type
        3 => 1,  // functions: a type
        4 => 3,  // tables: type, flags, minimum
        5 => 2,  // memories: flags, minimum
        6 => 4,  // globals: type, mutability, expression with its end
        7 => 3,  // exports: name, kind, index
        9 => 2,  // element segments: flags, something
        10 => 3, // bodies: size, locals, end
        11 => 2, // data segments: flags, size
        13 => 2, // tags: attribute, type
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::sections::sections;

    #[test]
    fn counts_without_room_are_refused_and_others_are_not() {
        let module = |bytes: &[u8]| [b"\0asm\x01\0\0\0", bytes].concat();
        let error = |bytes: &[u8]| check_counts(sections(&module(bytes)).unwrap()).err().map(|error| error.to_string());
        assert_eq!(
            error(b"\x01\x06\x01\x4e\xc0\x84\x3d\x00").unwrap(),
            "is not valid wasm: section 1 claims 1000000 entries where 1 bytes are left (at offset 0xf)"
        );
        assert_eq!(
            error(b"\x04\x04\x02\x70\x00\x00").unwrap(),
            "is not valid wasm: section 4 claims 2 entries where 3 bytes are left (at offset 0xb)"
        );
        assert_eq!(error(b"\x04\x04\x01\x70\x00\x00"), None);
        assert_eq!(error(b"\x01\x09\x02\x4e\x02\x5f\x00\x5f\x00\x5f\x00"), None);
        assert_eq!(error(b"\x01\x03\x01\x4e\x00"), None);
        // Broken in a way that is left to others.
        assert_eq!(error(b"\x04\x7f\x01"), None);
        assert_eq!(error(b"\x01\x01\x80"), None);
    }
}
