//! Which export of a module is fuzzed, and how it takes its input.

pub(super) mod binding;
pub(super) mod call;
mod check;
pub(super) mod component;
pub(super) mod file_args;
pub(super) mod lifted;
pub(super) mod parameter;

use crate::sandbox::entry::check::is_check;
use crate::sandbox::entry::file_args::FileArgs;
use crate::sandbox::entry::parameter::Parameter;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::source::words::{Shortened, list, signature};
use crate::settings::Settings;
use crate::text::nearest;
use anyhow::{Context, Result, anyhow, bail, ensure};
use fuzzbox_instrument::{ComponentLift, Takes, protocol};
use std::fmt;
use wasmparser::{FuncType, ValType};

/// libFuzzer's entry point.
const LIBFUZZER: &str = "LLVMFuzzerTestOneInput";

/// How the names of properties begin: functions that draw their input.
const PROPERTY: &str = "fbx_";

/// How names begin, and what they are, that belong to properties but are none.
const PROPERTY_PARTS: [&str; 3] = ["fbx_gen_", PROPERTY_CHECK, PROPERTY_ALLOC];

/// How the names of checks of values begin.
pub(crate) const PROPERTY_CHECK: &str = "fbx_check_";

/// What gives the host room for a value.
pub(crate) const PROPERTY_ALLOC: &str = "fbx_alloc";

/// The entry of a WASI command.
const COMMAND: &str = "_start";

/// How a target takes its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A function with parameters: bytes of the input in linear memory, numbers from its first bytes, or both.
    Function {
        /// The export's name.
        export: String,
        /// What each parameter is given: the pair [`Parameter::Pointer`], [`Parameter::Length`] at most once.
        parameters: Box<[Parameter]>,
        /// Pointers and lengths have 64 bits (memory64).
        wide: bool,
    },
    /// A function without parameters in a module that draws: the input is the choice stream.
    Property {
        /// The export's name.
        export: String,
    },
    /// The check of a property in two parts: the input is the value that is checked.
    Check {
        /// The export's name.
        export: String,
    },
    /// A WASI command, or another function without parameters: the input is its standard input, or a file that it is
    /// told by `@@` in its arguments.
    Command {
        /// The export's name.
        export: String,
        /// Absolute paths of the files that hold the input; none if it is standard input.
        files: Vec<String>,
    },
    /// A function of a component: the input is its parameter, or standard input if it has none.
    Component {
        /// `name`, or `interface#name`.
        name: String,
        /// What it takes.
        takes: Takes,
        /// The core functions that a call of it is.
        lift: ComponentLift,
    },
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Component { name, takes, .. } = self {
            let what = match takes {
                Takes::Bytes => "(list<u8>), a component's function over the input's bytes",
                Takes::Text => "(string), a component's function over the input as text",
                Takes::Nothing | Takes::Other => "(), a component's function that reads stdin",
            };
            return write!(f, "{}{what}", Shortened(name));
        }
        write!(f, "{}(", Shortened(self.export()))?;
        match self {
            Self::Property { .. } => f.write_str("), a property that draws its input"),
            Self::Check { .. } => f.write_str("ptr, len), the check of a value"),
            Self::Function { parameters, .. } => {
                let names: Vec<_> = parameters.iter().map(|parameter| parameter.name()).collect();
                let what = match () {
                    () if self.rejects() => "a libFuzzer harness",
                    () if !self.takes_bytes() => "a function over numbers from the input",
                    () if parameters.len() == 2 => "a function over the input's bytes",
                    () => "a function over numbers from the input and the bytes after them",
                };
                write!(f, "{}), {what}", list(&names))
            }
            Self::Command { export, files } => {
                let what = if export == COMMAND { "a WASI command" } else { "a function" };
                match &files[..] {
                    [] => write!(f, "), {what} that reads stdin"),
                    files => write!(f, "), {what} that reads the file {}", files.join(" and ")),
                }
            }
            Self::Component { .. } => Ok(()),
        }
    }
}

