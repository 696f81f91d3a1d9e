//! Which export of a module is fuzzed, and how it takes its input.

use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::fmt;
use wasmtime::{ExternType, FuncType, Module, ValType};

/// libFuzzer's entry point.
const LIBFUZZER: &str = "LLVMFuzzerTestOneInput";
/// The entry of a WASI command.
const COMMAND: &str = "_start";

/// How a target takes its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A libFuzzer harness, `(ptr, len) -> i32` or without a result: the input lies at the end of linear memory.
    LibFuzzer {
        /// The export's name.
        export: String,
        /// Pointers and lengths have 64 bits (memory64).
        wide: bool,
    },
    /// A WASI command: the input is its standard input.
    Command {
        /// The export's name.
        export: String,
    },
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LibFuzzer { export, .. } => write!(f, "{export}(ptr, len), a libFuzzer harness"),
            Self::Command { export } => write!(f, "{export}(), a WASI command that reads stdin"),
        }
    }
}

impl Entry {
    /// Chooses the entry of `module`: `named` if given, else a libFuzzer harness, else a WASI command. Exports that were
    /// `added` to the module are none of its own.
    ///
    /// # Errors
    ///
    /// If there is none, with the list of exports and what would make the module a target.
    pub(super) fn choose(module: &Module, added: &BTreeSet<&str>, named: Option<&str>) -> Result<Self> {
        if let Some(name) = named {
            let export = module.get_export(name).filter(|_| !added.contains(name));
            let Some(ExternType::Func(ty)) = export else {
                bail!("the module exports no function `{name}` (--entry)\n{}", exports(module, added));
            };
            return Self::of_type(name, &ty).ok_or_else(|| {
                anyhow::anyhow!(
                    "export `{name}` has type {} and can't be an entry: it takes neither (ptr, len) nor nothing",
                    signature(&ty)
                )
            });
        }
        for name in [LIBFUZZER, COMMAND] {
            let Some(ExternType::Func(ty)) = module.get_export(name) else { continue };
            return Self::of_type(name, &ty)
                .ok_or_else(|| anyhow::anyhow!("export `{name}` has the unusual type {}", signature(&ty)));
        }
        bail!(
            "the module has no entry that can be fuzzed\n{}\n\
             a target exports one of\n  \
             int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);   (any language; the input is in memory)\n  \
             _start, as every WASI command does                             (the input is on stdin)",
            exports(module, added)
        );
    }

    fn of_type(name: &str, ty: &FuncType) -> Option<Self> {
        let params: Vec<_> = ty.params().collect();
        let result_fits = ty.results().all(|result| result.is_i32()) && ty.results().len() <= 1;
        let is = |pattern: fn(&ValType) -> bool| params.len() == 2 && params.iter().all(pattern) && result_fits;
        if is(ValType::is_i32) || is(ValType::is_i64) {
            Some(Self::LibFuzzer { export: name.to_owned(), wide: params[0].is_i64() })
        } else if params.is_empty() && ty.results().len() == 0 {
            Some(Self::Command { export: name.to_owned() })
        } else {
            None
        }
    }

    /// The name of the export that is called.
    pub fn export(&self) -> &str {
        match self {
            Self::LibFuzzer { export, .. } | Self::Command { export } => export,
        }
    }
}

/// A function type as a person writes it: `(i32, i32) -> i32`.
pub(super) fn signature(ty: &FuncType) -> String {
    let join = |types: Vec<ValType>| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let results = match ty.results().len() {
        0 => String::new(),
        1 => format!(" -> {}", join(ty.results().collect())),
        _ => format!(" -> ({})", join(ty.results().collect())),
    };
    format!("({}){results}", join(ty.params().collect()))
}

/// The module's exported functions in one line, shortened.
fn exports(module: &Module, added: &BTreeSet<&str>) -> String {
    const SHOWN_MAX: usize = 20;
    let functions: Vec<_> = module
        .exports()
        .filter(|export| !added.contains(export.name()))
        .filter_map(|export| Some(format!("{}{}", export.name().escape_debug(), signature(export.ty().func()?))))
        .collect();
    match functions.len() {
        0 => "it exports no functions".to_owned(),
        n if n > SHOWN_MAX => {
            format!("its exports are {}, and {} more", functions[..SHOWN_MAX].join(", "), n - SHOWN_MAX)
        }
        _ => format!("its exports are {}", functions.join(", ")),
    }
}
