//! Draws: writes what takes the place of a call of the guest protocol.
//!
//! ```wat
//! call $draw_int      i32.const SITE
//!                     call $body_of_draw_int        ;; appended, or the body itself if it is short
//! ```

use anyhow::Result;
use wasmparser::Operator;

use super::probe::{Probe, Site};
use crate::added::protocol::ProtocolFunctions;
use crate::added::relocation::Relocation;
use crate::calls::Drawing;
use crate::protocol::{Assembled, Assembly};

/// Calls of short functions are replaced by their bodies up to this site: more would make large modules much larger.
const INLINED_SITES_MAX: u32 = 1024;
/// The first of the scratch locals that an inlined body has, by number. Those of probes come before.
const INLINED_LOCALS: u32 = 64;

pub(super) struct Draws<'p> {
    pub(super) linked: ProtocolFunctions,
    pub(super) drawing: &'p Drawing,
}

impl Probe for Draws<'_> {
    fn instead(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        match *operator {
            Operator::Call { function_index } => self.call(function_index, false, site),
            Operator::ReturnCall { function_index } => self.call(function_index, true, site),
            _ => Ok(()),
        }
    }
}

impl Draws<'_> {
    /// Writes what takes the place of a call of an imported function, if that is one of the protocol's.
    fn call(&self, function: u32, tail: bool, site: &mut Site<'_, '_>) -> Result<()> {
        let (imports, all) = (&site.survey.protocol, Assembled::get());
        let Some(body) = imports.body(function) else { return Ok(()) };
        let number = self.drawing.site(site.at);
        if let Some(short) = all.inlined(body).filter(|_| !tail && (1..=INLINED_SITES_MAX).contains(&number))
            && let Some(locals) = locals(short, site)?
        {
            let relocation = Relocation { all, imports, linked: self.linked, memory: site.survey.memories };
            return relocation.inline(short, &locals, number, site.bytes());
        }
        let index = self.linked.index(imports, body);
        let mut code = site.code();
        code.i32_const(number.cast_signed());
        if tail {
            code.return_call(index)
        } else {
            code.call(index)
        };
        Ok(())
    }
}

/// Scratch locals for the parameters and locals of a function that is inlined; none for the call site. `None` if there
/// is no room.
fn locals(function: &Assembly, site: &mut Site<'_, '_>) -> Result<Option<Vec<u32>>> {
    let mut types = function.ty.params().to_vec();
    let number = types.len() - 1;
    for group in function.body.get_locals_reader()? {
        let (count, ty) = group?;
        types.extend(std::iter::repeat_n(ty, count as usize));
    }
    let local = |(place, &ty)| {
        if place == number { Some(u32::MAX) } else { site.scratch(ty, INLINED_LOCALS + place as u32).ok() }
    };
    Ok(types.iter().enumerate().map(local).collect())
}