impl Entry {
    /// Chooses the entry of a module: what `settings` name, else its only property, else a libFuzzer harness, else a
    /// WASI command.
    ///
    /// # Errors
    ///
    /// If there is none, with the list of exports and what would make the module a target; or if it can't be given its
    /// input in the way that `settings` ask for.
    pub(crate) fn choose(interface: &Interface, settings: &Settings) -> Result<Self> {
        let entry = if let Some(name) = &settings.entry {
            let Some(ty) = interface.function(name) else {
                return Err(not_exported(name, interface, false));
            };
            if is_check(interface, name, ty) {
                Self::Check { export: name.clone() }
            } else {
                Self::of_type(name, ty, interface, settings)?
            }
        } else if let Some(export) = the_property(interface)? {
            Self::Property { export }
        } else {
            let function = |name| Some((name, interface.function(name)?));
            let Some((name, ty)) = [LIBFUZZER, COMMAND].into_iter().find_map(function) else {
                bail!(
                    "the module has no entry that can be fuzzed\n{}\n\
                     a target exports one of\n  \
                     void fbx_NAME(void);   (any language; it draws what it needs)\n  \
                     int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);   (any language; the input is in memory)\n  \
                     _start, as every WASI command does                             (the input is on stdin)\n\
                     or a function over numbers or (pointer, length), to be named by --entry",
                    exports(interface)
                );
            };
            let entry = Self::of_type(name, ty, interface, settings)?;
            ensure!(
                matches!(entry, Self::Command { .. } | Self::Property { .. }) == (name == COMMAND),
                "export `{name}` has the unusual type {}",
                signature(ty)
            );
            entry
        };
        entry.check(settings)?;
        Ok(entry)
    }

    /// Refuses a component's function whose core functions have types that can't be called.
    pub(crate) fn checked(self, interface: &Interface) -> Result<Self> {
        if let Self::Component { name, takes, lift } = &self {
            component::check_types(interface, lift, *takes)
                .with_context(|| format!("`{}` can't be fuzzed", Shortened(name)))?;
        }
        Ok(self)
    }

    fn of_type(name: &str, ty: &FuncType, interface: &Interface, settings: &Settings) -> Result<Self> {
        let export = name.to_owned();
        if ty.params().is_empty() {
            if draws(interface) || is_property(name) {
                return Ok(Self::Property { export });
            }
            return Ok(Self::Command { export, files: FileArgs::of(&settings.args).paths });
        }
        let addresses = interface.addresses();
        let parameters = Parameter::of(ty, addresses, settings.entry_args)
            .with_context(|| format!("export `{}{}` can't be an entry", Shortened(name), signature(ty)))?;
        let wide = matches!(addresses, Some(ValType::I64));
        let entry = Self::Function { export, parameters, wide };
        if name == LIBFUZZER && settings.entry.is_none() {
            ensure!(addresses.is_some(), "export `{name}` takes a pointer, but the module has no memory");
            let fits = entry.rejects() && matches!(ty.results(), [] | [ValType::I32]);
            ensure!(
                fits,
                "export `{name}` has the unusual type {}\nhelp: --entry {name} calls it nevertheless",
                signature(ty)
            );
        }
        Ok(entry)
    }

    /// Refuses settings that mean nothing for this entry.
    fn check(&self, settings: &Settings) -> Result<()> {
        match self {
            Self::Command { export, .. } if export == COMMAND => ensure!(
                !settings.warm_up,
                "a WASI command can't be warmed up: `{COMMAND}` runs the whole program, which is done then (--warm-up)"
            ),
            Self::Property { export } => ensure!(
                !(settings.warm_up && export == COMMAND),
                "a WASI command can't be warmed up: `{COMMAND}` runs the whole program, which is done then (--warm-up)"
            ),
            Self::Command { .. } => {}
            Self::Function { .. } => ensure!(
                FileArgs::of(&settings.args).paths.is_empty(),
                "`@@` in --arg stands for a file with the input, but {self} is given its input otherwise"
            ),
            Self::Component { .. } | Self::Check { .. } => {}
        }
        Ok(())
    }

