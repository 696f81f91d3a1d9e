//! Where a native program crashes, by what libFuzzer and Rust say about it.

use super::peers::{Work, text};
use crate::guests::tool;
use anyhow::{Context as _, Result, ensure};
use std::fmt;
use std::path::Path;

/// A line of Rust that panicked, or the address in the program at which it was or to which `abort` would return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place(String);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Place {
    /// Where a program with libFuzzer crashes on the input of `work`.
    pub(super) fn of(program: &Path, work: &Work) -> Result<Self> {
        let output = tool::try_run(work.command(program)?.arg("-artifact_prefix=ran-").arg(&work.input))?;
        let text = text(&output);
        ensure!(!output.status.success(), "`{}` does not crash\n{text}", program.display());
        Self::read(&text).with_context(|| format!("`{}` does not say where it crashed\n{text}", program.display()))
    }

    fn read(text: &str) -> Option<Self> {
        if let Some((_, panic)) = text.split_once(" panicked at ") {
            let place = panic.split_once(":\n")?.0;
            // The file, without where crates lie on this machine.
            let file = place.rfind("/registry/src/").map_or(place, |at| {
                let path = &place[at + "/registry/src/".len()..];
                path.split_once('/').map_or(path, |(_, path)| path)
            });
            return Some(Self(file.to_owned()));
        }
        let frames = || text.lines().filter_map(|line| line.trim_start().strip_prefix('#')?.split_once("  ("));
        let is_libc = |(_, place): &(&str, &str)| place.contains("/libc.so");
        // Above are the handler and how signals are raised and returned from.
        let (_, place) = frames().skip_while(|frame| !is_libc(frame)).find(|frame| !is_libc(frame))?;
        let place = place.split([')', ' ']).next()?.rsplit_once('+')?.1;
        Some(Self(place.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_below_what_handles_and_raises_signals() {
        let text = "==7== ERROR: libFuzzer: deadly signal\n    #0 0x55d3  (/some/cjson+0x2d91a4) (BuildId: 43)\n    \
                    #1 0x55d2  (/lib/libc.so.6+0x3c04f) (BuildId: 93)\n    #2 0x55d1  (/lib/libc.so.6+0x2) (BuildId: 93)\n    \
                    #3 0x55d0  (/some/cjson+0x2740b9) (BuildId: 43)\n    #4 0x55cf  (/some/cjson+0x1) (BuildId: 43)\n";
        assert_eq!(Place::read(text), Some(Place("0x2740b9".into())));
        assert_eq!(Place::read("Executed in 0 ms\n"), None);
    }

    #[test]
    fn a_panic_is_where_it_says() {
        let text = "\nthread '<unnamed>' (63) panicked at /home/me/.cargo/registry/src/index-1949/some-0.5.6/src/a.rs:203:18:\nwhy\n";
        assert_eq!(Place::read(text), Some(Place("some-0.5.6/src/a.rs:203:18".into())));
    }
}
