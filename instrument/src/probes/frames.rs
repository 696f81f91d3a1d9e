//! Frames: counts those that are live, and stops when these are too many.
//!
//! ```wat
//! (func (param i32) (result i32)          (func (param i32) (result i32)
//!                                           frames += 1, stop if above the limit
//!                                           block (result i32)
//!   local.get 0                               local.get 0
//!   call $f                                   call $f
//!   local.get 0                               local.get 0
//!   br_if 0                                   br_if 0
//!                                             frames -= 1
//!   return_call $f)                           return_call $f
//!                                           end
//!                                           frames -= 1)
//! ```
//!
//! A frame that an exception leaves does not count itself down. Functions with a `try_table` keep the number that includes
//! their own frame in a local, and set it again when they have caught.
//!
//! A function that calls nothing, or only in place of itself, is never below another frame of the module: nobody could see
//! whether it is counted. So it isn't, and only stops when the limit is reached already.

use anyhow::Result;
use wasmparser::{FunctionBody, Operator, ValType};

use super::{Probe, Site};

pub(super) struct Frames {
    limit: u32,
    /// Whether it calls something that runs while its own frame is live.
    calls: bool,
    /// Whether it has a `try_table`.
    catches: bool,
    /// The local that holds how many frames there are, this one included, if there is something to catch.
    live: Option<u32>,
}

impl Frames {
    pub(super) fn new(limit: u32, body: &FunctionBody<'_>) -> Frames {
        use Operator as O;
        let mut frames = Frames { limit, calls: false, catches: false, live: None };
        // What can't be read is told by the validator, which has not seen the body.
        for operator in body.get_operators_reader().into_iter().flatten().map_while(Result::ok) {
            match operator {
                O::Call { .. } | O::CallIndirect { .. } | O::CallRef { .. } => frames.calls = true,
                O::TryTable { try_table } => frames.catches |= !try_table.catches.is_empty(),
                _ => {}
            }
        }
        frames
    }
}

impl Probe for Frames {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if !self.calls {
            site.code().check_frames(self.limit);
            return Ok(());
        }
        site.code().enter_frame(self.limit);
        if self.catches {
            let live = site.local(ValType::I32)?;
            site.code().save_frames(live);
            self.live = Some(live);
        }
        site.block_with_results()
    }

    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        let leaves = matches!(
            operator,
            O::Return | O::ReturnCall { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. }
        );
        if leaves && self.calls && site.live {
            site.code().leave_frame();
        }
        Ok(())
    }

    fn caught(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if let Some(live) = self.live {
            site.code().restore_frames(live);
        }
        Ok(())
    }

    fn leave(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        if self.calls {
            site.code().end();
            site.code().leave_frame();
        }
        Ok(())
    }
}