    /// The name of the export that is called.
    pub fn export(&self) -> &str {
        match self {
            Self::Function { export, .. }
            | Self::Command { export, .. }
            | Self::Property { export }
            | Self::Check { export } => export,
            Self::Component { lift, .. } => &lift.function,
        }
    }

    /// Whether it is the export that runs a whole WASI program.
    pub(crate) fn is_program(&self) -> bool {
        match self {
            Self::Command { export, .. } | Self::Property { export } => export == COMMAND,
            Self::Component { name, .. } => component::is_command(name),
            Self::Function { .. } | Self::Check { .. } => false,
        }
    }

    /// The export that checks the values which this property gives away, if the property is made in two parts.
    pub(crate) fn check_of_values(&self, interface: &Interface) -> Option<String> {
        let Self::Property { export } = self else { return None };
        let check = format!("{PROPERTY_CHECK}{}", export.strip_prefix(PROPERTY)?);
        let ty = interface.function(&check)?;
        is_check(interface, &check, ty).then_some(check)
    }

    /// Whether the input is a choice stream.
    pub(crate) fn takes_choices(&self) -> bool {
        matches!(self, Self::Property { .. })
    }

    /// Whether bytes of the input are put into linear memory.
    pub(crate) fn takes_bytes(&self) -> bool {
        matches!(self, Self::Function { parameters, .. } if parameters.contains(&Parameter::Pointer))
    }

    /// Whether the input is a record of numbers, in which each byte means something by its place.
    pub(crate) fn takes_numbers(&self) -> bool {
        matches!(self, Self::Function { .. }) && !self.takes_bytes()
    }

    /// How many bytes at the start of the input are numbers. What is missing of them is 0, so an input that is filled
    /// up means the same.
    pub(crate) fn numbers_bytes(&self) -> usize {
        let Self::Function { parameters, .. } = self else { return 0 };
        parameters.iter().map(|parameter| parameter.bytes()).sum()
    }

    /// Whether a result of -1 means "do not keep this input", as it does for libFuzzer.
    pub(crate) fn rejects(&self) -> bool {
        let Self::Function { export, parameters, .. } = self else { return false };
        export == LIBFUZZER && matches!(**parameters, [Parameter::Pointer, Parameter::Length])
    }
}

/// Whether the module speaks the protocol.
fn draws(interface: &Interface) -> bool {
    interface.imports.iter().any(|import| protocol::is_function(&import.module, &import.name))
}

/// Whether an export with this name is a property.
fn is_property(name: &str) -> bool {
    name.starts_with(PROPERTY) && !PROPERTY_PARTS.iter().any(|part| name.starts_with(part))
}

/// The property that a module exports; an error that lists them if there are several.
fn the_property(interface: &Interface) -> Result<Option<String>> {
    let properties = interface.functions().filter(|(name, ty)| is_property(name) && ty.params().is_empty());
    let names: Vec<&str> = properties.map(|(name, _)| name).collect();
    ensure!(
        names.len() <= 1,
        "the module has several properties: {}\nhelp: choose one of them by --entry",
        list(&names.iter().map(|name| Shortened(name)).collect::<Vec<_>>())
    );
    Ok(names.first().map(|name| (*name).to_owned()))
}

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

/// The module's exported functions in one line, shortened.
fn exports(interface: &Interface) -> String {
    const SHOWN_MAX: usize = 20;
    let shown = interface.functions().take(SHOWN_MAX);
    let shown: Vec<_> = shown.map(|(name, ty)| format!("{}{}", Shortened(name), signature(ty))).collect();
    match interface.functions().count() {
        0 => "it exports no functions".to_owned(),
        n if n > SHOWN_MAX => format!("its exports are {}, and {} more", shown.join(", "), n - SHOWN_MAX),
        _ => format!("its exports are {}", shown.join(", ")),
    }
}
