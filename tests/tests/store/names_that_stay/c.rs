//! Guests in C.

use super::plants::{Build, Failure, Function, Guest};
use anyhow::{Context, Result, ensure};
use fuzzbox_tests::guests;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Compiles a build of the guest.
pub(super) fn module(guest: &Guest, build: Build, dir: &Path, debug: bool) -> Result<Vec<u8>> {
    fs::write(dir.join("guest.c"), source(guest, build))?;
    let level = ["-O0", "-O1", "-O2", "-Os"][(guest.style % 4) as usize];
    let debug = match (debug, guest.style >> 2 & 1) {
        (true, 0) => "-g",
        // As Rust's templates have it.
        (true, _) => "-gline-tables-only",
        (false, _) => "-g0",
    };
    let clang = |arguments: &[&str]| {
        let mut command = Command::new(guests::any_clang()?);
        command.current_dir(dir).args(["--target=wasm32-wasi", "-Wno-everything"]).args(arguments);
        let ran = command.output().context("clang can't be started")?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        Ok(())
    };
    clang(&[level, debug, "-c", "guest.c", "-o", "guest.o"])?;
    // Without a level of optimisation: whoever links with one has `wasm-opt` drop the names, if there is that.
    let exports = ["LLVMFuzzerTestOneInput", "malloc", "free"].map(|name| format!("-Wl,--export={name}"));
    let link = ["-mexec-model=reactor", "guest.o", "-o", "built.wasm"];
    clang(&exports.iter().map(String::as_str).chain(link).collect::<Vec<_>>())?;
    Ok(fs::read(dir.join("built.wasm"))?)
}

fn source(guest: &Guest, build: Build) -> String {
    let mut text =
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdlib.h>\n\nstatic volatile int sink;\n\n".to_owned();
    if build == Build::Added {
        text += "__attribute__((export_name(\"added\"))) const char *added(int n) {\n  \
                 static const char *words[] = {\"nothing\", \"like what is there\", \"else\"};\n  \
                 for (int i = 0; i < n; i++) sink += i;\n  return words[sink % 3];\n}\n\n";
    }
    for (index, function) in guest.functions.iter().enumerate() {
        write_function(&mut text, index, function, build);
    }
    text += "int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) {\n  if (n < 2) return 0;\n  switch (d[0]) {\n";
    for index in 0..guest.functions.len() {
        let _ = writeln!(text, "  case '{}':\n    work{index}(d, n);\n    break;", Guest::first(index));
    }
    text + "  }\n  return 0;\n}\n"
}

fn write_function(text: &mut String, index: usize, Function { failures, style }: &Function, build: Build) {
    if failures.contains(&Failure::Recursion) {
        let _ = writeln!(
            text,
            "__attribute__((noinline)) static int deep{index}(int n) {{\n  return sink ? n : deep{index}(n + 1) + sink + {index};\n}}\n"
        );
    }
    let how = ["static ", "static inline ", "__attribute__((noinline)) static ", ""][(style % 4) as usize];
    let _ = writeln!(text, "{how}void work{index}(const uint8_t *d, size_t n) {{");
    for (number, failure) in failures.iter().enumerate() {
        if style >> (4 + number) & 1 == 1 {
            let _ = writeln!(text, "  if (n > {}) {{\n    sink += d[2] * {index};\n  }}", 3 + number);
        }
        let _ = writeln!(text, "  if (d[1] == '{}') {{", Guest::letter(build, number));
        let statement = match failure {
            Failure::Abort => "abort();".to_owned(),
            Failure::Trap => "__builtin_trap();".to_owned(),
            Failure::Division => format!("sink = {} / ((volatile int *)&sink)[0];", number + 7),
            Failure::OutOfBounds => "sink = *(volatile int *)0xfffffff0;".to_owned(),
            Failure::Recursion => format!("sink = deep{index}(n);"),
            Failure::Hang => "for (;;) sink = sink;".to_owned(),
        };
        let zero = if *failure == Failure::Division { "    sink = 0;\n" } else { "" };
        let _ = writeln!(text, "{zero}    {statement}\n  }}");
    }
    text.push_str("}\n\n");
}
