//! What a finished execution shows: edges, output, fuel.

use crate::sandbox::hash;
use crate::sandbox::imports::host::Host;
use crate::sandbox::instance::injected::Injected;
use crate::sandbox::targets::Target;
use crate::sandbox::targets::groups::{ExecutedGroup, GroupCounters};
use crate::stream::frames::Reached;
use crate::stream::guest_report::{Entry, entries};
use crate::stream::{GuestReport, Trace as Draws};
use fuzzbox_instrument::trace::Trace;
use fuzzbox_instrument::{CountsBuffer, FunctionCounters, LeftFrame, layout};

/// What a finished execution showed, apart from its outcome. Valid until the next run.
#[derive(Clone, Copy)]
pub struct Observation<'a> {
    pub(crate) target: &'a Target,
    pub(crate) injected: &'a Injected,
    pub(crate) host: &'a Host,
    /// It ended by a trap, or by so many frames that not all are known.
    pub(crate) cut: bool,
    /// The counters are not accessible.
    pub(crate) lost: bool,
    /// Fuel that there was.
    pub(crate) fuel_max: u64,
    /// The other build's execution of the same input, if there is another build.
    pub(crate) beside: Option<&'a dyn Beside>,
}

/// The execution of the same input in another build.
pub(crate) trait Beside {
    /// What it showed.
    fn observation(&self) -> Observation<'_>;

    /// Whether it was executed to its end, so that what it showed counts.
    fn counts(&self) -> bool;
}

impl std::fmt::Debug for Observation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observation").finish_non_exhaustive()
    }
}

impl<'a> Observation<'a> {
    /// Calls `visit` once with the index and the count of every edge that was executed and whose count is known in the
    /// target's variant, in ascending order within each function. See [`Observation::is_exact`].
    pub fn edges(&self, mut visit: impl FnMut(u32, u32)) {
        self.groups(|group| group.functions(|function| function.edges(&mut visit)));
    }

    /// Calls `visit` with every group of functions of which some were executed and have edges whose counts are known,
    /// in ascending order, then with groups of one function each.
    pub fn groups(&self, mut visit: impl FnMut(Group<'a>)) {
        if self.lost {
            return;
        }
        let mut executed = Vec::new();
        self.executed(&mut executed);
        executed.iter().for_each(|&group| visit(self.group(group)));
        let Observation::<'a> { target, injected, host, .. } = *self;
        let left = &host.frames.left;
        // The frames that were left count where no counter does.
        for (index, frame) in left.iter().enumerate() {
            if left[..index].last().is_some_and(|before| before.function == frame.function) {
                continue;
            }
            if let Some(index) = target.rewritten.counters.of_function(frame.function) {
                visit(Group { target, functions: Functions::Left(index, injected.values()), left });
            }
        }
    }

    /// The counts of all edges of the function that has this edge, in their order, with the index of the first; 0 for
    /// those whose counts aren't known. `None` if none are.
    pub fn counts_around<'b>(&'b self, edge: u32, buffer: &'b mut CountsBuffer) -> Option<(u32, &'b [u32])> {
        let rewritten = &self.target.rewritten;
        let functions = rewritten.counters.functions();
        let index = functions.partition_point(|function| function.edges.end <= edge);
        let first = functions.get(index).map(|function| function.edges.start).filter(|&first| first <= edge)?;
        if self.lost {
            return None;
        }
        let counts = rewritten.function_counts(index, self.injected.values(), &self.host.frames.left, buffer);
        Some((first, counts))
    }

    /// How to tell the counts of a function's edges from its counters. `index` is its [place](Executed::place).
    pub fn function(&self, index: usize) -> &FunctionCounters {
        &self.target.rewritten.counters.functions()[index]
    }

    /// Adds all groups of functions that have counters which are not 0 to `executed`, in ascending order.
    pub fn executed(&self, executed: &mut Vec<ExecutedGroup>) {
        if !self.lost {
            self.injected.executed(&self.target.groups, executed);
        }
    }

