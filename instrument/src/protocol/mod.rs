//! The guest protocol `fuzzbox_v1`: imports become functions over the injected memory.
//!
//! ```wat
//! (import "fuzzbox_v1" "draw_int"            (import "fuzzbox_v1" "draw_int"       ;; stays, so that no index moves
//!   (func $draw_int                            (func $draw_int ...
//!     (param i64 i64 i64) (result i64)))
//! (func $roll (result i64)                   (func $roll (result i64)
//!   i64.const 1                                i64.const 1
//!   i64.const 6                                i64.const 6
//!   i64.const 1                                i64.const 1
//!   call $draw_int)                            i32.const 1                         ;; the call site's number
//!                                              call $body_of_draw_int)             ;; appended
//! ```
//!
//! Where the body is short and leaves all that is rare to another one, as that of `draw_int` does, it is written in the
//! place of the call.
//!
//! `assembled` are the bodies, `functions` says what modules see of them, and `imports` which of them a module needs.
//! What gets hold of an import in another way than by calling it (through a table, by reference, as an export) gets the
//! import: for these the appended functions are exported as well, without site, and the host has to pass such calls on.
//!
//! An appended function takes bounded time, spends no fuel itself (calls of it do, see `probes/fuel/cost`), has no
//! counters, and writes nowhere but in the area of the stream, and into the guest's memory where the guest told it to.

mod assembled;
mod functions;
mod imports;

pub(crate) use assembled::{Assembled, Assembly};
pub use functions::{MODULE, Site, functions, is_function};
pub(crate) use imports::Imports;
