//! Whether a module leaves the lowest addresses free, as linkers of C do so that no object has the address 0.

use wasmparser::{ConstExpr, DataKind, DataSectionReader, GlobalSectionReader, Operator, Result, ValType};

/// Where these linkers put the first data.
pub(crate) const DATA_START: u32 = 1024;

/// What is found out about memory 0, section by section.
#[derive(Default)]
pub(crate) struct LowAddresses {
    /// What the first global that is a mutable `i32` and not imported is at first, if it is a constant.
    stack_pointer: Option<Option<u32>>,
    /// The lowest address at which data lies from the start; 0 if there is data at an address that is no constant.
    lowest_data: Option<u32>,
}

impl LowAddresses {
    pub(crate) fn globals(&mut self, section: GlobalSectionReader<'_>) -> Result<()> {
        for global in section {
            let global = global?;
            if global.ty.mutable && global.ty.content_type == ValType::I32 {
                self.stack_pointer.get_or_insert(constant(&global.init_expr));
            }
        }
        Ok(())
    }

    pub(crate) fn data(&mut self, section: DataSectionReader<'_>) -> Result<()> {
        for segment in section {
            let segment = segment?;
            if let DataKind::Active { memory_index: 0, offset_expr } = segment.kind
                && !segment.data.is_empty()
            {
                let offset = constant(&offset_expr).unwrap_or(0);
                self.lowest_data = Some(self.lowest_data.map_or(offset, |low| low.min(offset)));
            }
        }
        Ok(())
    }

    /// Whether data begins at [`DATA_START`], and the stack is not below it.
    pub(crate) fn are_free(&self) -> bool {
        self.lowest_data == Some(DATA_START) && self.stack_pointer.flatten().is_some_and(|top| top > DATA_START)
    }
}

/// What an expression gives, if it is one constant `i32`.
fn constant(expression: &ConstExpr<'_>) -> Option<u32> {
    let mut operators = expression.get_operators_reader().into_iter();
    match (operators.next(), operators.next(), operators.next()) {
        (Some(Ok(Operator::I32Const { value })), Some(Ok(Operator::End)), None) => Some(value.cast_unsigned()),
        _ => None,
    }
}
