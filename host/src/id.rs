//! Names that are their content: blake3 hashes of inputs, modules and results.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Declares one kind of id. The kinds are distinct types so that a module's id is never passed where an input's is
/// meant.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 32]);

        impl $name {
            /// Names `bytes` by their blake3 hash.
            pub fn of(bytes: &[u8]) -> Self {
                Self(*blake3::hash(bytes).as_bytes())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for byte in self.0 {
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = anyhow::Error;

            fn from_str(text: &str) -> anyhow::Result<Self> {
                let hash = blake3::Hash::from_hex(text).map_err(|_| anyhow::anyhow!("`{text}` is not a blake3 hash (64 hex digits)"))?;
                Ok(Self(*hash.as_bytes()))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id! {
    /// blake3 of an object's bytes as they lie in the store.
    ObjectId
}
id! {
    /// blake3 of an input file's bytes: what `b3sum` prints for it.
    InputId
}
id! {
    /// blake3 of what executes: the module's bytes without its custom sections, so that stripping names or debug info
    /// changes nothing.
    ModuleId
}
id! {
    /// blake3 of (module id, input id, settings that can change the outcome): the address of a result, and the name of
    /// a finding.
    FindingId
}

impl From<InputId> for ObjectId {
    fn from(id: InputId) -> Self {
        Self(id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_what_b3sum_prints() {
        let id = InputId::of(b"");
        assert_eq!(id.to_string(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
        assert_eq!(id.to_string().parse::<InputId>().unwrap(), id);
        assert!("af13".parse::<InputId>().is_err());
    }
}
