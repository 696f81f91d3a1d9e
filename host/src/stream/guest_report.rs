//! What the guest told about itself: events, scores, notes, values, and why it ended.

use fuzzbox_instrument::layout::stream as layout;

/// All that a guest told in one execution, each kind in the order in which it did. Texts are cut at 1 KiB, notes at 64
/// KiB; what is not UTF-8 in them is replaced. All together takes at most 1 MiB: what has no room is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuestReport {
    /// `event`: a label and a number.
    pub events: Vec<(String, i64)>,
    /// `target`: a label and a score that is to become as large as possible.
    pub targets: Vec<(String, f64)>,
    /// `keyframe`: its id and an argument.
    pub keyframes: Vec<(u32, i64)>,
    /// `name`: of what kind, the id, the name.
    pub names: Vec<(u32, u32, String)>,
    /// `note`.
    pub notes: Vec<Note>,
    /// `value`.
    pub values: Vec<Value>,
    /// `feature`: those that were asked for, and whether they were enabled.
    pub features: Vec<(String, bool)>,
    /// Why the guest rejected the stream, if it said so.
    pub rejected: Option<String>,
    /// The class of the failure, if the guest ended by `fail`.
    pub failed: Option<String>,
    /// Something had no room.
    pub lost: bool,
}

/// A text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What the guest says.
    pub text: String,
    /// How many draws there were before.
    pub draws: usize,
}

/// A structured value that the guest made of its draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The type, in the guest's own terms.
    pub type_id: i64,
    /// The encoding, in the guest's own terms.
    pub encoding: u32,
    /// The value itself.
    pub bytes: Vec<u8>,
    /// How many draws there were before.
    pub draws: usize,
}

/// One thing that was told, without copies.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// One of the kinds in [`layout`](fuzzbox_instrument::layout::stream).
    pub kind: u32,
    /// Two numbers, by kind.
    pub numbers: [i64; 2],
    /// The call site.
    pub site: u32,
    /// How many draws there were before.
    pub draws: u32,
    /// The text.
    pub text: &'a [u8],
}

/// The entries in the area of a stream, in order.
pub fn entries(area: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let end = (number(area, layout::ENTRIES_USED as usize) as usize).min(layout::ENTRIES_BYTES as usize);
    let mut rest = &area[layout::ENTRIES as usize..][..end];
    std::iter::from_fn(move || {
        let (head, text) = rest.split_at_checked(layout::ENTRY_HEAD as usize)?;
        let len = number(head, 4) as usize;
        let entry = Entry {
            kind: number(head, 0),
            numbers: [wide(head, 8), wide(head, 16)],
            site: number(head, 24),
            draws: number(head, 28),
            text: text.get(..len)?,
        };
        rest = text.get(len.next_multiple_of(8)..)?;
        Some(entry)
    })
}

impl GuestReport {
    /// Reads what is in the area of a stream after an execution.
    pub fn read(area: &[u8]) -> Self {
        let mut told = Self { lost: number(area, layout::ENTRIES_LOST as usize) != 0, ..Self::default() };
        entries(area).for_each(|entry| told.add(entry));
        told
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: Entry<'_>) {
        let Entry { kind, numbers: [a, b], draws, text, .. } = entry;
        let (draws, string) = (draws as usize, || String::from_utf8_lossy(text).into_owned());
        match kind {
            layout::ENTRY_EVENT => self.events.push((string(), a)),
            layout::ENTRY_TARGET => self.targets.push((string(), f64::from_bits(a.cast_unsigned()))),
            layout::ENTRY_KEYFRAME => self.keyframes.push((a as u32, b)),
            layout::ENTRY_NAME => self.names.push((a as u32, b as u32, string())),
            layout::ENTRY_NOTE => self.notes.push(Note { text: string(), draws }),
            layout::ENTRY_VALUE => {
                self.values.push(Value { type_id: a, encoding: b as u32, bytes: text.to_vec(), draws });
            }
            layout::ENTRY_FEATURE => self.features.push((string(), a != 0)),
            layout::ENTRY_REJECT => self.rejected = Some(string()),
            layout::ENTRY_FAIL => self.failed = Some(string()),
            _ => {}
        }
    }
}

/// The 32-bit number at an offset.
pub(super) fn number(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}

/// The 64-bit number at an offset.
pub(super) fn wide(bytes: &[u8], offset: usize) -> i64 {
    i64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}
