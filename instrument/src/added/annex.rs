//! A memory that is longer than the guest knows: what a host puts there lies beyond all that the guest's part can grow
//! to.
//!
//! ```text
//! 0                 size      maximum      ANNEX            length
//! | the guest's part |          nobody's       | the annex        |
//! ```
//!
//! In the module, `memory.size` is the length less the pages that are [hidden](crate::layout::HIDDEN), `memory.grow` is
//! a call of a function that asks the host, and each bulk operator is preceded by a call of a function that sees
//! whether its operands lie in the guest's part or in the annex. These functions give the operands back, so that code
//! needs no locals. Where addresses have 32 bits they are called only for what does not end in the guest's part:
//!
//! ```wat
//! memory.size        memory.size           ;; less what is hidden
//! memory.grow        call $grow            ;; (i32) -> (i32)
//! memory.copy        (end - $to - $length | end - $from - $length) < 0
//!                    if, call $both, end   ;; (i32 i32 i32) -> (i32 i32 i32), traps
//!                    memory.copy
//! ```
//!
//! Loads and stores stay as they are where pages of the memory are no smaller than those of machines: the host makes
//! what is nobody's inaccessible. Where they are smaller, accesses are looked at as bulk operators are; and if the host
//! asked for it, so that it need not close pages after each execution, each access is compared with the size where it
//! is.
//!
//! Until a host has made an annex, nothing is hidden, `$grow` grows the memory, and everything is as in the module
//! itself.
//!
//! # A guest's memory is its own
//!
//! Inputs, and arguments of initialisers, lie in an *annex*: above all that the guest's part can grow to (its
//! maximum, `--memory-max`), with inaccessible pages between. So whoever takes `memory.size` for the end of the
//! heap is right, as in any other host, and nobody needs an exported `malloc`. The wasm length is that of both; the
//! rewriter takes the hidden pages from `memory.size`, lets the host's function grow the guest's part, and looks at
//! the operands of bulk operators, since these know the wasm length alone. Loads and stores trap between by
//! themselves, and are looked at only where pages of the memory are smaller than the machine's. The annex costs the
//! guest nothing of its limit; of 4 GiB it takes the last part if all of that is the guest's otherwise.

use wasmparser::ValType::{self, I32, I64};

use crate::module::survey::Survey;
use crate::module::types::Types;
use crate::options::Options;

/// What the host's function takes and gives: pages, and whether the guest's part has grown by them.
const HOST: Types = (&[I64], &[I32]);

/// Pages of memory below this size, as a power of two, may be smaller than the machine's.
const PAGE_LOG2_MIN: u32 = 16;

/// The memory, and the indices of what is added for it.
#[derive(Clone, Copy)]
pub(crate) struct Annex {
    /// The memory.
    pub(crate) memory: u32,
    /// The table with the host's function.
    pub(crate) table: u32,
    /// The first of the functions.
    first: u32,
    /// Each access is compared with what the guest counts, where it is.
    pub(crate) bounds: bool,
    /// How many pages the module says that the memory has at most, if it does.
    pub(crate) maximum: Option<u64>,
}

/// A function that is added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Helper {
    /// Takes the place of `memory.grow`.
    Grow,
    /// Sees whether an access is all right: the address; its offset and its width, of 64 bits. Gives the address.
    Access,
    /// Sees whether the operands of a bulk operator are: which of them are wide, whether the first is an address in the
    /// memory, and whether the second is; the third is the length. Gives the operands.
    Range { wide: [bool; 3], first: bool, second: bool },
}

/// Types of three operands, by which of them are wide.
static TRIPLES: [[ValType; 3]; 8] = [
    [I32, I32, I32],
    [I64, I32, I32],
    [I32, I64, I32],
    [I64, I64, I32],
    [I32, I32, I64],
    [I64, I32, I64],
    [I32, I64, I64],
    [I64, I64, I64],
];

