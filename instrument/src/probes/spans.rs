//! Spans: records where functions are entered and left.
//!
//! A block around the body gets what branches to the function's label, so that all of it is left at one place:
//!
//! ```wat
//! (func (param i32) (result i32)          (func (param i32) (result i32) (local $depth i32)
//!                                           i32.const FUNCTION
//!                                           i32.const TAG
//!                                           call $enter
//!                                           local.set $depth
//!                                           block (result i32)
//!   i32.const 7                               i32.const 7
//!   local.get 0                               local.get 0
//!   br_if 0                                   br_if 0
//!                                             local.get $depth
//!                                             i32.const TAG
//!                                             call $leave
//!   return_call $f)                           return_call $f
//!                                           end
//!                                           local.get $depth
//!                                           i32.const TAG
//!                                           call $leave)
//! ```
//!
//! Each call knows its depth, so one that is left by a trap or an exception needs no record. A function that has as
//! many locals as there may be has no room for it, and no span.

use anyhow::Result;
use wasmparser::{Operator, ValType};

use super::probe::{Probe, Site};
use crate::trace::{LEAVE_END, LEAVE_RETURN, LEAVE_TAIL_CALL, Recorder, Recorders, tag};

pub(super) struct Spans {
    recorders: Recorders,
    /// The local that holds the depth, if there was room for one.
    depth: Option<u32>,
}

impl Spans {
    pub(super) fn new(recorders: Recorders) -> Spans {
        Spans { recorders, depth: None }
    }

    fn record(&self, recorder: Recorder, operator: u8, site: &mut Site<'_, '_>) {
        if let Some(depth) = self.depth {
            let tag = tag(site.at, operator);
            site.code().local_get(depth).i32_const(tag).call(self.recorders.index(recorder));
        }
    }
}

impl Probe for Spans {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        let Ok(depth) = site.local(ValType::I32) else { return Ok(()) };
        self.depth = Some(depth);
        let (function, tag) = (site.function(), tag(site.at, 0));
        let enter = self.recorders.index(Recorder::Enter);
        site.code().i32_const(function.cast_signed()).i32_const(tag).call(enter).local_set(depth);
        site.block_with_results()
    }

    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        let way = match operator {
            _ if !site.live => return Ok(()),
            O::Return => LEAVE_RETURN,
            O::ReturnCall { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. } => LEAVE_TAIL_CALL,
            _ => return Ok(()),
        };
        self.record(Recorder::Leave, way, site);
        Ok(())
    }

    fn caught(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        self.record(Recorder::Caught, 0, site);
        Ok(())
    }

    fn leave(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if self.depth.is_some() {
            site.code().end();
        }
        self.record(Recorder::Leave, LEAVE_END, site);
        Ok(())
    }
}
