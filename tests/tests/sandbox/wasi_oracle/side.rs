//! A guest under one of the two implementations, driven call by call.

use fuzzbox::sandbox::wasi::{self, Exit, Wasi};
use std::path::Path;
use wasmtime::{Engine, Error, Extern, Func, FuncType, Instance, Linker, Memory, Module, Store, Val, ValType};
use wasmtime_wasi::filesystem::FsPerms;
use wasmtime_wasi::p1::{self, WasiP1Ctx};
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};

pub(crate) const MODULE: &str = "wasi_snapshot_preview1";
pub(crate) const FAULT: i32 = 21;
pub(crate) const INVAL: i32 = 28;

/// How a call, or a whole program, ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Errno(i32),
    Exit(i32),
    /// A program's start function returned.
    Returned,
    /// wasmtime-wasi trapped for a pointer outside of memory.
    BadPointer,
    /// wasmtime-wasi trapped for an argument that is no value of its type.
    BadValue,
    Trap(String),
}

/// State of a store under test.
pub(crate) trait State: Sized + 'static {
    fn linker(engine: &Engine) -> Linker<Self>;
    fn attach(&mut self, memory: Option<Memory>);
    fn classify(error: &Error) -> Answer;
}

/// fuzzbox' implementation.
pub(crate) struct Ours {
    pub(crate) wasi: Wasi,
    memory: Option<Memory>,
}

impl Ours {
    pub(crate) fn new(wasi: Wasi) -> Self {
        Self { wasi, memory: None }
    }
}

impl State for Ours {
    fn linker(engine: &Engine) -> Linker<Self> {
        let mut linker = Linker::new(engine);
        wasi::link(&mut linker, |ours: &mut Ours| (ours.memory, &mut ours.wasi), |_| ()).unwrap();
        linker
    }

    fn attach(&mut self, memory: Option<Memory>) {
        self.memory = memory;
    }

    fn classify(error: &Error) -> Answer {
        match error.downcast_ref::<Exit>() {
            Some(Exit(code)) => Answer::Exit(*code as i32),
            None => Answer::Trap(format!("{error:#}")),
        }
    }
}

/// The oracle.
pub(crate) struct Theirs {
    wasi: WasiP1Ctx,
    stdout: MemoryOutputPipe,
    stderr: MemoryOutputPipe,
}

impl Theirs {
    pub(crate) fn new(root: &Path, args: &[&str], env: &[(&str, &str)], stdin: &[u8]) -> Self {
        let (stdout, stderr) = (MemoryOutputPipe::new(1 << 24), MemoryOutputPipe::new(1 << 24));
        let mut builder = WasiCtxBuilder::new();
        builder.allow_blocking_current_thread(true).args(args).envs(env);
        builder.stdin(MemoryInputPipe::new(stdin.to_vec())).stdout(stdout.clone()).stderr(stderr.clone());
        builder.preopened_dir(root, "/", FsPerms::ReadWrite).unwrap();
        Self { wasi: builder.build_p1(), stdout, stderr }
    }

    pub(crate) fn output(&self) -> (Vec<u8>, Vec<u8>) {
        (self.stdout.contents().to_vec(), self.stderr.contents().to_vec())
    }
}

impl State for Theirs {
    fn linker(engine: &Engine) -> Linker<Self> {
        let mut linker = Linker::new(engine);
        p1::add_to_linker_sync(&mut linker, |theirs: &mut Theirs| &mut theirs.wasi).unwrap();
        linker
    }

    fn attach(&mut self, _: Option<Memory>) {}

    fn classify(error: &Error) -> Answer {
        if let Some(exit) = error.downcast_ref::<I32Exit>() {
            return Answer::Exit(exit.0);
        }
        let text = format!("{error:#}");
        if text.contains("Pointer out of bounds") || text.contains("Pointer overflow") {
            Answer::BadPointer
        } else if ["Invalid flag value", "Invalid enum value", "Int conversion"].iter().any(|what| text.contains(what))
        {
            Answer::BadValue
        } else {
            Answer::Trap(text)
        }
    }
}

/// An instance of a guest.
pub(crate) struct Side<T: State> {
    pub(crate) store: Store<T>,
    instance: Instance,
    memory: Option<Memory>,
}

impl<T: State> Side<T> {
    pub(crate) fn new(module: &Module, linker: &Linker<T>, state: T) -> Self {
        let mut store = Store::new(module.engine(), state);
        let instance = linker.instantiate(&mut store, module).unwrap();
        let memory = instance.get_memory(&mut store, "memory");
        store.data_mut().attach(memory);
        Self { store, instance, memory }
    }

    /// Calls an export, whose only result, if it has one, is an errno.
    pub(crate) fn call(&mut self, name: &str, args: &[Val]) -> Answer {
        let function = self.instance.get_func(&mut self.store, name).unwrap();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        match function.call(&mut self.store, args, &mut results) {
            Ok(()) => results.first().map_or(Answer::Returned, |result| Answer::Errno(result.unwrap_i32())),
            Err(error) => T::classify(&error),
        }
    }

    pub(crate) fn memory(&self) -> &[u8] {
        self.memory.unwrap().data(&self.store)
    }

    pub(crate) fn memory_mut(&mut self) -> &mut [u8] {
        self.memory.unwrap().data_mut(&mut self.store)
    }

    pub(crate) fn u32_at(&self, at: u32) -> u32 {
        u32::from_le_bytes(self.memory()[at as usize..][..4].try_into().unwrap())
    }
}

/// All functions that a linker defines, by name.
pub(crate) fn functions<T>(linker: &Linker<T>, store: &mut Store<T>) -> Vec<(String, FuncType)> {
    let mut found: Vec<(String, Func)> = linker
        .iter(&mut *store)
        .filter_map(|(module, name, item)| match item {
            Extern::Func(function) if module == MODULE => Some((name.to_owned(), function)),
            _ => None,
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.into_iter().map(|(name, function)| (name, function.ty(&*store))).collect()
}

/// A guest that exports, for each function, one of the same name that does nothing but call it; and a memory.
pub(crate) fn trampolines(functions: &[(String, FuncType)], pages: u32) -> String {
    let list = |keyword: &str, types: Vec<ValType>| {
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        if types.is_empty() { String::new() } else { format!(" ({keyword} {})", types.join(" ")) }
    };
    let (mut imports, mut bodies) = (String::new(), String::new());
    for (name, kind) in functions {
        let signature = list("param", kind.params().collect()) + &list("result", kind.results().collect());
        let arguments: String = (0..kind.params().len()).map(|index| format!(" (local.get {index})")).collect();
        imports += &format!("(import \"{MODULE}\" \"{name}\" (func ${name}{signature}))\n");
        bodies += &format!("(func (export \"{name}\"){signature} (call ${name}{arguments}))\n");
    }
    format!("(module\n{imports}(memory (export \"memory\") {pages})\n{bodies})")
}