impl Annex {
    /// `None` if there is to be none, or can't be: memories that are shared have none.
    pub(crate) fn new(survey: &Survey<'_>, options: &Options, table: u32, first: u32) -> Option<Annex> {
        let mut annex = Annex { memory: options.annex?, table, first, bounds: false, maximum: None };
        survey.memory_types.get(annex.memory as usize)?;
        annex.bounds = options.bounds && !annex.is_wide(survey) && !annex.has_small_pages(survey);
        let ours = || (0..).zip(&survey.memory_types).filter(|&(memory, _)| annex.is(survey, memory)).map(|(_, ty)| ty);
        let maximum = ours().filter_map(|ty| ty.maximum).min();
        ours().all(|ty| !ty.shared).then_some(Annex { maximum, ..annex })
    }

    /// Whether a memory is this one: two imports of the same name are the same.
    pub(crate) fn is(self, survey: &Survey<'_>, memory: u32) -> bool {
        let import = |memory: u32| survey.memory_imports.get(memory as usize);
        memory == self.memory || import(memory).is_some_and(|name| import(self.memory) == Some(name))
    }

    /// Whether each access is looked at.
    pub(crate) fn has_small_pages(self, survey: &Survey<'_>) -> bool {
        self.page_log2(survey) < PAGE_LOG2_MIN
    }

    /// How many bytes the guest's part has at least.
    pub(crate) fn bytes_min(self, survey: &Survey<'_>) -> u64 {
        let ty = &survey.memory_types[self.memory as usize];
        ty.initial.saturating_mul(1 << self.page_log2(survey)).min(1 << 32)
    }

    /// Whether addresses have 64 bits.
    pub(crate) fn is_wide(self, survey: &Survey<'_>) -> bool {
        survey.memory_types[self.memory as usize].memory64
    }

    pub(crate) fn page_log2(self, survey: &Survey<'_>) -> u32 {
        survey.memory_types[self.memory as usize].page_size_log2.unwrap_or(PAGE_LOG2_MIN)
    }

    /// The functions, in the order of their indices: for all operators there can be.
    pub(crate) fn helpers(self, survey: &Survey<'_>) -> Vec<Helper> {
        let ours = self.is_wide(survey);
        let mut helpers = vec![Helper::Grow];
        let mut range = |wide, first, second| {
            let helper = Helper::Range { wide, first, second };
            if !helpers.contains(&helper) {
                helpers.push(helper);
            }
        };
        range([ours, false, ours], true, false); // fill
        range([ours, false, false], true, false); // init
        range([ours, ours, ours], true, true);
        for (other, ty) in (0..).zip(&survey.memory_types) {
            if !self.is(survey, other) {
                let length = ours && ty.memory64;
                range([ours, ty.memory64, length], true, false);
                range([ty.memory64, ours, length], false, true);
            }
        }
        if !survey.protocol.is_empty() {
            range([false, ours, false], false, true); // into the injected memory
        }
        if self.has_small_pages(survey) {
            helpers.push(Helper::Access);
        }
        helpers
    }

    /// How many functions there are.
    pub(crate) fn functions(self, survey: &Survey<'_>) -> u32 {
        self.helpers(survey).len() as u32
    }

    /// A function's index; `None` if there is no such function.
    pub(crate) fn index(self, survey: &Survey<'_>, helper: Helper) -> Option<u32> {
        let place = self.helpers(survey).iter().position(|&other| other == helper)?;
        Some(self.first + place as u32)
    }

    /// The functions' types, in order; some are alike.
    pub(crate) fn types(self, survey: &Survey<'_>) -> Vec<Types> {
        let address: &'static [ValType] = if self.is_wide(survey) { &[I64] } else { &[I32] };
        let ty = |helper| -> Types {
            match helper {
                Helper::Grow => (address, address),
                Helper::Access if self.is_wide(survey) => (&[I64, I64, I64], address),
                Helper::Access => (&[I32, I64, I64], address),
                Helper::Range { wide: [a, b, c], .. } => {
                    let triple = &TRIPLES[usize::from(a) + 2 * usize::from(b) + 4 * usize::from(c)];
                    (triple, triple)
                }
            }
        };
        self.helpers(survey).into_iter().map(ty).collect()
    }

    /// The type of the host's function.
    pub(crate) fn host_type() -> Types {
        HOST
    }
}
