//! Where code of a linked module was in the module that it is from: debug information speaks of that.

use wasmparser::BinaryReader;

/// The custom section of a linked module that has the table.
const SECTION: &str = "fuzzbox.addresses";

/// A table with more runs is taken for damage.
const RUNS_MAX: usize = 1 << 24;

/// From the code section of a linked module to that of the module that its debug information is from. Addresses are
/// bytes from the start of a code section's contents, as in DWARF.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// From an address on, up to the next run's: the old address there, or `None` for code of other modules.
    runs: Vec<(u32, Option<u32>)>,
}

impl Addresses {
    /// The old address of the code at `address`; `None` if it is from another module. Code that became longer has the
    /// addresses that it had, the last of them for the rest.
    pub fn original(&self, address: u32) -> Option<u32> {
        let next = self.runs.partition_point(|(start, _)| *start <= address);
        let (start, original) = self.runs[next.checked_sub(1)?];
        let original = original?;
        let moved = original.checked_add(address - start)?;
        let end = self.runs.get(next).and_then(|(_, next)| *next).unwrap_or(u32::MAX);
        Some(moved.min(end.saturating_sub(1)).max(original))
    }

    /// Reads the table of a linked module; `None` if there is none, or it is damaged.
    pub fn of(wasm: &[u8]) -> Option<Self> {
        let (_, content) = crate::module::sections::custom_sections(wasm).find(|(name, _)| *name == SECTION)?;
        let mut reader = BinaryReader::new(content, 0);
        let mut runs = Vec::new();
        let (mut address, mut original) = (0u32, 0u32);
        while !reader.eof() {
            address = address.checked_add(reader.read_var_u32().ok()?)?;
            let old = match reader.read_var_u32().ok()? {
                0 => None,
                forward => {
                    original = original.checked_add(forward - 1)?;
                    Some(original)
                }
            };
            if runs.len() == RUNS_MAX {
                return None;
            }
            runs.push((address, old));
        }
        Some(Self { runs })
    }

    /// The name and the content of the section: for each run the distances from the last one, the second plus 1, or 0.
    pub(crate) fn section(&self) -> (&'static str, Vec<u8>) {
        let mut bytes = Vec::new();
        let (mut address, mut original) = (0, 0);
        for &(start, old) in &self.runs {
            wasm_encoder::Encode::encode(&(start - address), &mut bytes);
            address = start;
            match old {
                None => bytes.push(0),
                Some(old) => {
                    wasm_encoder::Encode::encode(&(old - original + 1), &mut bytes);
                    original = old;
                }
            }
        }
        (SECTION, bytes)
    }

    /// From `new` on is what was at `old`. Both ascend from call to call.
    pub(crate) fn push(&mut self, new: u32, old: u32) {
        let follows =
            |(start, last): &(u32, Option<u32>)| last.and_then(|last| last.checked_add(new - start)) == Some(old);
        if !self.runs.last().is_some_and(follows) {
            self.set(new, Some(old));
        }
    }

    /// From `new` on is code of other modules.
    pub(crate) fn outside(&mut self, new: u32) {
        if self.runs.last().is_some_and(|(_, old)| old.is_some()) {
            self.set(new, None);
        }
    }

    fn set(&mut self, new: u32, old: Option<u32>) {
        match self.runs.last_mut() {
            Some(last) if last.0 == new => last.1 = old,
            _ => self.runs.push((new, old)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_back_and_survive_being_written() {
        let mut addresses = Addresses::default();
        addresses.outside(2);
        addresses.push(10, 3);
        addresses.push(12, 5);
        addresses.push(16, 8);
        addresses.outside(20);
        let found: Vec<_> = (9..=20).map(|address| addresses.original(address)).collect();
        // Six bytes of new code were five.
        let expected = [3, 4, 5, 6, 7, 7, 8, 9, 10, 11].map(Some);
        assert_eq!(found, [&[None], &expected[..], &[None]].concat());
        let (name, data) = addresses.section();
        let mut wasm = b"\0asm\x01\0\0\0".to_vec();
        let section = wasm_encoder::CustomSection { name: name.into(), data: data.into() };
        wasm_encoder::Section::append_to(&section, &mut wasm);
        assert_eq!(Addresses::of(&wasm), Some(addresses));
        assert_eq!(Addresses::of(&wasm[..8]), None);
    }
}
