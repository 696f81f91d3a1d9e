//! The guests as native programs, for each peer and each way to run it.

use super::build::{Program, build, drivers};
use crate::guests::Sources;
use crate::guests::tool::text;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// A way to compile a guest natively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Build {
    /// Nothing counted, in a bare loop.
    Plain,
    /// All that libFuzzer wants to know, in a bare loop.
    LibFuzzerCode,
    /// The same, run by its engine on the same inputs for ever.
    LibFuzzerEngine,
    /// Edges counted as libFuzzer counts them, no compares traced, in a bare loop.
    Edges,
    /// libFuzzer as everybody has it.
    LibFuzzer,
    /// AFL++ in persistent mode, inputs in shared memory.
    Afl,
}

/// clang's own flags for edge counters without anything else that libFuzzer traces.
pub(super) const COUNT_EDGES: &str = "-fsanitize-coverage=inline-8bit-counters,pc-table";

impl Build {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::LibFuzzerCode => "libfuzzer-code",
            Self::LibFuzzerEngine => "libfuzzer-engine",
            Self::Edges => "edges",
            Self::LibFuzzer => "libfuzzer",
            Self::Afl => "afl",
        }
    }

    /// Flags for the guest's code.
    fn instrumentation(self) -> &'static [&'static str] {
        match self {
            // AFL's compiler does so by itself.
            Self::Plain | Self::Afl => &[],
            Self::LibFuzzerCode | Self::LibFuzzerEngine | Self::LibFuzzer => &["-fsanitize=fuzzer-no-link"],
            Self::Edges => &[COUNT_EDGES],
        }
    }

    /// Our part.
    fn drivers(self) -> &'static [&'static str] {
        match self {
            Self::Plain | Self::LibFuzzerCode => &["replay.c"],
            Self::LibFuzzerEngine => &["engine.c"],
            Self::Edges => &["replay.c", "unjudged.c"],
            Self::LibFuzzer | Self::Afl => &["counted.c"],
        }
    }

    fn link(self) -> &'static [&'static str] {
        match self {
            Self::Plain | Self::Edges => &["-lm"],
            // With AFL's compiler this is AFL's driver of persistent mode.
            Self::LibFuzzerCode | Self::LibFuzzerEngine | Self::LibFuzzer | Self::Afl => &["-fsanitize=fuzzer", "-lm"],
        }
    }

    fn program(self, sources: &Sources, clang: &str) -> Result<Program> {
        let mut files = guest_files(sources, self.instrumentation())?;
        for driver in self.drivers() {
            files.push((drivers().join(driver), self.driver_flags()));
        }
        let compiler = if self == Self::Afl { "afl-clang-fast" } else { clang };
        let link = self.link().iter().map(|&flag| flag.to_owned()).collect();
        Ok(Program { name: self.name(), compiler: compiler.to_owned(), sources: files, link, ..Program::default() })
    }

    fn driver_flags(self) -> Vec<String> {
        let under_libfuzzer = (self == Self::LibFuzzerCode).then_some("-DUNDER_LIBFUZZER");
        ["-O2", "-Wall", "-Wextra"].into_iter().chain(under_libfuzzer).map(str::to_owned).collect()
    }

    /// Gives the program's path, building it if it has to be.
    pub(super) fn make(self, sources: &Sources, clang: &str, folder: &Path) -> Result<PathBuf> {
        build(&self.program(sources, clang)?, folder)
    }
}

/// Flags by which a harness's two functions are called as the drivers want them.
pub(crate) const AS_DRIVERS_WANT_IT: [&str; 3] = [
    // Other people's warnings are not ours to mend, and ours are shown by the build for wasm.
    "-w",
    "-DLLVMFuzzerTestOneInput=harness_one_input",
    "-DLLVMFuzzerInitialize=harness_initialize",
];

/// The guest's files with the flags of each, its two functions called as the drivers want them.
pub(crate) fn guest_files(sources: &Sources, instrumentation: &[&str]) -> Result<Vec<(PathBuf, Vec<String>)>> {
    let mut common: Vec<String> = sources.flags.iter().map(|&flag| flag.to_owned()).collect();
    common.extend(AS_DRIVERS_WANT_IT.map(str::to_owned));
    common.extend(instrumentation.iter().map(|&flag| flag.to_owned()));
    for folder in &sources.header_folders {
        common.push(format!("-I{}", text(folder)?));
    }
    let theirs: Vec<_> =
        common.iter().cloned().chain(sources.flags_of_theirs.iter().map(|&flag| flag.to_owned())).collect();
    let mut files: Vec<_> = sources.ours.iter().map(|file| (file.clone(), common.clone())).collect();
    files.extend(sources.theirs.iter().map(|file| (file.clone(), theirs.clone())));
    Ok(files)
}

/// The program that measures how much CPU time another one takes.
pub(crate) fn cpu_meter(clang: &str) -> Result<PathBuf> {
    let flags = ["-O2", "-Wall", "-Wextra"].map(str::to_owned).to_vec();
    let sources = vec![(drivers().join("cpu.c"), flags)];
    let program = Program { name: "cpu", compiler: clang.to_owned(), sources, ..Program::default() };
    build(&program, &super::build::folder("tools")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        Sources {
            flags: &["-O2", "-g"],
            header_folders: vec!["/headers".into()],
            ours: vec!["/harness.c".into()],
            theirs: vec!["/theirs.c".into()],
            flags_of_theirs: &["-DTHEIRS"],
            package: String::new(),
        }
    }

    #[test]
    fn only_the_package_gets_the_packages_flags_and_only_guests_are_instrumented() {
        let program = Build::LibFuzzerCode.program(&sources(), "clang").unwrap();
        let flags = |name: &str| {
            let found = program.sources.iter().find(|(path, _)| path.ends_with(name)).expect("a source");
            found.1.join(" ")
        };
        assert!(!flags("harness.c").contains("-DTHEIRS") && flags("theirs.c").contains("-DTHEIRS"));
        assert!(flags("harness.c").contains("fuzzer-no-link") && flags("theirs.c").contains("fuzzer-no-link"));
        assert!(!flags("replay.c").contains("sanitize") && flags("replay.c").contains("UNDER_LIBFUZZER"));
    }

    #[test]
    fn afl_has_its_own_compiler() {
        assert_eq!(Build::Afl.program(&sources(), "clang").unwrap().compiler, "afl-clang-fast");
        assert_eq!(Build::Plain.program(&sources(), "clang-1").unwrap().compiler, "clang-1");
    }
}
