//! What one function is called across builds: a hash of its code as it would be before linking, as far as one build
//! tells.

use std::collections::BTreeMap;
use std::fmt;

use super::body::{Slot, SlotKind};
use super::hash::{Hash, hash};
use super::memory::number;
use super::module::{Function, Module};

/// How many bytes of an object count; the rest is left to comparing two builds.
const CONTENT_BYTES_MAX: u64 = 64;

/// A function's code, by which it is known in other builds. Written as 32 hexadecimal digits.
///
/// It is no secret and no proof, but a name: who wants to, can make two different functions with one fingerprint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 16]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a call says whom it calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Callees {
    /// By name, else by shape.
    Named,
    /// By shape: then a module without its names has the same fingerprints.
    Shapes,
}

/// The fingerprints of all functions, by index.
pub(super) fn fingerprints(module: &Module, callees: Callees) -> Vec<Fingerprint> {
    let reader = Reader { module, end: objects_end(module), callees: tokens(module, callees) };
    module
        .functions
        .iter()
        .map(|function| Fingerprint(reader.function(&function.body.shape, &function.body.slots)))
        .collect()
}

/// What stands for each function in its callers. A shape doesn't say whom the function calls in turn, so that a change
/// spreads no further than to direct callers, and recursion is no matter.
fn tokens(module: &Module, callees: Callees) -> Vec<Hash> {
    let token = |function: &Function| match &function.plain {
        Some(name) if callees == Callees::Named || function.imported => hash(&[b"name", name.as_bytes()]),
        _ => hash(&[b"shape", &function.body.shape]),
    };
    module.functions.iter().map(token).collect()
}

/// Where objects end, for all that one module tells: behind the last segment, or behind the last address that is
/// certainly one. Beyond are the heap, and numbers.
fn objects_end(module: &Module) -> u64 {
    let objects = module.memory.objects();
    let slots = module.functions.iter().flat_map(|function| &function.body.slots);
    let addresses = slots.filter(|slot| matches!(slot.kind, SlotKind::Address | SlotKind::Offset));
    let last = addresses.map(|slot| slot.value).filter(|address| objects.contains(address)).max();
    module.memory.segments_end().max(last.map_or(0, |last| last.saturating_add(1)))
}

struct Reader<'a> {
    module: &'a Module,
    end: u64,
    callees: Vec<Hash>,
}

impl Reader<'_> {
    fn function(&self, shape: &Hash, slots: &[Slot]) -> Hash {
        let mut bytes = Vec::with_capacity(slots.len() * 9);
        let mut unknown = BTreeMap::new();
        for (index, &Slot { kind, value }) in slots.iter().enumerate() {
            match kind {
                SlotKind::Word if self.module.is_line(slots, index) => {}
                SlotKind::Number => plain(&mut bytes, value),
                SlotKind::Word | SlotKind::Address | SlotKind::Offset => self.word(&mut bytes, value, &mut unknown),
                SlotKind::Place => match self.module.table.get(&value) {
                    Some(&function) => self.callee(&mut bytes, function),
                    None => plain(&mut bytes, value),
                },
                SlotKind::Function => self.callee(&mut bytes, value as u32),
                SlotKind::Global => self.global(&mut bytes, value),
                SlotKind::Data => bytes.extend(self.module.data.get(value as usize).copied().unwrap_or_default()),
                SlotKind::Element => {
                    plain(&mut bytes, self.module.elements.get(value as usize).map_or(0, Vec::len) as u64)
                }
            }
        }
        hash(&[b"function", shape, &bytes])
    }

    fn callee(&self, bytes: &mut Vec<u8>, function: u32) {
        bytes.push(b'f');
        bytes.extend(self.callees.get(function as usize).copied().unwrap_or_default());
    }

    fn global(&self, bytes: &mut Vec<u8>, index: u64) {
        let Some(global) = self.module.globals.get(index as usize) else { return };
        bytes.push(b'g');
        bytes.extend(global.ty);
        // The stack pointer starts where the linker says.
        let init = global.init.filter(|&init| !global.mutable && !self.module.memory.objects().contains(&init));
        bytes.extend(init.unwrap_or_default().to_le_bytes());
        bytes.extend(global.name.as_deref().unwrap_or_default().bytes());
        bytes.push(0);
    }

    /// A number that is an address if there is an object: then what is there stands for it, or, where nothing is known,
    /// how many other such addresses the function used before.
    fn word(&self, bytes: &mut Vec<u8>, value: u64, unknown: &mut BTreeMap<u64, u64>) {
        let memory = &self.module.memory;
        if !memory.objects().contains(&value) || value >= self.end {
            return plain(bytes, value);
        }
        if !memory.is_telling(value) {
            let next = unknown.len() as u64;
            bytes.push(b'u');
            return bytes.extend(unknown.entry(value).or_insert(next).to_le_bytes());
        }
        let mut content = memory.read(value, memory.extent(value).min(CONTENT_BYTES_MAX));
        let word = memory.word as usize;
        let skip = (value.next_multiple_of(memory.word) - value) as usize;
        let words = content.get_mut(skip..).unwrap_or_default().chunks_exact_mut(word);
        for (at, chunk) in (value + skip as u64..).step_by(word).zip(words) {
            let pointed = number(chunk);
            // Pointers and functions' places move; what is small may be a place.
            if memory.objects().contains(&pointed) || self.module.table.contains_key(&pointed) {
                chunk.fill(0xff);
            } else if memory.is_line(at) {
                chunk[..4].fill(0xff);
            }
        }
        let length = content.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        bytes.push(b'c');
        bytes.extend((length as u64).to_le_bytes());
        bytes.extend(&content[..length]);
    }
}

fn plain(bytes: &mut Vec<u8>, value: u64) {
    bytes.push(b'n');
    bytes.extend(value.to_le_bytes());
}
