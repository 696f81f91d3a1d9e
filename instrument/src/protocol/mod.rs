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
//! Where the body is short and leaves all that is rare to another one, as that of `draw_int` does, it is written in the place of the call.
//!
//! `assembled` are the bodies, and `imports` says which of them a module needs.
//! What gets hold of an import in another way than by calling it (through a table, by reference, as an export) gets the import: for these the
//! appended functions are exported as well, without site, and the host has to pass such calls on.
//!
//! An appended function takes bounded time, spends no fuel itself (calls of it do, see `probes/cost`), has no counters, and writes nowhere but in the area of the stream, and
//! into the guest's memory where the guest told it to.

mod assembled;
mod imports;

use wasmparser::{FuncType, ValType};

pub(crate) use assembled::{Assembled, Assembly, OWN};
pub(crate) use imports::Imports;

/// The module of the imports.
pub const MODULE: &str = "fuzzbox_v1";

/// A call of the protocol in the module's code. Its number is its place among all, from 1 on; 0 stands for calls by reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The function that calls.
    pub function: u32,
    /// Where the call is, an offset in the module.
    pub offset: u32,
    /// The imported function that is called.
    pub callee: u32,
}

/// The protocol's functions: name, parameters and results as modules import them.
pub fn functions() -> impl Iterator<Item = (&'static str, &'static [ValType], &'static [ValType])> {
    let all = Assembled::get();
    all.names().map(|name| {
        let ty = all.ty(all.export(name).expect("it is one of them"));
        (name, own_params(ty), ty.results())
    })
}

/// Whether an import is one of the protocol's functions, by its name: modules that have one speak it.
pub fn is_function(module: &str, name: &str) -> bool {
    module == MODULE && !OWN.contains(&name) && Assembled::get().export(name).is_some()
}

/// The parameters without the call site.
fn own_params(ty: &'static FuncType) -> &'static [ValType] {
    ty.params().split_last().map_or(&[], |(_, own)| own)
}

/// A type as a person writes it: `(i64, i64, i64) -> i64`.
fn signature(params: &[ValType], results: &[ValType]) -> String {
    let list = |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match results {
        [] => format!("({})", list(params)),
        [result] => format!("({}) -> {result}", list(params)),
        _ => format!("({}) -> ({})", list(params), list(results)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_import_is_there() {
        let mut names: Vec<_> = functions().map(|(name, ..)| name).collect();
        names.sort_unstable();
        assert_eq!(
            names.join(" "),
            "assume draw_bool draw_bytes draw_choice draw_f64 draw_int draw_more draw_payload draw_str draw_uint event \
             fail feature keyframe name note reject remaining span_begin span_end target value"
        );
        let draw_int = functions().find(|(name, ..)| *name == "draw_int").unwrap();
        assert_eq!(signature(draw_int.1, draw_int.2), "(i64, i64, i64) -> i64");
    }
}