    /// One of the groups that were executed.
    pub fn group(&self, executed: ExecutedGroup) -> Group<'a> {
        let Observation::<'a> { target, injected, host, .. } = *self;
        let group = target.groups.group(executed.group, injected.values());
        Group { target, functions: Functions::Together(group), left: &host.frames.left }
    }

    /// Whether frames were live when the guest ended itself. What functions did is then not told by their counters
    /// alone.
    pub fn has_left(&self) -> bool {
        !self.host.frames.left.is_empty()
    }

    /// Whether the counts are those of the execution. In variants without fuel they are not if it failed: then frames
    /// are missing that were live.
    pub fn is_exact(&self) -> bool {
        !self.cut && !self.lost && self.beside().is_none_or(|beside| beside.is_exact())
    }

    /// What the execution of the same input in the other build showed, if there is another build, and it was executed
    /// to its end.
    pub fn beside(&self) -> Option<Self> {
        self.beside.filter(|beside| beside.counts()).map(Beside::observation)
    }

    /// As [`Observation::beside`], however that ended.
    pub(crate) fn beside_in_any_case(&self) -> Option<Self> {
        self.beside.map(Beside::observation)
    }

    /// Whether the memory limit refused a growth.
    pub(crate) fn memory_refused(&self) -> bool {
        self.host.limits.refused
    }

    /// Fuel that was used, in units (about one per instruction), the work of WASI calls included. Only the latter in
    /// variants that have no fuel.
    pub fn fuel(&self) -> u64 {
        let work = self.host.wasi.work();
        if !self.target.variant.has_fuel() {
            return work;
        }
        let guest = self.fuel_max.saturating_add_signed(self.injected.fuel_left().saturating_neg());
        guest.saturating_add(work)
    }

    /// What the execution compared, and which functions it called; nothing in variants other than
    /// [`Variant::Traced`](crate::sandbox::Variant::Traced).
    pub fn trace(&self) -> Trace {
        if self.lost { Trace::default() } else { self.target.rewritten.trace(self.injected.bytes()) }
    }

    /// What was drawn; empty in variants that don't record it, and for guests that don't draw.
    pub fn draws(&self) -> Draws {
        let area = if self.lost { &[] } else { self.injected.stream() };
        if area.is_empty() { Draws::default() } else { Draws::read(area) }
    }

    /// What the guest told by the protocol. Notes, names, values and features only in variants that record draws.
    pub fn told(&self) -> GuestReport {
        if self.lost { GuestReport::default() } else { self.injected.told() }
    }

    /// Whether there is a place where the guest could tell something: without, there are no entries.
    pub fn can_tell(&self) -> bool {
        self.injected.has_stream()
    }

    /// What the guest told, without copies, as [`Observation::told`]. Costs nothing if that is nothing.
    pub fn entries(self) -> impl Iterator<Item = Entry<'a>> {
        let Observation::<'a> { injected, lost, .. } = self;
        let area = if lost { &[] } else { injected.stream() };
        (!area.is_empty()).then(|| entries(area)).into_iter().flatten()
    }

    /// How far the execution came on each trace that the campaign follows, in their order; nothing if there are none.
    pub fn reached(self) -> Vec<Reached> {
        let traces = self.target.candidate.traces.as_ref();
        traces.map_or_else(Vec::new, |traces| traces.reached(self.entries(), self.target.names()))
    }

    /// How many edges the module has.
    pub fn edges_total(&self) -> usize {
        self.target.edges.edges.len()
    }

    /// What the guest wrote to its standard output, up to the limit.
    pub fn stdout(&self) -> &[u8] {
        self.host.wasi.stdout()
    }

    /// What the guest wrote to its standard error, up to the limit.
    pub fn stderr(&self) -> &[u8] {
        self.host.wasi.stderr()
    }

    /// The code given to `proc_exit`, if the execution ended so.
    pub fn exit_code(&self) -> Option<u32> {
        self.host.wasi.exit_code()
    }
}

