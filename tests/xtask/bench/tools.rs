//! The peers' tools: which are here, in which versions, and what to type for the others.

use crate::guests::{self, tool};
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What can be measured on this machine.
pub(crate) struct Tools {
    /// The compiler of all native code but AFL++'s.
    pub(crate) clang: String,
    pub(crate) libfuzzer: bool,
    pub(crate) afl: bool,
    /// Where the C sources lie that wasm2c's output needs.
    pub(crate) wasm2c: Option<PathBuf>,
    /// Name and version of each that is here.
    pub(crate) versions: Vec<String>,
    pub(crate) missing: Vec<Missing>,
}

/// A tool that isn't here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The tool.
    pub tool: String,
    /// The Debian packages that have it.
    pub packages: Vec<String>,
}

const WASM2C_RUNTIME: &str = "/usr/share/wabt/wasm2c";

impl Tools {
    /// Looks for all of them; `clang` is the compiler's name.
    pub(crate) fn find(clang: &str) -> Result<Self> {
        let mut tools = Self {
            clang: clang.to_owned(),
            libfuzzer: false,
            afl: tool::exists("afl-fuzz") && tool::exists("afl-clang-fast"),
            wasm2c: Some(PathBuf::from(WASM2C_RUNTIME)).filter(|path| path.is_dir() && tool::exists("wasm2c")),
            versions: Vec::new(),
            missing: Vec::new(),
        };
        if let Some(part) = guests::missing()? {
            tools.miss(part, guests::PACKAGES);
        }
        let suffix = clang.strip_prefix("clang").unwrap_or_default();
        if tool::exists(clang) {
            tools.versions.push(format!("native: {}", first_line(Command::new(clang).arg("--version"))?));
            tools.libfuzzer = links_with_libfuzzer(clang)?;
        } else {
            tools.miss(clang, &[clang]);
        }
        if !tools.libfuzzer {
            tools.miss("libFuzzer", &[&format!("libclang-rt{suffix}-dev")]);
        }
        tools.find_others()?;
        Ok(tools)
    }

    fn find_others(&mut self) -> Result<()> {
        if self.afl {
            // It says its version only when it is asked for help, and then it fails.
            let version = first_line(Command::new("afl-fuzz").arg("-h"))?;
            let compiler = first_line(Command::new("afl-clang-fast").arg("--version"))?;
            let name = version.split(" based on").next().unwrap_or_default();
            self.versions.push(format!("AFL++: {name}, {compiler}"));
        } else {
            self.miss("AFL++", &["afl++"]);
        }
        if self.wasm2c.is_some() {
            self.versions.push(format!("wasm2c: {}", first_line(Command::new("wasm2c").arg("--version"))?));
        } else {
            self.miss("wasm2c", &["wabt"]);
        }
        Ok(())
    }

    fn miss(&mut self, tool: &str, packages: &[&str]) {
        let packages = packages.iter().map(|&package| package.to_owned()).collect();
        self.missing.push(Missing { tool: tool.to_owned(), packages });
    }
}

/// What to type so that nothing is missing; `None` if nothing is.
pub fn install_line(missing: &[Missing]) -> Option<String> {
    let mut packages: Vec<_> = missing.iter().flat_map(|missing| &missing.packages).map(String::as_str).collect();
    packages.sort_unstable();
    packages.dedup();
    (!packages.is_empty()).then(|| format!("apt-get install --no-install-recommends {}", packages.join(" ")))
}

/// Whether libFuzzer, and what a C++ library needs, can be linked.
fn links_with_libfuzzer(clang: &str) -> Result<bool> {
    let folder = tempfile::tempdir().context("failed to create a folder to build in")?;
    let source = folder.path().join("probe.c");
    std::fs::write(&source, "int LLVMFuzzerTestOneInput(void) { return 0; }\n").context("failed to write a program")?;
    let mut command = Command::new(clang);
    command.args(["-w", "-fsanitize=fuzzer"]).arg(&source).arg("-o").arg(folder.path().join("probe"));
    Ok(tool::try_run(&mut command)?.status.success())
}

/// The first line that a command prints, without colours.
fn first_line(command: &mut Command) -> Result<String> {
    let output = tool::try_run(command)?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    Ok(plain(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()))
}

/// A line without the escape sequences that colour it.
pub(crate) fn plain(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain.trim().to_owned()
}

/// The processor's name and how many there are, as far as Linux tells.
pub(crate) fn machine() -> String {
    let information = std::fs::read_to_string(Path::new("/proc/cpuinfo")).unwrap_or_default();
    let name = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{}, {cores} cores", name.map_or("unknown processor", |(_, name)| name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(tool: &str, packages: &[&str]) -> Missing {
        Missing { tool: tool.to_owned(), packages: packages.iter().map(|&p| p.to_owned()).collect() }
    }

    #[test]
    fn one_line_installs_all_that_is_missing_each_once() {
        let all = [missing("a", &["wabt", "afl++"]), missing("b", &["afl++"])];
        assert_eq!(install_line(&all).unwrap(), "apt-get install --no-install-recommends afl++ wabt");
        assert_eq!(install_line(&[]), None);
    }

    #[test]
    fn colours_are_taken_out_of_versions() {
        assert_eq!(plain("\x1b[0;36mafl-fuzz++4.04c\x1b[0m based on"), "afl-fuzz++4.04c based on");
        assert_eq!(plain("plain\x1b[0"), "plain");
    }

    #[test]
    fn a_compiler_that_is_not_there_is_named_with_its_packages() {
        let tools = Tools::find("clang-0").unwrap();
        assert!(!tools.libfuzzer);
        assert!(tools.missing.contains(&missing("clang-0", &["clang-0"])));
        assert!(tools.missing.contains(&missing("libFuzzer", &["libclang-rt-0-dev"])));
    }
}
