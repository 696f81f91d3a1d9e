//! What can change the outcome of an execution, apart from module and input.

/// Lets serde store a value as the text that people type for it.
macro_rules! stored_as_text {
    ($type:ty) => {
        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    };
}

mod allocator;
mod compare;

pub use allocator::{Allocator, AllocatorKind};
pub use compare::{Compare, Observable};

use crate::id::ModuleId;
use fuzzbox_instrument::layout::{Flag, Flags};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Everything apart from module and input that an execution's outcome depends on. Part of a result's address, and
/// stored with each finding, so that it is reproduced under the same conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Export to call; chosen by [`crate::sandbox::Entry`]'s rules if none is named.
    pub entry: Option<String>,
    /// How the named export is given its input.
    #[serde(skip_serializing_if = "is_default")]
    pub entry_args: EntryArgs,
    /// A call recipe, which is executed instead of an export: [`fuzzbox_instrument::recipe`]. In stored settings what
    /// is known by name is written out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Arguments of a WASI command after its name. `@@` in one is the path of a file that holds the input; standard
    /// input is empty then.
    pub args: Vec<String>,
    /// Longest input, in bytes.
    pub input_bytes_max: u32,
    /// Limit on the sum of the guest's linear memories, in bytes. A growth beyond it fails as `memory.grow` does.
    pub memory_bytes_max: u64,
    /// Units of fuel (about one per instruction) that an execution may take until it is a hang. The default is about
    /// half a second: real programs need a quarter of a second for what they were made for (icepack packing its largest
    /// device, 985 million).
    pub fuel_max: u64,
    /// What becomes of imports that nobody provides; an error if `None`.
    pub stub_imports: Option<Stub>,
    /// `proc_exit` with a code other than 0 is a crash.
    pub crash_on_exit: bool,
    /// The allocator is made to take this many bytes before the first execution, if it can be called; 0 leaves it
    /// alone. That is also what stored settings without it mean.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grow_heap_bytes: u32,
    /// Which allocator that is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub allocator: Allocator,
    /// What is looked for besides what traps by itself.
    #[serde(skip_serializing_if = "is_default")]
    pub checks: Checks,
    /// The entry is called with the empty input once, and every execution begins with what that left.
    #[serde(skip_serializing_if = "is_default")]
    pub warm_up: bool,
    /// Another build, which executes each input as well. What differs is a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<ModuleId>,
    /// What of the two is compared.
    #[serde(skip_serializing_if = "is_default")]
    pub compare: Compare,
}

/// What is left out of stored settings, so that results keep the addresses that they had before there was a choice.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How an export is given its input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EntryArgs {
    /// Bytes if the first two parameters can be a pointer and a length, else numbers.
    #[default]
    Auto,
    /// As numbers only.
    Numbers,
    /// A pointer and a length, all else as numbers: the pointer's index among the parameters, or the first two in a row
    /// that can be.
    Bytes(Option<u16>),
}

impl EntryArgs {
    /// What people are told of it.
    pub const HELP: &str = "What --entry's parameters are given: `numbers` from the input's bytes (little-endian, \
        missing bytes are 0), `bytes`, where the first two that can be are pointer and length and the others numbers \
        from the first bytes, `bytes:N` if the pointer is parameter N from 0 on, or `auto`, which is bytes if the \
        first two can be a pointer and a length, and else numbers";
}

impl FromStr for EntryArgs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "numbers" => Ok(Self::Numbers),
            "bytes" => Ok(Self::Bytes(None)),
            _ => {
                let index = text.strip_prefix("bytes:").and_then(|index| index.parse().ok());
                let index =
                    index.ok_or("it is `auto`, `numbers`, `bytes`, or `bytes:N` for a pointer as parameter N")?;
                Ok(Self::Bytes(Some(index)))
            }
        }
    }
}

impl fmt::Display for EntryArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Numbers => f.write_str("numbers"),
            Self::Bytes(None) => f.write_str("bytes"),
            Self::Bytes(Some(index)) => write!(f, "bytes:{index}"),
        }
    }
}

stored_as_text!(EntryArgs);

/// Checks that the rewriter's code makes, of those that [`Flag::checks`] lists; as text their names with commas
/// between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Checks(pub Flags);

impl Checks {
    /// No checks, as text.
    const NONE: &str = "none";

