//! The parsers as native programs.

use crate::bench::build::{Program, build, drivers, folder};
use crate::bench::native::guest_files;
use crate::guests::{self, Callbacks};
use anyhow::Result;
use std::path::PathBuf;

/// A parser, built for each peer.
pub(super) struct Programs {
    pub(super) libfuzzer: PathBuf,
    /// In persistent mode, inputs in shared memory.
    pub(super) afl: PathBuf,
}

pub(super) fn programs(crash: &str, clang: &str) -> Result<Programs> {
    Ok(Programs {
        libfuzzer: program(crash, "crash-libfuzzer", clang, Callbacks::LibFuzzer)?,
        afl: program(crash, "crash-afl", "afl-clang-fast", Callbacks::Afl)?,
    })
}

fn program(crash: &str, name: &'static str, compiler: &str, callbacks: Callbacks) -> Result<PathBuf> {
    let (mut sources, libraries) = if guests::is_crash_in_rust(crash)? {
        (Vec::new(), vec![guests::native_library(crash, callbacks)?])
    } else {
        let instrumentation = match callbacks {
            Callbacks::LibFuzzer => &["-fsanitize=fuzzer-no-link"][..],
            // AFL's compiler does so by itself.
            Callbacks::Afl | Callbacks::LibAfl => &[],
        };
        (guest_files(&guests::sources(crash)?, instrumentation)?, Vec::new())
    };
    let flags = ["-O2", "-Wall", "-Wextra", "-DAT_CLOSED_PAGE"].map(str::to_owned);
    sources.push((drivers().join("counted.c"), flags.to_vec()));
    // With AFL's compiler, the first is AFL's driver of persistent mode.
    let link = ["-fsanitize=fuzzer", "-lm", "-ldl", "-lpthread"].map(str::to_owned).to_vec();
    build(
        &Program { name, compiler: compiler.to_owned(), sources, libraries, link, ..Program::default() },
        &folder(crash)?,
    )
}
