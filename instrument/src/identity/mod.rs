//! Who a function is, in this build and the next.
//!
//! A linker gives everything numbers: functions, types, globals, places in the table, addresses of strings and
//! variables. One new function, and they are other numbers in code that nobody touched. So code is read as it was
//! before linking:
//!
//! ```wat
//! (func $greet (param i32)          ;; shape: takes an i32, reads a byte, calls, ...
//!   local.get 0
//!   i32.load8_u offset=4            ;; 4: a number
//!   i32.const 1048632               ;; what is there: "hello"
//!   call 17)                        ;; whom it calls: `puts`
//! ```
//!
//! 1. `module` and `body` take a module apart: each body into its *shape*, the hash of all that no linker touches, and
//!    its *slots*, the numbers;
//! 2. `fingerprint` replaces each slot by what it stands for, as far as one module tells, and hashes that;
//! 3. `pairs` finds out which function of an old build is which of a new one;
//! 4. `moved` finds out which address of the old build is which of the new one, from what all pairs say together;
//! 5. `diff` judges each pair; `exact` says which of them are the same to the last address.
//!
//! The fingerprint is good for looking things up without the old build at hand; [`diff`] knows both and errs less.

mod body;
mod diff;
mod exact;
mod fingerprint;
mod functions;
mod hash;
mod memory;
mod module;
mod moved;
mod pairs;
mod plain;
mod types;

pub use diff::{Diff, Pair, diff};
pub use exact::exact;
pub use fingerprint::Fingerprint;
pub use functions::{EdgeKey, FunctionIdentity, Identity};
