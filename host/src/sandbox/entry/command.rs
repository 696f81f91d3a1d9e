//! Commands, and other functions without parameters: the input is standard input, or a file.

use crate::sandbox::conventions::go;
use crate::sandbox::entry::Entry;
use crate::sandbox::entry::call::{Binding, Call, Raw, Returned};
use crate::sandbox::entry::file_args::FileArgs;
use crate::sandbox::entry::way::{Export, Way};
use crate::sandbox::imports::host::Host;
use crate::settings::Settings;
use anyhow::{Result, ensure};
use wasmtime::{Instance, Store};

/// The entry of a WASI command.
pub(super) const COMMAND: &str = "_start";

/// An export without parameters that no other way has taken.
pub(super) fn entry(export: &Export<'_>) -> Result<Option<Entry>> {
    Ok(Some(Entry::new(Command::new(export))))
}

/// A WASI command, or another function without parameters: the input is its standard input, or a file that it is told
/// by `@@` in its arguments.
#[derive(Debug)]
struct Command {
    export: String,
    /// Absolute paths of the files that hold the input; none if it is standard input.
    files: Vec<String>,
    /// Another runtime starts it than WASI's.
    is_go: bool,
}

impl Command {
    fn new(export: &Export<'_>) -> Self {
        let mut imports = export.interface.imports.iter();
        let is_go = imports.any(|import| import.name == go::NEXT_EVENT && go::MODULES.contains(&&*import.module));
        Self { export: export.name.to_owned(), files: FileArgs::of(&export.settings.args).paths, is_go }
    }
}

impl Way for Command {
    fn export(&self) -> &str {
        &self.export
    }

    fn what(&self) -> String {
        let what = match self.is_program() {
            true if self.is_go => "a program of Go's",
            true => "a WASI command",
            false => "a function",
        };
        match &self.files[..] {
            [] => format!("(), {what} that reads stdin"),
            files => format!("(), {what} that reads the file {}", files.join(" and ")),
        }
    }

    fn place(&self, _: bool) -> String {
        match &self.files[..] {
            [] => "standard input".to_owned(),
            files => format!("the file {}", files.join(" and ")),
        }
    }

    fn over_read(&self, _: bool) -> &'static str {
        "not found: the guest reads its input into memory of its own"
    }

    fn is_program(&self) -> bool {
        self.export == COMMAND
    }

    fn goes_on(&self) -> bool {
        self.is_go
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        check_warm_up(self, settings)
    }

    fn bind(&self, _: Binding<'_>, store: &mut Store<Host>, instance: &Instance) -> Result<Box<dyn Call>> {
        let function = Raw::of_export(store, instance, &self.export)?;
        Ok(Box::new(CommandCall { function, files: self.files.clone() }))
    }
}

/// Refuses to warm up what runs a whole program.
pub(super) fn check_warm_up(way: &dyn Way, settings: &Settings) -> Result<()> {
    ensure!(
        !(settings.warm_up && way.is_program()),
        "a WASI command can't be warmed up: `{COMMAND}` runs the whole program, which is done then (--warm-up)"
    );
    Ok(())
}

/// A command, bound to an instance.
struct CommandCall {
    function: Raw,
    files: Vec<String>,
}

impl Call for CommandCall {
    fn run(&mut self, store: &mut Store<Host>, input: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32> {
        let wasi = &mut store.data_mut().wasi;
        wasi.reset(if self.files.is_empty() { input } else { &[] });
        for path in &self.files {
            wasi.set_file(path, input);
        }
        enter();
        self.function.call(store)
    }

    fn returned(&self) -> Returned<'_> {
        self.function.returned()
    }
}
