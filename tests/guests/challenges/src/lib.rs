//! The thirteen problems of the shrinking challenge (github.com/jlink/shrinking-challenge), which property-based testing
//! libraries compare their shrinkers by. Each property fails; what matters is how small the failure becomes.
//!
//! Every property notes the value that it drew, so `fbx_<name>` and the first notes of its smallest failure are the row of a
//! table: [`OPTIMA`].
//!
//! Conventions of this port: integers are `i64` where the problem doesn't say otherwise, so 0, 1, -1, 2 is the order of
//! simplicity; lists have no largest length; arithmetic wraps, division rounds down.

mod arithmetic;
mod heap;
mod lists;

pub use arithmetic::{calculator, difference_one, difference_small, difference_zero};
pub use heap::binheap;
pub use lists::{bound5, coupling, deletion, distinct, large_union_list, length_list, nested_lists, reverse};

use fuzzbox_guest::Source;

/// One of the problems.
pub struct Challenge {
    /// Its name; the export is `fbx_` and this.
    pub name: &'static str,
    /// The property.
    pub property: fn(&mut Source),
    /// The choices of the smallest failure, all of them indices.
    pub choices: &'static [u64],
    /// What the property notes then.
    pub notes: &'static [&'static str],
}

/// The problems and their smallest failures: the fewest choices, and among those the first in lexicographic order.
pub const OPTIMA: &[Challenge] = &[
    Challenge {
        name: "bound5",
        property: bound5,
        choices: &[0, 0, 0, 1, 2, 0, 1, 65535, 0],
        notes: &["lists = [[], [], [], [-1], [-32768]]"],
    },
    Challenge {
        name: "large_union_list",
        property: large_union_list,
        choices: &[1, 1, 0, 1, 1, 1, 2, 1, 3, 1, 4, 0, 0],
        notes: &["lists = [[0, 1, -1, 2, -2]]"],
    },
    Challenge { name: "reverse", property: reverse, choices: &[1, 0, 1, 1, 0], notes: &["list = [0, 1]"] },
    Challenge {
        name: "calculator",
        property: calculator,
        choices: &[2, 0, 0, 1, 0, 0, 0, 0],
        notes: &["expression = Divide(Number(0), Add(Number(0), Number(0)))"],
    },
    Challenge { name: "length_list", property: length_list, choices: &[0, 900], notes: &["list = [900]"] },
    Challenge { name: "difference_zero", property: difference_zero, choices: &[9, 9], notes: &["pair = (10, 10)"] },
    Challenge { name: "difference_small", property: difference_small, choices: &[9, 5], notes: &["pair = (10, 6)"] },
    Challenge { name: "difference_one", property: difference_one, choices: &[9, 8], notes: &["pair = (10, 9)"] },
    Challenge {
        name: "binheap",
        property: binheap,
        choices: &[1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0],
        notes: &["heap = (0, -, (0, (0, -, -), (1, -, -)))"],
    },
    Challenge { name: "coupling", property: coupling, choices: &[1, 1, 1, 0, 0], notes: &["list = [1, 0]"] },
    Challenge {
        name: "deletion",
        property: deletion,
        choices: &[0, 0, 1, 0, 0, 0],
        notes: &["list = [0, 0]", "element = 0"],
    },
    Challenge { name: "distinct", property: distinct, choices: &[1, 0, 1, 1, 1, 2, 0], notes: &["list = [0, 1, -1]"] },
    Challenge {
        name: "nested_lists",
        property: nested_lists,
        choices: &[1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0],
        notes: &["lists = [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]"],
    },
];