/// Functions whose counters are neighbours, some of which were executed.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    target: &'a Target,
    functions: Functions<'a>,
    /// All frames that were live when the guest ended itself, sorted.
    left: &'a [LeftFrame],
}

#[derive(Clone, Copy, Debug)]
enum Functions<'a> {
    Together(GroupCounters<'a>),
    /// A function that was left, by its place, with the values of all counters.
    Left(usize, &'a [u32]),
}

/// A function that was executed, and what its counters say.
#[derive(Clone, Copy, Debug)]
pub struct Executed<'a> {
    target: &'a Target,
    /// Its place among the functions with counters.
    index: usize,
    /// Those of all counters.
    values: &'a [u32],
    /// All frames that were live when the guest ended itself, sorted, in a function that has one of them; else none.
    left: &'a [LeftFrame],
}

impl<'a> Group<'a> {
    /// Whether the group has but one function.
    pub fn is_single(&self) -> bool {
        match self.functions {
            Functions::Together(group) => group.lines.1 - group.lines.0 > 1,
            Functions::Left(..) => true,
        }
    }

    /// Calls `visit` with every function of the group that was executed, and is not in a group of its own.
    pub fn functions(&self, mut visit: impl FnMut(Executed<'a>)) {
        let target = self.target;
        let (values, group) = match self.functions {
            Functions::Left(index, values) => return visit(Executed { target, index, values, left: self.left }),
            Functions::Together(group) => (group.values, group),
        };
        let counters = &target.rewritten.counters;
        let end = group.lines.1 * layout::LINE_COUNTERS;
        for &place in &counters.by_counter()[group.first as usize..] {
            let (index, function) = (place as usize, &counters.functions()[place as usize]);
            if function.counters.start >= end {
                break;
            }
            let executed = function.values(values).iter().any(|values| values.iter().any(|&count| count != 0));
            if executed && !self.is_left(index) {
                visit(Executed { target, index, values, left: &[] });
            }
        }
    }

    fn is_left(&self, index: usize) -> bool {
        let function = self.target.rewritten.counters.functions()[index].function;
        self.left.binary_search_by_key(&function, |left| left.function).is_ok()
    }
}

impl<'a> Executed<'a> {
    /// A number that stands for what the function did. Others have it as well about once in 2^64 times.
    pub fn hash(&self) -> u64 {
        let numbers = |values: &'a [u32]| {
            let (pairs, rest) = values.as_chunks::<2>();
            let pairs = pairs.iter().map(|&[low, high]| u64::from(low) | u64::from(high) << 32);
            pairs.chain(rest.iter().map(|&count| u64::from(count)))
        };
        let [main, rare] = self.function().values(self.values).map(numbers);
        let ours = self.left.iter().filter(|left| left.function == self.function().function);
        let frames = ours.map(|left| u64::from(left.offset) | 1 << 63);
        // Groups have hashes too.
        hash::of(!(self.index as u64), main.chain(rare).chain(frames))
    }

    /// Calls `visit` with the index and the count of every edge of the function that was executed and whose count is
    /// known.
    pub fn edges(&self, visit: impl FnMut(u32, u32)) {
        self.target.rewritten.function_edge_counts(self.index, self.values, self.left, visit);
    }

    /// The index of the function's first edge, and the counts of all its edges in their order; 0 for those whose counts
    /// aren't known.
    pub fn counts<'b>(&'b self, buffer: &'b mut CountsBuffer) -> (u32, &'b [u32]) {
        let counts = self.target.rewritten.function_counts(self.index, self.values, self.left, buffer);
        (self.function().edges.start, counts)
    }

    /// The function's place among those with counters.
    pub fn place(&self) -> usize {
        self.index
    }

    /// Adds the values of the function's counters to `counters`, those that are rare behind the others.
    pub fn copy_counters(&self, counters: &mut Vec<u32>) {
        self.function().values(self.values).into_iter().for_each(|values| counters.extend_from_slice(values));
    }

    fn function(&self) -> &FunctionCounters {
        &self.target.rewritten.counters.functions()[self.index]
    }
}
