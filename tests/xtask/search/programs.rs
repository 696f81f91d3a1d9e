//! A program, built for each fuzzer and for the judge.

use super::peers::Peers;
use super::subject::Subject;
use crate::bench::build::{Program, build, drivers, folder};
use crate::guests::tool::text;
use crate::guests::{Callbacks, native_library};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// For whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Judge,
    LibFuzzer,
    Afl,
    /// The same with what AFL++ is told of comparisons.
    AflCompared,
    LibAfl,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Judge => "search-judge",
            Self::LibFuzzer => "search-libfuzzer",
            Self::Afl => "search-afl",
            Self::AflCompared => "search-afl-compared",
            Self::LibAfl => "search-libafl",
        }
    }

    /// What the code of crates tells.
    fn callbacks(self) -> Callbacks {
        match self {
            Self::Judge | Self::LibFuzzer => Callbacks::LibFuzzer,
            Self::Afl | Self::AflCompared => Callbacks::Afl,
            Self::LibAfl => Callbacks::LibAfl,
        }
    }

    fn instrumentation(self, peers: &Peers) -> Result<Vec<String>> {
        let flags: &[&str] = match self {
            // A branch of an unrolled loop is as many edges as it has copies.
            Self::Judge => &["-fsanitize=fuzzer-no-link", "-fno-unroll-loops"],
            Self::LibFuzzer => &["-fsanitize=fuzzer-no-link"],
            // AFL's compiler does so by itself.
            Self::Afl | Self::AflCompared => &[],
            Self::LibAfl => &["-fsanitize-coverage=trace-pc-guard,trace-cmp"],
        };
        let mut flags: Vec<_> = flags.iter().map(|&flag| flag.to_owned()).collect();
        if self == Self::LibAfl {
            for pass in &peers.libafl()?.passes {
                let pass = text(pass)?;
                flags.extend(["-Xclang", "-load", "-Xclang", pass].map(str::to_owned));
                flags.push(format!("-fpass-plugin={pass}"));
            }
        }
        Ok(flags)
    }
}

/// The strings that AFL's compiler sees in a program are written here.
pub(super) fn dictionary(program: &Path) -> PathBuf {
    program.with_extension("dict")
}

/// Gives the program's path, building it if it has to be.
pub(super) fn built(kind: Kind, subject: &Subject, clang: &str, peers: &Peers) -> Result<PathBuf> {
    let folder = folder(&subject.name)?;
    let (mut sources, package) = subject.parts(&kind.instrumentation(peers)?);
    // Where bugs are, reading behind an input is one for everybody.
    let flags = ["-O2", "-w", "-DAT_CLOSED_PAGE"].map(str::to_owned).to_vec();
    sources.push((drivers().join("counted.c"), flags));
    let mut libraries = Vec::new();
    libraries.extend(package.map(|package| native_library(package, kind.callbacks())).transpose()?);
    let mut link = ["-lm", "-ldl", "-lpthread"].map(str::to_owned).to_vec();
    let (mut compiler, mut env, mut appended) = (clang.to_owned(), Vec::new(), None);
    match kind {
        Kind::Judge | Kind::LibFuzzer => link.push("-fsanitize=fuzzer".into()),
        Kind::Afl | Kind::AflCompared => {
            compiler = text(&peers.afl()?.join("afl-clang-fast"))?.to_owned();
            link.push("-fsanitize=fuzzer".into());
        }
        Kind::LibAfl => {
            libraries.push(peers.libafl()?.library.clone());
            link.extend(["-lrt", "-Wl,-u,libafl_main"].map(str::to_owned));
            // A crate's library and this one have both Rust's own in them, the same one.
            link.extend(package.map(|_| "-Wl,--allow-multiple-definition".to_owned()));
        }
    }
    match kind {
        Kind::Afl => {
            let file = dictionary(&folder.join(kind.name()));
            env.push(("AFL_LLVM_DICT2FILE", text(&file)?.to_owned()));
            env.push(("AFL_LLVM_DICT2FILE_NO_MAIN", "1".into()));
            appended = Some(file);
        }
        Kind::AflCompared => env.push(("AFL_LLVM_CMPLOG", "1".into())),
        _ => {}
    }
    build(&Program { name: kind.name(), compiler, sources, libraries, link, env, appended }, &folder)
}
