//! What comes out, and how it is read: counts from counters, records from the trace.

mod injected;
mod last_calls;
mod state;

pub use injected::{AnnexPlace, Injected};
pub use last_calls::{Called, called};
pub use state::StateExports;

use crate::counters::{CounterMap, CountsBuffer, LeftFrame};
use crate::edge_map::EdgeMap;
use crate::offsets::OffsetMap;
use crate::protocol::Site;
use crate::trace::Trace;

/// A rewritten module and what is to be known about it.
#[derive(Clone, Debug)]
pub struct Instrumented {
    /// The module. It validates with [`output_features`](crate::output_features), and has no custom sections.
    pub wasm: Vec<u8>,
    /// What each edge is.
    pub edges: EdgeMap,
    /// Which counters there are, and how the edges' counts follow from them.
    pub counters: CounterMap,
    /// The added memory.
    pub injected: Injected,
    /// Where all state of the module can be reached.
    pub state: StateExports,
    /// Whether writes below address 1024 are found: that was asked for, and nothing is to lie there. This is so if
    /// memory 0 has 32-bit addresses, the lowest of its active data segments begins at 1024, and the first mutable
    /// global, which is the stack pointer, starts as an `i32` above that.
    pub finds_low_stores: bool,
    /// The way back from offsets in `wasm` to the original module.
    pub offsets: OffsetMap,
    /// Where the module calls the guest protocol. The number of a call site is its place here plus 1, in all variants.
    pub sites: Vec<Site>,
    /// The way back to what was planned, if that isn't the original.
    pub(crate) planned: Option<OffsetMap>,
    /// The way from there to the original.
    pub(crate) translated: Option<OffsetMap>,
}

impl Instrumented {
    /// The count of each edge, modulo 2^32, from the values of all counters.
    ///
    /// `left` are the frames that a trap or the host ended, in any order; without exceptions, none of them is one that
    /// returned. The frame of a function that overflowed the stack when it was entered is not among them. If a frame is
    /// missing, edges that lead to where it was may be missing from the counts, and others be wrong. So they may be if
    /// an offset is wrong: optimising compilers make one conditional trap of a branch and the trap behind it.
    ///
    /// An edge whose count isn't known has 0: with [`Counters::Only`](crate::Counters::Only) all but those of the set,
    /// and those of `select` if [`Options::selects`](crate::Options::selects) is off.
    pub fn edge_counts(&self, counters: &[u32], left: &[LeftFrame]) -> Vec<u32> {
        let mut counts = vec![0; self.edges.edges.len()];
        let mut left = left.to_vec();
        left.sort_unstable();
        for index in 0..self.counters.functions().len() {
            self.function_edge_counts(index, counters, &left, |edge, count| counts[edge as usize] = count);
        }
        counts
    }

    /// Calls `visit` with each edge of one function whose count is known and not 0, and the count: those that
    /// [`Instrumented::edge_counts`] gives, at the cost of that function alone.
    ///
    /// ```
    /// # use fuzzbox_instrument::{Options, instrument};
    /// # let wasm = wat::parse_str("(module (func) (func (drop (select (i32.const 1) (i32.const 2) (i32.const 3)))))")?;
    /// let new = instrument(&wasm, &Options::full())?;
    /// # let mut values = vec![0; new.counters.len() as usize];
    /// # *values.last_mut().unwrap() = 1;
    /// # let mut edges = 0;
    /// let changed = values.iter().position(|&value| value != 0).unwrap(); // `values` are those of all counters
    /// let index = new.counters.of_counter(changed as u32).unwrap();
    /// new.function_edge_counts(index, &values, &[], |edge, count| {
    ///     println!("{:?}: {count}", new.edges.edges[edge as usize]);
    /// #   edges += 1;
    /// });
    /// # assert_eq!((index, edges), (1, 2));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// `index` is the function's in [`CounterMap::functions`], `counters` are the values of all counters; `left` has to
    /// be sorted, and may have frames of other functions. Counts change only if one of the counters did or a frame of
    /// the function was left: so the functions to ask about are those of counters that are not 0
    /// ([`CounterMap::of_counter`]), and those that were left ([`CounterMap::of_function`]), which may have no
    /// counters.
    pub fn function_edge_counts(
        &self,
        index: usize,
        counters: &[u32],
        left: &[LeftFrame],
        mut visit: impl FnMut(u32, u32),
    ) {
        let mut buffer = CountsBuffer::default();
        let counts = self.function_counts(index, counters, left, &mut buffer);
        let edges = self.counters.functions()[index].edges.clone();
        edges.zip(counts).filter(|(_, count)| **count != 0).for_each(|(edge, &count)| visit(edge, count));
    }

    /// As [`Instrumented::function_edge_counts`], all in the order of the edges' numbers, and 0 for those that aren't
    /// known: in `buffer`, or `counters` themselves.
    pub fn function_counts<'a>(
        &self,
        index: usize,
        counters: &'a [u32],
        left: &[LeftFrame],
        buffer: &'a mut CountsBuffer,
    ) -> &'a [u32] {
        debug_assert!(left.is_sorted());
        let function = &self.counters.functions()[index];
        let first = left.partition_point(|left| left.function < function.function);
        let ours = left[first..].iter().take_while(|left| left.function == function.function);
        let offsets = self.planned.as_ref().unwrap_or(&self.offsets);
        let planned: Vec<u32> = ours.filter_map(|left| offsets.original(left.offset)).collect();
        function.counts(counters, &planned, buffer)
    }

    /// What the last execution recorded. `injected` is the content of the injected memory.
    ///
    /// ```
    /// # use fuzzbox_instrument::{Options, instrument};
    /// # let wasm = b"\0asm\x01\0\0\0";
    /// let new = instrument(wasm, &Options::traced())?;
    /// let memory = vec![0; new.injected.pages as usize * 65_536]; // from an instance
    /// for record in new.trace(&memory).records {
    ///     println!("{:#x}: {:?}", record.site, record.event);
    /// }
    /// # anyhow::Ok(())
    /// ```
    pub fn trace(&self, injected: &[u8]) -> Trace {
        let original = |site| match &self.translated {
            Some(offsets) => offsets.original(site).unwrap_or(site),
            None => site,
        };
        self.injected.trace.as_ref().map_or_else(Trace::default, |place| Trace::read(injected, place, original))
    }

    /// Puts in terms of an original what is in terms of a module that was made of it; `offsets` is the way back.
    pub(crate) fn through(mut self, offsets: &OffsetMap) -> Instrumented {
        for site in &mut self.sites {
            site.offset = offsets.original(site.offset).unwrap_or(site.offset);
        }
        for edge in &mut self.edges.edges {
            // Every operator of the module was copied or belongs to one.
            edge.offset = offsets.original(edge.offset).unwrap_or(edge.offset);
        }
        let whole = self.offsets.then(offsets);
        self.planned = Some(std::mem::replace(&mut self.offsets, whole));
        self.translated = Some(offsets.clone());
        self
    }
}
