//! What fails in a generated guest, and its builds.

use super::{c, wat};
use anyhow::Result;
use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::random::Random;
use serde_json::Value;
use std::fs;

/// What a guest is made from, and what of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Debug,
    Names,
    Nameless,
    Text,
}

/// How an input that begins with two letters fails: the first says in which function, the second at which of its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Abort,
    Trap,
    Division,
    OutOfBounds,
    Recursion,
    Hang,
}

const FAILURES: [Failure; 4] = [Failure::Abort, Failure::Trap, Failure::Division, Failure::OutOfBounds];

/// A function with failures in it.
pub(super) struct Function {
    pub(super) failures: Vec<Failure>,
    /// How the function is made: whether it may be inlined, what is between.
    pub(super) style: u64,
}

/// A guest in several builds.
pub(super) struct Guest {
    form: Form,
    pub(super) functions: Vec<Function>,
    /// Any number: levels of optimisation, counts of functions in front.
    pub(super) style: u64,
    tail: String,
}

/// How a build differs from the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Build {
    First,
    /// A function was added in front.
    Added,
    /// The letters of a function's first two failures are exchanged.
    Swapped,
}

impl Guest {
    pub(super) fn new(form: Form, random: &mut Random) -> Self {
        let function = |random: &mut Random| {
            // Without its name nobody knows `abort`, and all calls of it in one function are one failure.
            let kinds = if form == Form::Nameless { &FAILURES[1..] } else { &FAILURES[..] };
            let failure = |random: &mut Random| kinds[random.below(kinds.len() as u64) as usize];
            let mut failures: Vec<_> = (0..2 + random.below(2)).map(|_| failure(random)).collect();
            match random.below(5) {
                0 => failures.push(Failure::Recursion),
                1 => failures.push(Failure::Hang),
                _ => {}
            }
            Function { failures, style: random.below(1 << 16) }
        };
        let count = 2 + random.below(3);
        let functions = (0..count).map(|_| function(random)).collect();
        let tail = (0..1 + random.below(12)).map(|_| char::from(b'h' + random.below(8) as u8)).collect();
        Self { form, functions, style: random.below(1 << 16), tail }
    }

    /// The second letter of a failure.
    pub(super) fn letter(build: Build, number: usize) -> char {
        let number = match (build, number) {
            (Build::Swapped, 0) => 1,
            (Build::Swapped, 1) => 0,
            (_, number) => number,
        };
        char::from(b'a' + number as u8)
    }

    /// Writes all builds and an input for each failure.
    pub(super) fn build(&self, fuzzbox: &Fuzzbox) -> Result<()> {
        let dir = fuzzbox.dir();
        let names = [(Build::First, "guest"), (Build::Added, "added"), (Build::Swapped, "swapped")];
        for (build, name) in names {
            match self.form {
                Form::Text => fs::write(dir.join(format!("{name}.wasm")), wat::module(self, build)?)?,
                form => {
                    let debug = c::module(self, build, dir, true)?;
                    let bare = c::module(self, build, dir, false)?;
                    let stripped = fuzzbox_instrument::strip_custom_sections(&bare)?;
                    let (own, other) = match form {
                        Form::Debug => (debug, bare),
                        Form::Names => (bare, debug),
                        _ => (stripped.clone(), stripped),
                    };
                    fs::write(dir.join(format!("{name}.wasm")), own)?;
                    fs::write(dir.join(format!("{name}-other.wasm")), other)?;
                }
            }
        }
        fs::create_dir(dir.join("corpus"))?;
        for (function, place) in self.places() {
            let input = format!("{}{}{}", Self::first(function), Self::letter(Build::First, place), self.tail);
            fs::write(dir.join("corpus").join(&input[..2]), input)?;
        }
        Ok(())
    }

    /// Builds in which everything fails as in the first one.
    pub(super) fn rebuilt(&self) -> &[&str] {
        match self.form {
            Form::Text => &["added.wasm"],
            _ => &["added.wasm", "added-other.wasm", "guest-other.wasm"],
        }
    }

    /// Whether a failure is one of those whose letters are exchanged.
    pub(super) fn is_swapped(&self, line: &Value) -> bool {
        let signature = line["expected"].as_str().unwrap_or_default();
        let is_placed = !signature.starts_with("hang") && !signature.starts_with("stack-overflow");
        // A compiler makes one instruction of two that do the same, which then has no line.
        let has_line = signature.contains(":+") || signature.contains(":-");
        is_placed && (self.form == Form::Text || self.form == Form::Debug && has_line)
    }

    /// The first letter of inputs that fail in a function.
    pub(super) fn first(function: usize) -> char {
        char::from(b'A' + function as u8)
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let functions = self.functions.iter().enumerate();
        functions.flat_map(|(index, function)| (0..function.failures.len()).map(move |place| (index, place)))
    }
}
