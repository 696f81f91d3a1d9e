//! What of the executions of one input in two builds is compared.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Something that an execution shows, and that another build may show otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Observable {
    /// Whether the input was rejected, or failed, and the code that a program exited with.
    Outcome,
    /// What was written to standard output.
    Stdout,
    /// What was written to standard error.
    Stderr,
    /// What the entry returned.
    Return,
    /// What the guest told by `fuzzbox_v1.note` and `fuzzbox_v1.value`.
    Value,
    /// That one ran into a limit: on fuel, on memory, or on live calls.
    Limits,
}

impl Observable {
    const ALL: [Self; 6] = [Self::Outcome, Self::Stdout, Self::Stderr, Self::Return, Self::Value, Self::Limits];

    /// Its stable name, as in flags, stored settings and signatures: `stdout`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Return => "return",
            Self::Value => "value",
            Self::Limits => "limits",
        }
    }
}

/// What is compared of two executions; as text the names with commas between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Compare([bool; Observable::ALL.len()]);

impl Compare {
    /// What people are told of it.
    pub const HELP: &str = "What of two builds is compared, with commas between: `outcome` (rejected, failed, exit \
        code), `stdout`, `stderr`, `return` (what the entry returns; leave it out if that is an address), `value` (what \
        the guest tells by `note` and `value`), `limits` (fuel, memory and depth of recursion, which builds may differ \
        in without being wrong)";

    /// Whether this is compared.
    pub fn has(self, observable: Observable) -> bool {
        self.0[observable as usize]
    }
}

impl Default for Compare {
    /// All but what builds differ in although none is wrong: diagnostics, and what they need of what is limited.
    fn default() -> Self {
        Self(Observable::ALL.map(|observable| !matches!(observable, Observable::Stderr | Observable::Limits)))
    }
}

impl FromStr for Compare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut compare = Self([false; Observable::ALL.len()]);
        for name in text.split(',') {
            let found = Observable::ALL.into_iter().find(|observable| observable.name() == name);
            let names = Observable::ALL.map(Observable::name).join(", ");
            let found = found.ok_or_else(|| format!("`{}` is none of {names}", name.escape_debug()))?;
            compare.0[found as usize] = true;
        }
        Ok(compare)
    }
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Observable::ALL.into_iter().filter(|&each| self.has(each)).map(Observable::name).collect();
        f.write_str(&names.join(","))
    }
}

stored_as_text!(Compare);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_is_named_in_one_order() {
        assert_eq!(Compare::default().to_string(), "outcome,stdout,return,value");
        let compare: Compare = "limits,stdout".parse().unwrap();
        assert_eq!(compare.to_string(), "stdout,limits");
        assert!(compare.has(Observable::Stdout) && !compare.has(Observable::Outcome));
        for bad in ["", "stdout,", "stdout, stderr", "all"] {
            assert!(bad.parse::<Compare>().unwrap_err().contains("is none of outcome, "), "{bad}");
        }
    }
}
