//! Comparers: records what functions like `memcmp` and `strcmp` are given, where they are entered.
//!
//! They are known by their names, if their types fit: (pointer, pointer) or (pointer, pointer, length) to a number. Or
//! by that type and their shape. What compares floats of 128 bits is in [`quads`].

mod quads;
mod shape;

pub(super) use quads::Quads;

use anyhow::Result;
use wasmparser::ValType;

use super::probe::{Function, Probe, Site};
use crate::module::survey::Survey;
use crate::module::types::Values;
use crate::trace::{Comparer as Kind, Recorder, Recorders, tag};

pub(super) struct Comparer {
    recorder: u32,
    kind: Kind,
    /// The type of pointers and lengths.
    address: ValType,
    /// The parameter that says how many bytes are compared.
    length: Option<u32>,
}

impl Comparer {
    /// `None` if the function isn't one.
    pub(super) fn new(survey: &Survey<'_>, function: &Function<'_, '_>, recorders: Recorders) -> Option<Comparer> {
        let memory = survey.memory_types.first()?;
        let address = if memory.memory64 { ValType::I64 } else { ValType::I32 };
        let Values::Results(ty) = function.results else { return None };
        let ty = survey.types.get(ty as usize)?.as_ref()?;
        if !ty.params().iter().all(|&param| param == address) || !matches!(ty.results(), [ValType::I32 | ValType::I64])
        {
            return None;
        }
        let params = ty.params().len() as u32;
        let name = survey.names.get(function.index as usize)?.as_deref();
        let (kind, length) = match name.and_then(|name| named(name, params)) {
            Some(known) => known,
            None if params == 3 && shape::compares_bytes(function.body, params) => (Kind::SomeBytes, Some(2)),
            None if params == 2 && shape::compares_bytes(function.body, params) => (Kind::SomeStrings, None),
            None => return None,
        };
        Some(Comparer { recorder: recorders.index(Recorder::Bytes), kind, address, length })
    }
}

/// The function with a name and so many parameters, and which of them is the length.
fn named(name: &str, params: u32) -> Option<(Kind, Option<u32>)> {
    Some(match (name, params) {
        ("memcmp", 3) => (Kind::Memcmp, Some(2)),
        ("bcmp", 3) => (Kind::Bcmp, Some(2)),
        ("memmem", 4) => (Kind::Memmem, Some(3)),
        ("strcmp", 2) => (Kind::Strcmp, None),
        ("strncmp", 3) => (Kind::Strncmp, Some(2)),
        ("strcasecmp", 2) => (Kind::Strcasecmp, None),
        ("strncasecmp", 3) => (Kind::Strncasecmp, Some(2)),
        ("strstr", 2) => (Kind::Strstr, None),
        _ => return None,
    })
}

impl Probe for Comparer {
    fn enter(&mut self, site: &mut Site<'_, '_>) -> Result<()> {
        let tag = tag(site.at, self.kind as u8);
        // memmem has its second pointer behind the first one's length.
        let second = if self.kind == Kind::Memmem { 2 } else { 1 };
        let wide = self.address == ValType::I64;
        let mut code = site.code();
        for param in [Some(0), Some(second), self.length] {
            match param {
                Some(param) if wide => code.local_get(param),
                Some(param) => code.local_get(param).i64_extend_i32_u(),
                None => code.i64_const(-1),
            };
        }
        code.i32_const(tag).call(self.recorder);
        Ok(())
    }
}
