//! Finds out which addresses of one build are which of another.
//!
//! A number in code doesn't say whether it is an address. What says so is that all of a module's functions tell the
//! same story: wherever the old build has `a`, the new one has `b`, and there is the same thing at both; or, where
//! there is nothing to see, as in variables that start as zero, everything around moved by as much.

use std::collections::BTreeMap;

use super::body::{Slot, SlotKind};
use super::memory::Comparison;
use super::module::{Module, is_address};
use super::pairs::Pairs;

/// How much further than what was before it, the last thing may have moved: the alignment of the heap and the sections.
const ALIGNMENT_MAX: i128 = 64;

/// What functions say about one address in both builds.
#[derive(Default)]
struct Evidence {
    /// How many functions say that it is the same.
    functions: u32,
    /// The last one that did.
    last: u32,
    /// Whether one of them uses it as nothing but an address.
    certain: bool,
    /// Whether the same content is there, and whether that is telling.
    same: bool,
    telling: bool,
}

/// Which numbers are the same in both builds.
pub(super) struct Moved<'a> {
    old: &'a Module,
    new: &'a Module,
    evidence: BTreeMap<(u64, u64), Evidence>,
    /// Addresses that are known by their content, and what became of them.
    anchors: BTreeMap<u64, u64>,
    /// By how much how many addresses moved.
    distances: BTreeMap<i128, u32>,
    globals: BTreeMap<u64, u64>,
    places: BTreeMap<u64, u32>,
}

