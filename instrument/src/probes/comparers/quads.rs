//! Records what functions compare that are given two floats of 128 bits (`long double` in C): WebAssembly has none, so
//! compilers call `__letf2` and its like with the halves of each, the low one first.
//!
//! They are known by their names, or by what they do: a short body that neither loops nor calls nor has to do with
//! memory, and that knows infinity's higher half. The one that only tells whether two are numbers (`__unordtf2`) has
//! nothing to do with signs.

use anyhow::Result;
use wasmparser::{FunctionBody, Operator, ValType};

use crate::module::survey::Survey;
use crate::module::types::Values;
use crate::probes::probe::{Function, Probe, Site};
use crate::trace::{Recorder, Recorders, tag};

/// Names of functions that compare.
const NAMES: [&str; 7] = ["__eqtf2", "__netf2", "__lttf2", "__letf2", "__gttf2", "__getf2", "__cmptf2"];
/// The higher half of infinity.
const INFINITY: i64 = 0x7fff << 48;
/// The largest body that is looked at, in bytes: real ones have 200.
const BODY_BYTES_MAX: u64 = 1024;

pub(in crate::probes) struct Quads {
    recorder: u32,
}

impl Quads {
    /// `None` if the function is none that compares such.
    pub(in crate::probes) fn new(
        survey: &Survey<'_>,
        function: &Function<'_, '_>,
        recorders: Recorders,
    ) -> Option<Quads> {
        let Values::Results(ty) = function.results else { return None };
        let ty = survey.types.get(ty as usize)?.as_ref()?;
        if ty.params() != [ValType::I64; 4] || ty.results() != [ValType::I32] {
            return None;
        }
        let name = survey.names.get(function.index as usize).and_then(Option::as_deref);
        let is_known = name.is_some_and(|name| NAMES.contains(&name)) || compares_quads(function.body) == Some(true);
        is_known.then(|| Quads { recorder: recorders.index(Recorder::Quads) })
    }
}

/// Whether a body does what such a function does; `None` if it does anything else.
fn compares_quads(body: &FunctionBody<'_>) -> Option<bool> {
    let range = body.range();
    if range.end - range.start > BODY_BYTES_MAX {
        return None;
    }
    let (mut has_infinity, mut has_signs) = (false, false);
    for operator in body.get_operators_reader().ok()? {
        use Operator as O;
        match operator.ok()? {
            O::I64Const { value } => has_infinity |= value == INFINITY,
            O::I64LtS | O::I64LeS | O::I64GtS | O::I64GeS => has_signs = true,
            O::Block { .. }
            | O::If { .. }
            | O::Else
            | O::End
            | O::Br { .. }
            | O::BrIf { .. }
            | O::Return
            | O::Select
            | O::Drop
            | O::LocalGet { .. }
            | O::LocalSet { .. }
            | O::LocalTee { .. }
            | O::I32Const { .. }
            | O::I32Eqz
            | O::I32And
            | O::I32Or
            | O::I32Xor
            | O::I32Sub
            | O::I32Add
            | O::I32Shl
            | O::I32Eq
            | O::I32Ne
            | O::I32LtS
            | O::I32GtS
            | O::I64Eqz
            | O::I64Eq
            | O::I64Ne
            | O::I64LtU
            | O::I64LeU
            | O::I64GtU
            | O::I64GeU
            | O::I64And
            | O::I64Or
            | O::I64Xor
            | O::I64Add
            | O::I64Sub
            | O::I64Shl
            | O::I64ShrS
            | O::I64ShrU
            | O::I32WrapI64
            | O::I64ExtendI32U
            | O::I64ExtendI32S => {}
            _ => return None,
        }
    }
    Some(has_infinity && has_signs)
}

impl Probe for Quads {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        let tag = tag(site.at, 0);
        let mut code = site.code();
        (0..4).for_each(|half| _ = code.local_get(half));
        code.i32_const(tag).call(self.recorder);
        Ok(())
    }
}
