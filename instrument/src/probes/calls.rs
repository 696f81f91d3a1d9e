//! Calls that can be part of a recursion: counts those that are live, and stops when these are too many.
//!
//! ```wat
//! (func $f (param i32)          (func $f (param i32)
//!                                 calls += 1, stop if above the limit
//!   call $f                       call $f
//!                                 calls -= 1
//!   call $other                   call $other
//!   return_call $f)               return_call $f)
//! ```
//!
//! A call that an exception leaves does not count itself down. Functions with a `try_table` keep the number as it was
//! when they were entered in a local, and set it again when they have caught.

use anyhow::Result;
use wasmparser::{Operator, ValType};

use super::probe::{Probe, Site};
use crate::calls::Recursion;

pub(super) struct Calls<'p> {
    limit: u32,
    recursion: &'p Recursion,
    /// Whether it has a `try_table`.
    catches: bool,
    /// The local that holds how many calls are live, if there is something to catch.
    live: Option<u32>,
}

impl<'p> Calls<'p> {
    /// For a function with this index.
    pub(super) fn new(limit: u32, recursion: &'p Recursion, function: u32) -> Calls<'p> {
        Calls { limit, recursion, catches: recursion.catches(function), live: None }
    }

    fn counts(&self, operator: &Operator<'_>, site: &Site<'_, '_>) -> bool {
        let callee = match operator {
            Operator::Call { function_index } => Some(*function_index),
            Operator::CallIndirect { .. } | Operator::CallRef { .. } => None,
            _ => return false,
        };
        site.live && self.recursion.has(site.function(), callee)
    }
}

impl Probe for Calls<'_> {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if self.catches {
            let live = site.local(ValType::I32)?;
            site.code().save_calls(live);
            self.live = Some(live);
        }
        Ok(())
    }

    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        if self.counts(operator, site) {
            site.code().enter_call(self.limit);
        }
        Ok(())
    }

    fn after(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        if self.counts(operator, site) {
            site.code().leave_call();
        }
        Ok(())
    }

    fn caught(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if let Some(live) = self.live {
            site.code().restore_calls(live);
        }
        Ok(())
    }
}
