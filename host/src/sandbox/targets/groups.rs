//! Which functions' counters are in which line.

use fuzzbox_instrument::{CounterMap, layout};
use std::ops::Range;

/// Functions whose counters share a line; or one, which has some lines for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupCounters<'a> {
    /// Those of all counters.
    pub(crate) values: &'a [u32],
    /// The lines of their counters that are not rare.
    pub(crate) lines: (u32, u32),
    /// The place of the first of them in [`CounterMap::by_counter`].
    pub(crate) first: u32,
}

/// That some function of a group was executed.
#[derive(Clone, Copy, Debug)]
pub struct ExecutedGroup {
    /// Which group.
    pub(crate) group: u32,
    pub(in crate::sandbox) hash: u64,
}

impl ExecutedGroup {
    /// A number that stands for what all functions of the group did. Others have it as well about once in 2^64 times.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// Which functions' counters are in which line of counters.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    /// In the order of their lines of counters that are not rare.
    groups: Box<[Lines]>,
    /// By line: its group.
    of_line: Box<[u32]>,
}

/// The lines of a group, each from the first to the one behind the last.
#[derive(Clone, Debug)]
struct Lines {
    main: (u32, u32),
    /// Those of the counters that executions of the past had no use for, if they lie elsewhere.
    rare: (u32, u32),
    /// The place of its first function in [`CounterMap::by_counter`].
    first: u32,
}

impl Groups {
    pub(crate) fn new(counters: &CounterMap) -> Self {
        let narrow = |index: usize| u32::try_from(index).expect("functions and counters have 32-bit indices");
        let lines =
            |range: &Range<u32>| (range.start / layout::LINE_COUNTERS, range.end.div_ceil(layout::LINE_COUNTERS));
        let mut groups: Vec<Lines> = Vec::new();
        for (first, &place) in counters.by_counter().iter().enumerate() {
            let function = &counters.functions()[place as usize];
            if function.counters.is_empty() {
                continue;
            }
            let (main, rare) = (lines(&function.counters), lines(&function.rare));
            if groups.last().is_none_or(|group| group.main.1 <= main.0) {
                groups.push(Lines { main, rare: (0, 0), first: narrow(first) });
            }
            let group = groups.last_mut().expect("there is one");
            group.main.1 = main.1;
            if !function.rare.is_empty() {
                let start = if group.rare.1 == 0 { rare.0 } else { group.rare.0 };
                group.rare = (start, rare.1);
            }
        }
        let mut of_line = vec![0; (counters.len() as usize).div_ceil(layout::LINE_COUNTERS as usize)];
        for (index, group) in groups.iter().enumerate() {
            for (start, end) in [group.main, group.rare] {
                of_line[start as usize..end as usize].fill(narrow(index));
            }
        }
        Self { groups: groups.into(), of_line: of_line.into() }
    }

    /// One of the groups, with the values of all counters.
    pub(crate) fn group<'a>(&self, group: u32, values: &'a [u32]) -> GroupCounters<'a> {
        let Lines { main, first, .. } = self.groups[group as usize];
        GroupCounters { values, lines: main, first }
    }

    /// The group of a line, the end of the lines that it has there, and whether these are of rare counters.
    pub(crate) fn at(&self, line: usize) -> (u32, usize, bool) {
        let group = self.of_line[line];
        let Lines { main, rare, .. } = &self.groups[group as usize];
        let is_rare = line >= main.1 as usize || line < main.0 as usize;
        (group, if is_rare { rare.1 } else { main.1 } as usize, is_rare)
    }
}
