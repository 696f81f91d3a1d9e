//! Low stores: stops before a write below the address at which a C program's data begins.
//!
//! ```wat
//! local.get 0          local.get 0
//! local.get 1          local.get 1
//!                      local.set $value
//!                      local.tee $address
//!                      i32.const 1012           ;; 1024 less the offset
//!                      i32.lt_u
//!                      if, flag, unreachable, end
//!                      local.get $address
//!                      local.get $value
//! i32.store offset=12  i32.store offset=12
//! ```
//!
//! Addresses are unsigned and don't wrap: a store with a larger offset is never so low. `memory.fill`, `memory.copy`
//! and `memory.init` stop by where they begin to write, if they write at all; this comes before what else would make
//! them fail. A function that has as many locals as there may be has no room for the operands, and its writes are not
//! looked at.

use anyhow::Result;
use wasmparser::{MemArg, MemArgTarget, Operator, ValType};

use super::probe::{Probe, Site};
use crate::layout::Flag;
use crate::module::access::store;
use crate::module::low::DATA_START;

pub(super) struct LowStores;

impl Probe for LowStores {
    fn before(&mut self, operator: &Operator<'_>, site: &mut Site<'_, '_>) -> Result<()> {
        use Operator as O;
        use ValType::{I32, I64};
        let wide = |memory: u32| site.survey.memory_types.get(memory as usize).is_some_and(|memory| memory.memory64);
        match operator {
            _ if !site.live => Ok(()),
            O::MemoryFill { mem: 0 } | O::MemoryInit { mem: 0, .. } => check(0, &[I32, I32], true, site),
            // The length is as wide as the narrower of both addresses.
            O::MemoryCopy { dst_mem: 0, src_mem } if wide(*src_mem) => check(0, &[I64, I32], true, site),
            O::MemoryCopy { dst_mem: 0, .. } => check(0, &[I32, I32], true, site),
            _ => match store(operator) {
                Some((&MemArg { target: MemArgTarget::Memory(0), offset, .. }, above)) => {
                    let low = u32::try_from(offset).ok().filter(|&offset| offset < DATA_START);
                    low.map_or(Ok(()), |offset| check(offset, above, false, site))
                }
                _ => Ok(()),
            },
        }
    }
}

/// Stops if the address that lies below operands of these types is too low, and if `bulk`, the last of these is not 0.
fn check(offset: u32, above: &[ValType], bulk: bool, site: &mut Site<'_, '_>) -> Result<()> {
    let types = [ValType::I32].iter().chain(above);
    let Ok(locals) = (0..).zip(types).map(|(number, &ty)| site.scratch(ty, number)).collect::<Result<Vec<u32>>>()
    else {
        return Ok(());
    };
    let (address, above) = (locals[0], &locals[1..]);
    let mut code = site.code();
    for &local in above.iter().rev() {
        code.local_set(local);
    }
    code.local_tee(address).i32_const((DATA_START - offset).cast_signed()).i32_lt_u();
    if let (true, Some(&length)) = (bulk, above.last()) {
        code.local_get(length).i32_const(0).i32_ne().i32_and();
    }
    code.stop_if(Flag::LowStore);
    code.local_get(address);
    for &local in above {
        code.local_get(local);
    }
    Ok(())
}
