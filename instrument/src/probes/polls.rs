//! Polls: loads that a watchdog can make trap, by taking their page away.
//!
//! Every cycle of a function's graph has one: at its loop's head. And a chain of tail calls, which is none in any
//! function, has one before each call. Each load has an address of its own in the function, because compilers merge equal
//! loads, even over loops; the function's other polls then stand for the merged one, and an endless loop has none.

use anyhow::Result;
use wasmparser::Operator;

use super::{Probe, Site};
use crate::layout;

#[derive(Default)]
pub(super) struct Polls {
    /// How many were written.
    polls: u32,
}

impl Polls {
    fn poll(&mut self, site: &mut Site<'_, '_>) {
        site.code().poll(self.polls % layout::POLL_BYTES);
        self.polls += 1;
    }
}

impl Probe for Polls {
    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        if let (O::ReturnCall { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. }, true) =
            (operator, site.live)
        {
            self.poll(site);
        }
        Ok(())
    }

    fn after(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        if let Operator::Loop { .. } = operator {
            self.poll(site);
        }
        Ok(())
    }
}
