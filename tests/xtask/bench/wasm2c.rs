//! The guests' modules as C, by wasm2c, compiled by clang.

use super::build::{Program, build, drivers};
use super::native::COUNT_EDGES;
use crate::guests::{tool, write_whole};
use anyhow::{Context as _, Result, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Translates a module and compiles it; gives the path of a program that replays inputs. `runtime` is the folder of
/// wasm2c's own C files.
pub(super) fn make(wasm: &Path, runtime: &Path, edges: bool, clang: &str, folder: &Path) -> Result<PathBuf> {
    let translated = folder.join("wasm2c");
    fs::create_dir_all(&translated).with_context(|| format!("failed to create `{}`", translated.display()))?;
    translate(wasm, &translated)?;
    build(&program(&translated, runtime, edges, clang)?, folder)
}

fn translate(wasm: &Path, folder: &Path) -> Result<()> {
    let code = folder.join("guest.c");
    tool::run(Command::new("wasm2c").args(["-n", "guest"]).arg(wasm).arg("-o").arg(&code))?;
    let path = folder.join("guest.h");
    let header = fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
    let header = Header::parse(&header).context("failed to understand what wasm2c wrote")?;
    write_whole(&folder.join("names.h"), header.names()?.as_bytes())?;
    write_whole(&folder.join("imports.h"), header.imports().as_bytes())
}

fn program(translated: &Path, runtime: &Path, edges: bool, clang: &str) -> Result<Program> {
    let mut flags = ["-O2", "-w"].map(str::to_owned).to_vec();
    flags.push(format!("-I{}", tool::text(translated)?));
    flags.push(format!("-I{}", tool::text(runtime)?));
    let mut guest = flags.clone();
    guest.extend(edges.then(|| COUNT_EDGES.to_owned()));
    let mut sources = vec![(translated.join("guest.c"), guest)];
    for driver in ["translated.c", "replay.c", "unjudged.c"] {
        sources.push((drivers().join(driver), flags.clone()));
    }
    let list = fs::read_dir(runtime).with_context(|| format!("failed to read `{}`", runtime.display()))?;
    let mut runtime_files = list.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    runtime_files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    runtime_files.sort();
    sources.extend(runtime_files.into_iter().map(|path| (path, flags.clone())));
    let name = if edges { "wasm2c-edges" } else { "wasm2c-plain" };
    Ok(Program { name, compiler: clang.to_owned(), sources, link: vec!["-lm".into()], ..Program::default() })
}

/// What the header says that wasm2c writes. Versions mangle names differently, but all put the module's own name for
/// a function in a comment before it.
#[derive(Debug)]
struct Header<'a> {
    imports: Vec<(&'a str, Function<'a>)>,
    exports: Vec<(&'a str, Function<'a>)>,
    /// What has no such comment.
    others: Vec<Function<'a>>,
}

/// A declaration: `u32 name(struct x*, u32);`.
#[derive(Debug, PartialEq, Eq)]
struct Function<'a> {
    result: &'a str,
    name: &'a str,
    parameters: Vec<&'a str>,
}

impl<'a> Function<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (head, parameters) = line.trim().strip_suffix(");")?.split_once('(')?;
        let (result, name) = head.trim().rsplit_once(' ')?;
        Some(Self { result, name, parameters: parameters.split(',').map(str::trim).collect() })
    }
}

