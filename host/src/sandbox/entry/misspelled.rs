//! What to say of a name for the entry that no export has: which one is meant, or how to export it.

use crate::sandbox::source::interface::{Interface, function_names};
use crate::sandbox::source::words::{Shortened, signature};
use crate::text::nearest;
use anyhow::anyhow;
use wasmparser::{Parser, Payload};

/// Refuses an entry that is no export, with the one that is meant; `is_there` says that a function of this name is in
/// the module.
pub(crate) fn not_exported(name: &str, interface: &Interface, is_there: bool) -> anyhow::Error {
    let typed = Shortened(name);
    let near = nearest(name, interface.functions().map(|(name, _)| name));
    let help = match near {
        _ if is_there => {
            format!("\nhelp: `{typed}` is in the module but not exported: link it with -Wl,--export={typed}")
        }
        Some(near) => format!("\nhelp: did you mean --entry {}?", Shortened(near)),
        None => String::new(),
    };
    anyhow!("the module exports no function `{typed}` (--entry)\n{}{help}", exports(interface))
}

/// Whether a module has a function of this name, exported or not, as far as it says.
pub(crate) fn has_function(wasm: &[u8], name: &str) -> bool {
    Parser::new(0).parse_all(wasm).map_while(Result::ok).any(|payload| match payload {
        Payload::CustomSection(section) => function_names(&section).any(|function| function.name == name),
        _ => false,
    })
}

/// The module's exported functions in one line, shortened.
pub(super) fn exports(interface: &Interface) -> String {
    const SHOWN_MAX: usize = 20;
    let shown = interface.functions().take(SHOWN_MAX);
    let shown: Vec<_> = shown.map(|(name, ty)| format!("{}{}", Shortened(name), signature(ty))).collect();
    match interface.functions().count() {
        0 => "it exports no functions".to_owned(),
        n if n > SHOWN_MAX => format!("its exports are {}, and {} more", shown.join(", "), n - SHOWN_MAX),
        _ => format!("its exports are {}", shown.join(", ")),
    }
}
