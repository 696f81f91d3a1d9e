//! What made a module, as far as its imports and exports tell.

use crate::sandbox::source::interface::Interface;
use std::fmt;
use wasmparser::TypeRef;

/// What to do about names that nobody knows.
pub(crate) const NAMES_ARE_SHORT: &str = "Emscripten made its names short, and what they were is in the JavaScript that was \
                                          made with it, which is read if it lies beside the module";

/// What made a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rust with JavaScript made by wasm-bindgen.
    WasmBindgen,
    AssemblyScript,
    Emscripten,
    /// Emscripten's, whose names were made short: its JavaScript has them.
    Minified,
    /// Emscripten's: to be loaded by another module.
    Side,
    /// Go for JavaScript: a program whose runtime calls that for everything.
    Go,
    /// Rust that calls Node.
    Napi,
    /// What is inside of a component.
    Cabi,
    /// Nothing of it.
    Plain,
}

impl Kind {
    pub(crate) fn of(interface: &Interface) -> Self {
        let imports = |test: &dyn Fn(&str, &str) -> bool| {
            interface.imports.iter().any(|import| test(&import.module, &import.name))
        };
        let exports = |name: &str| interface.function(name).is_some();
        let minified = |module: &str, name: &str| module == "a" && name.len() <= 2;
        // TinyGo's modules import from there, too, but not this.
        if imports(&|module, name| (module == "gojs" || module == "go") && name == "runtime.wasmExit") {
            Self::Go
        } else if imports(&|_, name| name.starts_with("napi_")) {
            Self::Napi
        } else if interface.functions().any(|(name, _)| name.starts_with("__wbindgen_"))
            || imports(&|module, name| module == "wbg" || name.starts_with("__wbindgen_") || name.starts_with("__wbg_"))
        {
            Self::WasmBindgen
        } else if imports(&|_, name| name == "__memory_base") {
            Self::Side
        } else if exports("__new") && exports("__pin") || imports(&|module, name| (module, name) == ("env", "seed")) {
            Self::AssemblyScript
        } else if imports(&minified) {
            Self::Minified
        } else if imports(&|_, name| {
            name.starts_with("emscripten_") || name.starts_with("__syscall_") || name.starts_with("invoke_")
        }) || exports("_emscripten_stack_alloc")
            || exports("stackAlloc")
        {
            Self::Emscripten
        } else if exports("cabi_realloc") || exports("canonical_abi_realloc") {
            Self::Cabi
        } else if imports(&|module, name| (module, name) == ("env", "abort")) && is_abort(interface) {
            Self::AssemblyScript
        } else {
            Self::Plain
        }
    }

    /// Why modules of this kind can't be fuzzed here, and what to do.
    pub(crate) fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Napi => Some(
                "it is an addon for Node (napi-rs): its functions take and make JavaScript values by `napi_*`, and \
                 without an engine of JavaScript there are none\n\
                 help: build the library inside of it for wasm32-wasip1, with a function over bytes",
            ),
            Self::Side => Some(
                "it is a part of a program (Emscripten's dynamic linking): another module gives it memory, table and \
                 functions when it loads it\n\
                 help: name the program as the target, and this one by --link",
            ),
            _ => None,
        }
    }
}

/// Whether `env.abort` is that of AssemblyScript: message, file, line, column.
fn is_abort(interface: &Interface) -> bool {
    let mut aborts = interface.imports.iter().filter(|import| import.name == "abort");
    aborts.any(|import| match import.ty {
        TypeRef::Func(_) => interface.function_type(import.ty).is_some_and(|ty| super::takes(ty, 4)),
        _ => false,
    })
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WasmBindgen => "wasm-bindgen",
            Self::AssemblyScript => "AssemblyScript",
            Self::Emscripten => "Emscripten",
            Self::Minified => "Emscripten, with short names",
            Self::Side => "Emscripten, a side module",
            Self::Go => "Go (js/wasm)",
            Self::Napi => "napi-rs",
            Self::Cabi => "the inside of a component",
            Self::Plain => "plain",
        })
    }
}
