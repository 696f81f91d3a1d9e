//! The handles that a guest has, and what they are for.

use fuzzbox_instrument::HandleType;
use std::fmt;

/// What a handle of WASI is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Handle {
    Stdin,
    Stdout,
    Stderr,
    /// Ready from this time on, in nanoseconds since the start of the execution.
    Pollable(u64),
    /// A resource that the component defines: its number, and what represents it.
    Own(u32, u32),
}

/// The handles of one guest. The first is 1; one that was dropped is given again, the last first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Handles {
    slots: Vec<Option<Handle>>,
    free: Vec<u32>,
}

/// More handles than this are not given.
const COUNT_MAX: usize = 1 << 20;

impl Handles {
    /// Becomes equal to `other`.
    pub(in super::super) fn restore(&mut self, other: &Self) {
        self.slots.clone_from(&other.slots);
        self.free.clone_from(&other.free);
    }

    /// A new handle; none if there are too many.
    pub(super) fn give(&mut self, handle: Handle) -> Result<u32, Unknown> {
        if let Some(number) = self.free.pop() {
            self.slots[number as usize - 1] = Some(handle);
            return Ok(number);
        }
        if self.slots.len() >= COUNT_MAX {
            return Err(Unknown);
        }
        self.slots.push(Some(handle));
        Ok(self.slots.len() as u32)
    }

    /// What a handle is for.
    pub(super) fn get(&self, number: u32) -> Result<Handle, Unknown> {
        let slot = (number as usize).checked_sub(1).and_then(|slot| self.slots.get(slot));
        slot.copied().flatten().ok_or(Unknown)
    }

    /// Takes a handle that the guest gives away, if it is of the right resource as far as that is known.
    pub(in super::super) fn give_away(&mut self, number: u32, of: HandleType) -> Result<(), Unknown> {
        let own = match self.get(number)? {
            Handle::Own(resource, _) => Some(resource),
            Handle::Stdin | Handle::Stdout | Handle::Stderr | Handle::Pollable(_) => None,
        };
        let fits = match of {
            HandleType::Own(resource) => own == Some(resource),
            HandleType::Imported => own.is_none(),
            HandleType::Unknown => true,
        };
        if fits { self.drop(number).map(drop) } else { Err(Unknown) }
    }

    /// Takes a handle back.
    pub(in super::super) fn drop(&mut self, number: u32) -> Result<Handle, Unknown> {
        let handle = self.get(number)?;
        self.slots[number as usize - 1] = None;
        self.free.push(number);
        Ok(handle)
    }
}

/// Ends an execution because the guest passed a handle that it was not given, or one of something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super::super) struct Unknown;

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the guest passed a handle that it was not given, or took too many")
    }
}

impl std::error::Error for Unknown {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_given_again_and_restored() {
        let mut handles = Handles::default();
        assert_eq!(handles.give(Handle::Stdin), Ok(1));
        assert_eq!(handles.give(Handle::Stdout), Ok(2));
        let base = handles.clone();
        assert_eq!(handles.drop(1), Ok(Handle::Stdin));
        assert_eq!(
            (handles.get(1), handles.drop(1), handles.get(0), handles.get(3)),
            (Err(Unknown), Err(Unknown), Err(Unknown), Err(Unknown))
        );
        assert_eq!(handles.give(Handle::Pollable(7)), Ok(1));
        assert_eq!(handles.give(Handle::Stderr), Ok(3));
        handles.restore(&base);
        assert_eq!(handles, base);
    }
}