impl<'a> Header<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let mut header = Self { imports: Vec::new(), exports: Vec::new(), others: Vec::new() };
        let mut before = "";
        for line in text.lines() {
            if let Some(function) = Function::parse(line) {
                // `/* import: 'module' 'name' */` or `/* export: 'name' */`
                let quoted = before.trim().trim_end_matches("*/").trim().trim_end_matches('\'').rsplit('\'').next();
                let name = quoted.unwrap_or_default();
                match () {
                    () if before.contains("/* import:") => header.imports.push((name, function)),
                    () if before.contains("/* export:") => header.exports.push((name, function)),
                    () => header.others.push(function),
                }
            }
            before = line;
        }
        ensure!(!header.exports.is_empty(), "no exports");
        Ok(header)
    }

    /// Names that don't depend on wasm2c's version.
    fn names(&self) -> Result<String> {
        let export = |name: &str| self.exports.iter().find(|(export, _)| *export == name).map(|(_, function)| function);
        let required = |name: &str| export(name).with_context(|| format!("no export `{name}`"));
        let entry = required("LLVMFuzzerTestOneInput")?;
        let other = |suffix: &str| self.others.iter().find(|function| function.name.ends_with(suffix));
        let instantiate = other("_instantiate").context("no function that instantiates")?;

        let mut text = String::from("#include \"guest.h\"\n");
        let mut line = |what: String| text.push_str(&(what + "\n"));
        line(format!("typedef {} guest_instance;", entry.parameters[0].trim_end_matches('*')));
        line(format!("#define guest_memory {}", required("memory")?.name));
        line(format!("#define guest_malloc {}", required("malloc")?.name));
        line(format!("#define guest_one_input {}", entry.name));
        // Imports are functions of ours that need no instance.
        let nothing = ", NULL".repeat(instantiate.parameters.len() - 1);
        line(format!("#define guest_instantiate(instance) {}(instance{nothing})", instantiate.name));
        let init = other("_init_module").map(|function| format!("{}()", function.name));
        line(format!("#define guest_init() {}", init.as_deref().unwrap_or("(void)0")));
        for (name, ours) in [("_initialize", "guest_initialize"), ("LLVMFuzzerInitialize", "guest_fuzzer_initialize")] {
            if let Some(function) = export(name) {
                line(format!("#define {ours} {}", function.name));
            }
        }
        Ok(text)
    }

    /// Definitions of what the module imports: no arguments, no variables, no open folders, and nothing else.
    fn imports(&self) -> String {
        let mut text = String::new();
        for (import, Function { result, name, parameters }) in &self.imports {
            let parameters: Vec<_> = parameters.iter().enumerate().map(|(i, kind)| format!("{kind} p{i}")).collect();
            let body = match *import {
                "args_sizes_get" | "environ_sizes_get" => "return no_strings(p1, p2);".to_owned(),
                "args_get" | "environ_get" => "return 0;".into(),
                "fd_prestat_get" => "return EBADF;".into(),
                other => format!("not_provided(\"{other}\");"),
            };
            writeln!(text, "{result} {name}({}) {{ {body} }}", parameters.join(", ")).expect("writing to a string");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "
typedef struct Z_guest_instance_t {
  u32 w2c___stack_pointer;
} Z_guest_instance_t;
void Z_guest_init_module(void);
void Z_guest_instantiate(Z_guest_instance_t*, struct Z_wasi_instance_t*);
void Z_guest_free(Z_guest_instance_t*);

/* import: 'wasi_snapshot_preview1' 'environ_sizes_get' */
u32 Z_wasiZ_environ_sizes_get(struct Z_wasi_instance_t*, u32, u32);
/* import: 'wasi_snapshot_preview1' 'proc_exit' */
void Z_wasiZ_proc_exit(struct Z_wasi_instance_t*, u32);

/* export: 'memory' */
wasm_rt_memory_t* Z_guestZ_memory(Z_guest_instance_t* instance);

/* export: 'LLVMFuzzerTestOneInput' */
u32 Z_guestZ_LLVMFuzzerTestOneInput(Z_guest_instance_t*, u32, u32);

/* export: 'malloc' */
u32 Z_guestZ_malloc(Z_guest_instance_t*, u32);
";

    #[test]
    fn exports_get_names_of_ours() {
        let names = Header::parse(HEADER).unwrap().names().unwrap();
        for line in [
            "typedef Z_guest_instance_t guest_instance;",
            "#define guest_memory Z_guestZ_memory",
            "#define guest_one_input Z_guestZ_LLVMFuzzerTestOneInput",
            "#define guest_instantiate(instance) Z_guest_instantiate(instance, NULL)",
            "#define guest_init() Z_guest_init_module()",
        ] {
            assert!(names.lines().any(|l| l == line), "{line}\n{names}");
        }
        assert!(!names.contains("guest_initialize"), "{names}");
    }

    #[test]
    fn imports_are_defined() {
        assert_eq!(
            Header::parse(HEADER).unwrap().imports(),
            "u32 Z_wasiZ_environ_sizes_get(struct Z_wasi_instance_t* p0, u32 p1, u32 p2) { return no_strings(p1, p2); }\n\
             void Z_wasiZ_proc_exit(struct Z_wasi_instance_t* p0, u32 p1) { not_provided(\"proc_exit\"); }\n"
        );
    }

    #[test]
    fn a_header_of_something_else_is_refused() {
        assert!(Header::parse("int x;\n").is_err());
        let other = Header::parse("/* export: 'f' */\nu32 f(x*);\n").unwrap();
        assert!(other.names().unwrap_err().to_string().contains("`LLVMFuzzerTestOneInput`"));
    }
}
