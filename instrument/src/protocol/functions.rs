//! The functions that modules can import, as they import them.

use wasmparser::{FuncType, ValType};

use super::assembled::{Assembled, OWN};

/// The module of the imports.
pub const MODULE: &str = "fuzzbox_v1";

/// A call of the protocol in the module's code. Its number is its place among all, from 1 on; 0 stands for calls by
/// reference.
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
pub(super) fn own_params(ty: &'static FuncType) -> &'static [ValType] {
    ty.params().split_last().map_or(&[], |(_, own)| own)
}

/// A type as a person writes it: `(i64, i64, i64) -> i64`.
pub(super) fn signature(params: &[ValType], results: &[ValType]) -> String {
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
