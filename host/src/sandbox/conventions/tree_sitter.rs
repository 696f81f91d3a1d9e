//! Grammars of tree-sitter, linked with the runtime that is made for JavaScript (`--link`): the parser asks for the
//! text piece by piece, by an import, as UTF-16 in a buffer of its own.
//!
//! ```text
//! t = ts_init(); ts_parser_new_wasm(); h = read32(t); ts_parser_set_language(h, tree_sitter_json());
//! r = ts_parser_parse_wasm(h, read32(t + 4), 0, 0, 0)
//! ```

use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::{Proposal, allocates, takes, written};

pub(super) const NAME: &str = "tree-sitter";

/// How much the parser's buffer holds, in bytes, but for the end of a text.
const BUFFER_BYTES: u32 = 10 * 1024 - 2;

const PARSE: &str = "ts_parser_parse_wasm";

/// What the parser imports: where to put the text from a place on, and where to store how long that is.
const READ: &str = "tree_sitter_parse_callback";
/// What may stop it.
const PROGRESS: &str = "tree_sitter_progress_callback";

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    let has = |name: &str, params, returns: bool| {
        library.function(name).is_some_and(|ty| takes(ty, params) && ty.results().is_empty() != returns)
    };
    let params_of = |name: &str| {
        let import = library.interface.imports.iter().find(|import| import.name == name)?;
        Some(library.interface.function_type(import.ty)?.params().len())
    };
    let is_runtime = has("ts_init", 0, true)
        && has("ts_parser_new_wasm", 0, false)
        && library.function(PARSE).is_some_and(|ty| allocates(ty, 5))
        && params_of(READ) == Some(5);
    if !is_runtime {
        return Vec::new();
    }
    let progress = params_of(PROGRESS).map_or_else(String::new, |params| {
        let names: Vec<_> = (0..params).map(|number| format!("x{number}")).collect();
        format!("on {PROGRESS}({}) {{ }} ", names.join(", "))
    });
    // Nodes are passed where the runtime said that it reads them.
    let shows = has("ts_tree_root_node_wasm", 1, false) && has("ts_node_to_string_wasm", 1, true);
    let shows = if shows { "; if r != 0 { ts_tree_root_node_wasm(r); ts_node_to_string_wasm(r) }" } else { "" };
    let languages = library.functions().filter(|(name, ty)| {
        name.starts_with("tree_sitter_") && allocates(ty, 0) && !name.contains("external_scanner")
    });
    let proposals = languages.map(|(language, _)| Proposal {
        export: PARSE.to_owned(),
        call: format!(
            "on {READ}(to, at, row, column, length) {{ n = len - 2 * at; if n < 0 n = 0; if n > {BUFFER_BYTES} n = \
             {BUFFER_BYTES}; copy(to, utf16 + 2 * at, n); write32(length, n / 2) }} {progress}t = ts_init(); \
             ts_parser_new_wasm(); h = read32(t); ts_parser_set_language(h, {}()); r = {PARSE}(h, read32(t + 4), 0, 0, \
             0){shows}",
            written(language)
        ),
        convention: NAME,
        guessed: false,
        tried: None,
        score: 100,
    });
    proposals.collect()
}
