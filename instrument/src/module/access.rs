//! What an operator loads or stores, and where its address lies on the stack.

use wasmparser::{MemArg, MemArgTarget, Operator, ValType};

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

/// Where an operator stores, and the types of what lies above the address.
pub(crate) fn store<'o>(operator: &'o Operator<'_>) -> Option<(&'o MemArg, &'static [ValType])> {
    use Operator as O;
    use ValType::{F32, F64, I32, I64, V128};
    Some(match operator {
        O::I32Store { memarg }
        | O::I32Store8 { memarg }
        | O::I32Store16 { memarg }
        | O::I32AtomicStore { memarg }
        | O::I32AtomicStore8 { memarg }
        | O::I32AtomicStore16 { memarg }
        | O::I32AtomicRmwAdd { memarg }
        | O::I32AtomicRmw8AddU { memarg }
        | O::I32AtomicRmw16AddU { memarg }
        | O::I32AtomicRmwSub { memarg }
        | O::I32AtomicRmw8SubU { memarg }
        | O::I32AtomicRmw16SubU { memarg }
        | O::I32AtomicRmwAnd { memarg }
        | O::I32AtomicRmw8AndU { memarg }
        | O::I32AtomicRmw16AndU { memarg }
        | O::I32AtomicRmwOr { memarg }
        | O::I32AtomicRmw8OrU { memarg }
        | O::I32AtomicRmw16OrU { memarg }
        | O::I32AtomicRmwXor { memarg }
        | O::I32AtomicRmw8XorU { memarg }
        | O::I32AtomicRmw16XorU { memarg }
        | O::I32AtomicRmwXchg { memarg }
        | O::I32AtomicRmw8XchgU { memarg }
        | O::I32AtomicRmw16XchgU { memarg } => (memarg, &[I32]),
        O::I64Store { memarg }
        | O::I64Store8 { memarg }
        | O::I64Store16 { memarg }
        | O::I64Store32 { memarg }
        | O::I64AtomicStore { memarg }
        | O::I64AtomicStore8 { memarg }
        | O::I64AtomicStore16 { memarg }
        | O::I64AtomicStore32 { memarg }
        | O::I64AtomicRmwAdd { memarg }
        | O::I64AtomicRmw8AddU { memarg }
        | O::I64AtomicRmw16AddU { memarg }
        | O::I64AtomicRmw32AddU { memarg }
        | O::I64AtomicRmwSub { memarg }
        | O::I64AtomicRmw8SubU { memarg }
        | O::I64AtomicRmw16SubU { memarg }
        | O::I64AtomicRmw32SubU { memarg }
        | O::I64AtomicRmwAnd { memarg }
        | O::I64AtomicRmw8AndU { memarg }
        | O::I64AtomicRmw16AndU { memarg }
        | O::I64AtomicRmw32AndU { memarg }
        | O::I64AtomicRmwOr { memarg }
        | O::I64AtomicRmw8OrU { memarg }
        | O::I64AtomicRmw16OrU { memarg }
        | O::I64AtomicRmw32OrU { memarg }
        | O::I64AtomicRmwXor { memarg }
        | O::I64AtomicRmw8XorU { memarg }
        | O::I64AtomicRmw16XorU { memarg }
        | O::I64AtomicRmw32XorU { memarg }
        | O::I64AtomicRmwXchg { memarg }
        | O::I64AtomicRmw8XchgU { memarg }
        | O::I64AtomicRmw16XchgU { memarg }
        | O::I64AtomicRmw32XchgU { memarg } => (memarg, &[I64]),
        O::I32AtomicRmwCmpxchg { memarg }
        | O::I32AtomicRmw8CmpxchgU { memarg }
        | O::I32AtomicRmw16CmpxchgU { memarg } => (memarg, &[I32, I32]),
        O::I64AtomicRmwCmpxchg { memarg }
        | O::I64AtomicRmw8CmpxchgU { memarg }
        | O::I64AtomicRmw16CmpxchgU { memarg }
        | O::I64AtomicRmw32CmpxchgU { memarg } => (memarg, &[I64, I64]),
        O::F32Store { memarg } => (memarg, &[F32]),
        O::F64Store { memarg } => (memarg, &[F64]),
        O::V128Store { memarg }
        | O::V128Store8Lane { memarg, .. }
        | O::V128Store16Lane { memarg, .. }
        | O::V128Store32Lane { memarg, .. }
        | O::V128Store64Lane { memarg, .. } => (memarg, &[V128]),
        _ => return None,
    })
}