    /// What people are told of them.
    pub fn help() -> String {
        let checks: Vec<_> = Flag::checks().map(|(check, finds)| format!("`{}` ({finds})", check.name())).collect();
        format!("What is looked for besides what traps: {}, with commas between, or `none`", checks.join(", "))
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self(Flags::usual_checks())
    }
}

impl FromStr for Checks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let check = |name: &str| {
            let check = Flag::checks().find(|(check, _)| check.name() == name);
            check.map(|(check, _)| check).ok_or_else(|| format!("there is no check `{}`", name.escape_debug()))
        };
        match text {
            Self::NONE => Ok(Self(Flags::default())),
            _ => text.split(',').map(check).collect::<Result<_, _>>().map(Self),
        }
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Flag::all().filter(|&flag| self.0.has(flag)).map(Flag::name).collect();
        f.write_str(&if names.is_empty() { Self::NONE.to_owned() } else { names.join(",") })
    }
}

stored_as_text!(Checks);

/// What a stubbed import does when it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stub {
    /// Ends the execution as a crash.
    Trap,
    /// Returns zeros and nulls.
    Zero,
    /// Ends the execution as rejected; returns zeros while the module is initialised.
    Reject,
}

impl Settings {
    /// Checks limits that came from elsewhere than the command line, which says more of what is wrong.
    ///
    /// # Errors
    ///
    /// The same for another module, whose functions are others.
    #[must_use]
    pub fn of_another_module(&self) -> Self {
        let allocator = match self.allocator {
            Allocator::Functions { .. } => Allocator::Named,
            allocator => allocator,
        };
        Self { allocator, ..self.clone() }
    }

    /// Names the first that is larger than it can be.
    pub fn check_limits(&self) -> anyhow::Result<()> {
        for (name, value, max) in [
            ("fuel_max", self.fuel_max, Self::FUEL_MAX),
            ("input_bytes_max", self.input_bytes_max.into(), Self::INPUT_BYTES_MAX.into()),
            ("memory_bytes_max", self.memory_bytes_max, Self::MEMORY_BYTES_MAX),
            ("grow_heap_bytes", self.grow_heap_bytes.into(), Self::GROW_HEAP_BYTES_MAX.into()),
        ] {
            anyhow::ensure!(value <= max, "`{name}` is {value}, the limit is {max}");
        }
        Ok(())
    }

    /// The largest fuel limit: some minutes. Counters have 32 bits, and no edge is counted twice for one unit of fuel:
    /// whoever allows more than these hold may see the count of an edge wrap.
    pub const FUEL_MAX: u64 = 1 << 40;
    /// The limit on fuel that nobody chose.
    pub const FUEL_DEFAULT: u64 = 2_000_000_000;
    /// The largest limit on input length, in bytes.
    pub const INPUT_BYTES_MAX: u32 = 64 << 20;
    /// The largest limit on memory, in bytes.
    pub const MEMORY_BYTES_MAX: u64 = 4 << 30;
    /// The most by which the heap is grown before the first execution, in bytes.
    pub const GROW_HEAP_BYTES_MAX: u32 = 1 << 30;
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            entry: None,
            entry_args: EntryArgs::Auto,
            call: None,
            args: Vec::new(),
            input_bytes_max: 1 << 20,
            memory_bytes_max: 256 << 20,
            fuel_max: Self::FUEL_DEFAULT,
            stub_imports: None,
            crash_on_exit: false,
            grow_heap_bytes: 1 << 20,
            allocator: Allocator::Named,
            checks: Checks::default(),
            warm_up: false,
            against: None,
            compare: Compare::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_stored_by_name_unless_they_are_the_usual_ones() {
        assert_eq!(Checks::default().to_string(), "null-write");
        for text in ["null-write", "none"] {
            let settings = Settings { checks: text.parse().unwrap(), ..Settings::default() };
            assert_eq!(settings.checks.to_string(), text);
            let stored = serde_json::to_string(&settings).unwrap();
            assert_eq!(stored.contains("\"checks\""), text == "none");
            assert_eq!(serde_json::from_str::<Settings>(&stored).unwrap(), settings);
        }
        for bad in ["", "none,null-write", "out-of-fuel", "null-write, none"] {
            assert!(bad.parse::<Checks>().unwrap_err().contains("no check"), "{bad}");
        }
        assert!(Flag::checks().all(|(check, _)| Checks::help().contains(check.name())));
    }
}