impl<'a> Moved<'a> {
    /// Collects the evidence of all pairs that have the same shape.
    pub(super) fn new(old: &'a Module, new: &'a Module, pairs: &Pairs<'_>) -> Moved<'a> {
        let mut moved = Moved {
            old,
            new,
            evidence: BTreeMap::new(),
            anchors: BTreeMap::new(),
            distances: BTreeMap::new(),
            globals: BTreeMap::new(),
            places: BTreeMap::new(),
        };
        moved.collect(pairs);
        moved.compare(pairs);
        moved
    }

    /// Whether two slots of the same kind mean the same.
    pub(super) fn same(&self, pairs: &Pairs<'_>, old: Slot, new: Slot) -> bool {
        let (a, b) = (old.value, new.value);
        match old.kind {
            SlotKind::Number => a == b,
            SlotKind::Word => self.same_address(a, b) || a != b && self.same_place(pairs, a, b),
            SlotKind::Address | SlotKind::Offset => self.same_address(a, b),
            SlotKind::Place => self.same_place(pairs, a, b),
            SlotKind::Function => self.same_function(pairs, a, b),
            SlotKind::Global => self.same_global(pairs, a, b),
            SlotKind::Data => self.old.data.get(a as usize) == self.new.data.get(b as usize),
            SlotKind::Element => self.same_element(pairs, a, b),
        }
    }

    fn collect(&mut self, pairs: &Pairs<'_>) {
        let (objects, new_objects) = (self.old.memory.objects(), self.new.memory.objects());
        let mut globals: BTreeMap<(u64, u64), u32> = BTreeMap::new();
        for (function, new_function) in pairs.iter() {
            let old = &self.old.functions[function as usize].body;
            let new = &self.new.functions[new_function as usize].body;
            if old.shape != new.shape {
                continue;
            }
            for (&Slot { kind, value: a }, &Slot { value: b, .. }) in old.slots.iter().zip(&new.slots) {
                if kind == SlotKind::Global {
                    *globals.entry((a, b)).or_default() += 1;
                } else if is_address(kind) && objects.contains(&a) && new_objects.contains(&b) {
                    let evidence = self.evidence.entry((a, b)).or_default();
                    if evidence.functions == 0 || evidence.last != function {
                        evidence.functions += 1;
                        evidence.last = function;
                    }
                    evidence.certain |= kind != SlotKind::Word;
                }
            }
        }
        let mut best: BTreeMap<u64, u32> = BTreeMap::new();
        for ((a, b), count) in globals {
            if count > best.get(&a).copied().unwrap_or_default() {
                best.insert(a, count);
                self.globals.insert(a, b);
            }
        }
    }

    fn compare(&mut self, pairs: &Pairs<'_>) {
        let places = |a, b| same_place(self.old, self.new, pairs, a, b);
        let comparison = Comparison::new(&self.old.memory, &self.new.memory, places);
        let mut best: BTreeMap<u64, u32> = BTreeMap::new();
        for (&(a, b), evidence) in &mut self.evidence {
            evidence.same = comparison.same(a, b);
            evidence.telling = self.old.memory.is_telling(a);
            if !evidence.same {
                continue;
            }
            if a != b {
                *self.distances.entry(distance(a, b)).or_default() += 1;
            }
            if evidence.telling && evidence.functions > best.get(&a).copied().unwrap_or_default() {
                best.insert(a, evidence.functions);
                self.anchors.insert(a, b);
            }
        }
        for (&(a, _), evidence) in &self.evidence {
            let most = self.places.entry(a).or_default();
            *most = evidence.functions.max(*most);
        }
    }

    fn same_address(&self, a: u64, b: u64) -> bool {
        let Some(evidence) = self.evidence.get(&(a, b)) else { return a == b };
        match (a == b, evidence.same) {
            (true, true) => true,
            // Either a number, or something that changed where it is. If what was there moved away, it is a number.
            (true, false) => !evidence.certain && self.moved_away(a),
            (false, true) => evidence.telling || self.moved_with_others(a, b, evidence),
            (false, false) => false,
        }
    }

    /// Whether what is at an address in one build is elsewhere in the other.
    fn moved_away(&self, address: u64) -> bool {
        let around = self.around(address);
        let is_data = |module: &Module| address < module.memory.segments_end();
        is_data(self.old) != is_data(self.new)
            || self.anchors.get(&address).is_some_and(|&new| new != address)
            || around != [None, None] && around.into_iter().flatten().all(|by| by != 0)
    }

    /// How far the nearest things known by their content moved, below and above an address.
    fn around(&self, address: u64) -> [Option<i128>; 2] {
        let below = self.anchors.range(..address).next_back();
        let above = self.anchors.range(address.saturating_add(1)..).next();
        [below, above].map(|anchor| anchor.map(|(&a, &b)| distance(a, b)))
    }

    /// Whether an address where nothing is to be seen moved as one would.
    fn moved_with_others(&self, a: u64, b: u64, evidence: &Evidence) -> bool {
        if evidence.functions < self.places.get(&a).copied().unwrap_or_default() {
            return false; // most functions say otherwise
        }
        let by = distance(a, b);
        let shared = self.distances.get(&by).is_some_and(|&count| count > 1);
        evidence.certain
            || shared
            || match self.around(a) {
                [Some(below), Some(above)] => {
                    below != above && (below.min(above)..=below.max(above)).contains(&by) || by == below
                }
                [Some(near), None] | [None, Some(near)] => near != 0 && (by - near).abs() <= ALIGNMENT_MAX,
                [None, None] => false,
            }
    }

    fn same_function(&self, pairs: &Pairs<'_>, a: u64, b: u64) -> bool {
        let new = |index: u64| self.new.functions.get(index as usize);
        match (pairs.new_of(a as u32), new(b)) {
            (Some(paired), Some(_)) if u64::from(paired) == b => true,
            // Copies that have no names are no different from each other.
            (Some(paired), Some(called)) => {
                let paired = new(u64::from(paired));
                called.plain.is_none()
                    && paired.is_some_and(|paired| paired.plain.is_none() && paired.body == called.body)
            }
            _ => false,
        }
    }

    fn same_place(&self, pairs: &Pairs<'_>, a: u64, b: u64) -> bool {
        same_place(self.old, self.new, pairs, a, b)
    }

    fn same_global(&self, pairs: &Pairs<'_>, a: u64, b: u64) -> bool {
        let (Some(old), Some(new)) = (self.old.globals.get(a as usize), self.new.globals.get(b as usize)) else {
            return false;
        };
        let named = old.name.is_some() && old.name == new.name;
        if old.ty != new.ty || !named && self.globals.get(&a) != Some(&b) {
            return false;
        }
        match (old.init, new.init) {
            (Some(a), Some(b)) if !old.mutable => {
                self.same_address(a, b) || self.same_place(pairs, a, b) || self.both_are_objects(a, b)
            }
            _ => true,
        }
    }

    fn both_are_objects(&self, a: u64, b: u64) -> bool {
        self.old.memory.objects().contains(&a) && self.new.memory.objects().contains(&b)
    }

    fn same_element(&self, pairs: &Pairs<'_>, a: u64, b: u64) -> bool {
        let (Some(old), Some(new)) = (self.old.elements.get(a as usize), self.new.elements.get(b as usize)) else {
            return false;
        };
        old.len() == new.len()
            && old.iter().zip(new).all(|(old, new)| match (old, new) {
                (Some(old), Some(new)) => pairs.new_of(*old) == Some(*new),
                (old, new) => old == new,
            })
    }
}

/// Whether corresponding functions are at these places of the tables.
fn same_place(old: &Module, new: &Module, pairs: &Pairs<'_>, a: u64, b: u64) -> bool {
    match (old.table.get(&a), new.table.get(&b)) {
        (Some(&old), Some(&new)) => pairs.new_of(old) == Some(new),
        (None, None) => a == b,
        _ => false,
    }
}

fn distance(a: u64, b: u64) -> i128 {
    i128::from(b) - i128::from(a)
}
