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
//! `Assembled` are the bodies, `link` appends those that a module needs, and `drawing` finds the call sites, and who reaches a draw.
//! What gets hold of an import in another way than by calling it (through a table, by reference, as an export) gets the import: for these the
//! appended functions are exported as well, without site, and the host has to pass such calls on.
//!
//! An appended function takes bounded time, spends no fuel itself (calls of it do, see `probes/cost`), has no counters, and writes nowhere but in the area of the stream, and
//! into the guest's memory where the guest told it to.

mod assembled;
mod drawing;
mod link;

use anyhow::{Result, ensure};
use wasmparser::{FuncType, ValType};

pub(crate) use assembled::Assembled;
pub(crate) use drawing::Drawing;
pub use drawing::Site;
pub(crate) use link::Linked;

/// The module of the imports.
pub const MODULE: &str = "fuzzbox_v1";

/// Functions among the bodies that are not imported, but called by probes.
const OWN: [&str; 3] = ["enter", "leave", "caught"];

/// The protocol's functions that a module imports.
#[derive(Default)]
pub(crate) struct Imports {
    /// Function index in the module, and index among the assembled functions; ascending.
    functions: Vec<(u32, u32)>,
    /// Whether one of them draws.
    pub(crate) draw: bool,
    /// Which of the assembled functions are needed, ascending: without records, and with them.
    reading: Vec<u32>,
    recording: Vec<u32>,
}

impl Imports {
    /// Looks for the protocol among imported functions: module, name, type.
    pub(crate) fn find<'a>(imports: impl Iterator<Item = (&'a str, &'a str, Option<&'a FuncType>)>) -> Result<Imports> {
        let mut found = Imports::default();
        for (function, (module, name, ty)) in (0..).zip(imports) {
            if !is_function(module, name) {
                continue;
            }
            let Some(body) = Assembled::get().export(name) else { continue };
            let right = Assembled::get().ty(body);
            let (params, results) = (own_params(right), right.results());
            let fits = ty.is_some_and(|ty| ty.params() == params && ty.results() == results);
            ensure!(
                fits,
                "imports {MODULE}.{name} with the type {}, but it is {}",
                ty.map_or("of something else".to_owned(), |ty| signature(ty.params(), ty.results())),
                signature(params, results)
            );
            found.draw |= Assembled::get().draws(body);
            found.functions.push((function, body));
        }
        found.close();
        Ok(found)
    }

    /// The assembled function that an imported one stands for.
    pub(crate) fn body(&self, function: u32) -> Option<u32> {
        let place = self.functions.binary_search_by_key(&function, |&(function, _)| function).ok()?;
        Some(self.functions[place].1)
    }

    /// The name of an imported function, if it is one of the protocol's.
    pub(crate) fn name(&self, function: u32) -> Option<&'static str> {
        self.body(function).map(|body| Assembled::get().name(body))
    }

    /// All of them: function index in the module, index among the assembled functions.
    pub(crate) fn all(&self) -> &[(u32, u32)] {
        &self.functions
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }
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
