//! What is asked for: what is put into a module.

use std::sync::Arc;

use crate::edge_map::EdgeSet;
use crate::layout::{EDGES_MAX, Flags};

/// How a module is rewritten: what is put into it.
///
/// [`Options::metered`], [`Options::traced`], [`Options::full`] and [`Options::fast`] are the variants of a module that
/// belong together: the same edges have the same numbers in all, and the same input does the same. [`Options::default`]
/// is the plain one: a counter on every edge, and fuel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Which edges are counted.
    pub counters: Counters,
    /// Whether counters keep to lines of the cache, [`LINE_COUNTERS`](crate::layout::LINE_COUNTERS) long: those of a
    /// function that fit into one are in one, and those of others have lines of their own. Some numbers are then no
    /// counter's.
    pub lines: bool,
    /// Whether it is counted which operand a `select` gives. Its edges have numbers in any case.
    pub selects: bool,
    /// Whether code spends fuel and stops when it is used up, and how much a new instance starts with, until the host
    /// sets it: what a start function runs on, which runs before the host gets hold of the instance.
    pub fuel: Option<i64>,
    /// How many calls may be live, if that is limited, of those that can be part of a recursion: calls by reference,
    /// and calls of functions from which the caller can be reached by other calls than those by reference. (What is
    /// live besides is a bounded number of frames for each of them.) One more sets
    /// [`Flag::StackOverflow`](crate::layout::Flag::StackOverflow) and traps, where it is, whatever machine and
    /// compiler make of frames: no compiler can do without a frame for each of them, unless it looks through
    /// references.
    pub calls: Option<u32>,
    /// What is checked besides: code that is about to do one of these sets the flag, and traps before it happens.
    pub checks: Flags,
    /// Whether the host can end an execution from another thread: see [`Injected::stop`](crate::Injected::stop).
    pub interrupts: bool,
    /// Whether a function that the host may put into a table is called before `unreachable`.
    pub traps: bool,
    /// Whether comparisons and some other operators record their operands; see [`trace`](crate::trace).
    pub compares: bool,
    /// Whether compilers are kept from knowing how long a `memory.copy` is: for hosts that make pages inaccessible in
    /// the middle of a memory.
    pub hide_lengths: bool,
    /// The memory, if any, of which a host may make more than the guest knows: an annex beyond all that the guest's
    /// part can grow to, for what it gives the guest. Then `memory.size` and `memory.grow` are about the guest's part,
    /// and nobody gets at what lies between. See [`Injected::annex`](crate::Injected::annex).
    /// Shared memories have none.
    pub annex: Option<u32>,
    /// Whether each access to the memory with the annex is compared with what the guest counts: then nothing need be
    /// inaccessible between that and the annex, so a host that restores instances can leave open what an execution
    /// grew. Memories with 32-bit addresses only; for the others see [`AnnexPlace::bounds`](crate::AnnexPlace::bounds).
    pub bounds: bool,
    /// Whether NaNs that arithmetic makes have the canonical bits wherever bits are seen: so in an engine that leaves
    /// them open, whatever it makes of the order of operands, as in one that makes each result canonical.
    pub canonical_nans: bool,
    /// Whether function entry and exit are recorded.
    pub spans: bool,
    /// How many bytes the trace takes, if something is recorded: what doesn't fit is lost. At most
    /// [`TRACE_BYTES_MAX`](crate::layout::TRACE_BYTES_MAX).
    pub trace_bytes: u32,
    /// What becomes of imports of the [guest protocol](crate::protocol).
    pub draws: Draws,
    /// Functions that record what they are given where they are entered, by their names: [`called`](crate::called())
    /// reads that.
    pub arguments: Option<fn(&str) -> bool>,
    /// Functions that the host wants to call, by what it calls them. See
    /// [`Injected::callable`](crate::Injected::callable).
    pub callable: Vec<(&'static str, Callable)>,
    /// How often each edge was taken in the past, by its number: places where counting is cheap are chosen by it.
    pub profile: Option<Arc<[u64]>>,
}

/// Which function is meant.
#[derive(Clone, Copy, Debug)]
pub enum Callable {
    /// The first whose name fits, if there is one.
    Named(fn(&str) -> bool),
    /// The one with this index, which there has to be.
    Index(u32),
}

