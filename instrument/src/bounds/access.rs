//! What an operator loads or stores, and where its address lies on the stack.

use wasmparser::{MemArg, MemArgTarget, Operator, ValType};

use crate::probes::store;

/// An operator that loads or stores.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) memarg: MemArg,
    /// The types of what lies above the address.
    pub(crate) above: &'static [ValType],
}

impl Access {
    /// `None` if it doesn't.
    pub(crate) fn of(operator: &Operator<'_>) -> Option<Access> {
        use ValType::{I32, I64, V128};
        let memarg = memarg(operator)?;
        let above: &[ValType] = match operator {
            Operator::V128Load8Lane { .. }
            | Operator::V128Load16Lane { .. }
            | Operator::V128Load32Lane { .. }
            | Operator::V128Load64Lane { .. } => &[V128],
            Operator::MemoryAtomicNotify { .. } => &[I32],
            Operator::MemoryAtomicWait32 { .. } => &[I32, I64],
            Operator::MemoryAtomicWait64 { .. } => &[I64, I64],
            _ => store(operator).map_or(&[], |(_, above)| above),
        };
        Some(Access { memarg, above })
    }

    /// The memory; `None` if it is no memory.
    pub(crate) fn memory(&self) -> Option<u32> {
        match self.memarg.target {
            MemArgTarget::Memory(memory) => Some(memory),
            MemArgTarget::Array(_) => None,
        }
    }

    /// How many bytes there are.
    pub(crate) fn width(&self) -> u64 {
        1 << self.memarg.max_align
    }
}

macro_rules! define_memarg {
    ($(@$proposal:ident $op:ident $({ $($field:ident: $type:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
        /// Where an operator loads or stores, if it does.
        #[allow(unused_variables)]
        pub(crate) fn memarg(operator: &Operator<'_>) -> Option<MemArg> {
            match operator {
                $(Operator::$op $({ $($field),* })? => define_memarg!(@of $($($field $field)*)?),)*
                _ => None,
            }
        }
    };
    (@of $field:ident memarg $($rest:ident)*) => { Some(*$field) };
    (@of $($rest:ident)*) => { None };
}

wasmparser::for_each_operator!(define_memarg);