/// Which edges are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counters {
    /// Each edge has a counter of its own, with the same number. The plain way, which the others are compared with.
    #[default]
    Every,
    /// As few as are enough to compute all counts.
    Enough,
    /// Those in the set, directly or by others: only their counts can be computed.
    Only(EdgeSet),
}

/// What becomes of the imports of a guest that speaks the protocol `fuzzbox_v1`. Whatever it is, it makes no difference
/// to the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    /// They stay imports, for the host to provide.
    Imported,
    /// They become functions over the [stream](crate::layout::stream) in the injected memory.
    Read,
    /// These also record what is drawn, and the spans of the guest's functions and loops that draw.
    Recorded,
}

/// The sets of options that there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// [`Options::counting`].
    Counting,
    /// [`Options::default`].
    Plain,
    /// [`Options::metered`].
    Metered,
    /// [`Options::full`].
    Full,
    /// [`Options::fast`].
    Fast,
    /// [`Options::traced`].
    Traced,
}

impl Options {
    /// What a start function may run on, in units of fuel, until somebody says otherwise.
    pub const START_FUEL: i64 = 10_000_000_000;

    /// How many calls may be live where they are limited, until somebody says otherwise.
    pub const CALLS: u32 = 1 << 16;

    /// Room for 32,768 records.
    const TRACE_BYTES: u32 = 1 << 20;

    /// Enough counters for the counts of all edges.
    pub fn full() -> Options {
        Options::of(Variant::Full)
    }

    /// Counters for some edges only: those that can still tell something new. `unreachable` is itself, because
    /// compilers forget where calls come from which they put in the place of others.
    pub fn fast(interesting: EdgeSet) -> Options {
        Options { counters: Counters::Only(interesting), ..Options::of(Variant::Fast) }
    }

    /// All that decides how an execution ends, whatever machine and compiler are: as [`Options::default`], also whether
    /// the stack overflowed by what is measured in calls, and all checks.
    pub fn metered() -> Options {
        Options::of(Variant::Metered)
    }

    /// Everything that is known to be asked about an execution: as [`Options::metered`], also what was compared, and
    /// which functions were called.
    pub fn traced() -> Options {
        Options::of(Variant::Traced)
    }

    /// For who doesn't write code at all.
    pub(crate) fn counting() -> Options {
        Options::of(Variant::Counting)
    }

    /// What is on in which: all that differs is in this table. Whoever asks adds what depends on the host.
    fn of(variant: Variant) -> Options {
        use Variant::{Counting, Fast, Full, Metered, Plain, Traced};
        let on = |variants: &[Variant]| variants.contains(&variant);
        Options {
            counters: if on(&[Full]) { Counters::Enough } else { Counters::Every },
            selects: on(&[Plain, Metered, Traced, Full, Fast]),
            fuel: on(&[Plain, Metered, Traced]).then_some(Options::START_FUEL),
            calls: on(&[Metered, Traced]).then_some(Options::CALLS),
            checks: if on(&[Metered, Traced]) { Flags::usual_checks() } else { Flags::default() },
            interrupts: on(&[Full, Fast]),
            traps: on(&[Full]),
            compares: on(&[Traced]),
            spans: on(&[Traced]),
            canonical_nans: on(&[Plain, Metered, Traced, Full, Fast]),
            draws: match variant {
                Counting => Draws::Imported,
                Full | Fast => Draws::Read,
                Plain | Metered | Traced => Draws::Recorded,
            },
            trace_bytes: Options::TRACE_BYTES,
            // By the host.
            lines: false,
            hide_lengths: false,
            annex: None,
            bounds: false,
            arguments: None,
            callable: Vec::new(),
            profile: None,
        }
    }

    /// How many numbers are kept for counters in use. Their number is known when all functions were planned, and needed
    /// before.
    ///
    /// An edge that was taken makes one counter necessary at most, in nearly all functions, and functions end at lines;
    /// where it is not enough, counters in use are among the others.
    pub(crate) fn reserved(&self) -> u32 {
        /// No page has counters of both kinds.
        const PAGE_COUNTERS: u32 = 1024;
        let profile = self.profile.as_deref().filter(|_| self.lines).unwrap_or_default();
        let taken = profile.iter().filter(|&&count| count > 0).count();
        let counters = u32::try_from(4 * taken).map_or(EDGES_MAX, |counters| counters.min(EDGES_MAX));
        counters.next_multiple_of(PAGE_COUNTERS)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::of(Variant::Plain)
    }
}
