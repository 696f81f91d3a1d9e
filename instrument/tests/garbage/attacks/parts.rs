//! How hostile modules are put together.

use wasm_encoder::*;

pub(super) const MUTABLE: GlobalType = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
pub(super) const MEMORY: MemoryType =
    MemoryType { minimum: 0, maximum: None, memory64: false, shared: false, page_size_log2: None };
pub(super) const TABLE: TableType =
    TableType { element_type: RefType::FUNCREF, table64: false, minimum: 0, maximum: None, shared: false };
pub(super) const CELL: MemArg = MemArg { offset: 0, align: 2, target: MemArgTarget::Memory(0), ordering: None };
/// The type of an exception without values.
pub(super) const TAG: TagType = TagType { kind: TagKind::Exception, func_type_idx: 0 };

/// The parts of a module. Type 0 is `[] -> []`, type 1 `[i32 funcref] -> []`.
pub(super) struct Parts {
    type_count: u32,
    types: TypeSection,
    pub(super) imports: ImportSection,
    functions: FunctionSection,
    pub(super) tables: TableSection,
    pub(super) memories: MemorySection,
    pub(super) tags: TagSection,
    pub(super) globals: GlobalSection,
    pub(super) exports: ExportSection,
    pub(super) elements: ElementSection,
    code: CodeSection,
    pub(super) data: DataSection,
    /// Comes last.
    pub(super) names: NameSection,
}

impl Parts {
    pub(super) fn new() -> Parts {
        let mut parts = Parts {
            type_count: 0,
            types: TypeSection::new(),
            imports: ImportSection::new(),
            functions: FunctionSection::new(),
            tables: TableSection::new(),
            memories: MemorySection::new(),
            tags: TagSection::new(),
            globals: GlobalSection::new(),
            exports: ExportSection::new(),
            elements: ElementSection::new(),
            code: CodeSection::new(),
            data: DataSection::new(),
            names: NameSection::new(),
        };
        parts.ty(&[], &[]);
        parts.ty(&[ValType::I32, ValType::FUNCREF], &[]);
        parts
    }

    /// Adds a function type; gives its index.
    pub(super) fn ty(&mut self, params: &[ValType], results: &[ValType]) -> u32 {
        self.types.ty().function(params.iter().copied(), results.iter().copied());
        self.type_count += 1;
        self.type_count - 1
    }

    /// Adds a type of structs; gives its index.
    pub(super) fn structure(&mut self) -> u32 {
        let field = FieldType { element_type: StorageType::I8, mutable: true };
        self.types.ty().struct_(vec![field; (self.type_count % 50) as usize]);
        self.type_count += 1;
        self.type_count - 1
    }

    pub(super) fn function(
        &mut self,
        ty: u32,
        locals: &[(u32, ValType)],
        write: impl FnOnce(&mut InstructionSink<'_>),
    ) {
        self.functions.function(ty);
        let mut body = Function::new(locals.iter().copied());
        write(&mut body.instructions());
        body.instructions().end();
        self.code.function(&body);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        let mut module = Module::new();
        module.section(&self.types).section(&self.imports).section(&self.functions).section(&self.tables);
        module.section(&self.memories).section(&self.tags).section(&self.globals).section(&self.exports);
        module.section(&self.elements).section(&DataCountSection { count: self.data.len() });
        module.section(&self.code).section(&self.data).section(&self.names);
        module.finish()
    }
}

/// A module with one function, and many of something.
pub(super) fn entries(count: usize, mut add: impl FnMut(&mut Parts, usize)) -> Vec<u8> {
    let mut module = Parts::new();
    module.function(0, &[], |_| {});
    (0..count).for_each(|number| add(&mut module, number));
    module.finish()
}

/// A module with a function that has an `i32` in its first local and a `funcref` in its second; beside it a function 0
/// that does nothing, a memory, a table, a data segment, and a tag.
pub(super) fn code(locals: &[(u32, ValType)], write: impl FnOnce(&mut InstructionSink<'_>)) -> Vec<u8> {
    let mut module = Parts::new();
    module.memories.memory(MemoryType { minimum: 1, maximum: Some(1), shared: true, ..MEMORY });
    module.tables.table(TABLE);
    module.data.passive([]);
    module.tags.tag(TAG);
    module.function(0, &[], |_| {});
    module.function(1, locals, write);
    module.finish()
}

/// Writes the same operators again and again.
pub(super) fn repeat<'b>(
    code: &mut InstructionSink<'b>,
    count: usize,
    write: impl for<'c> Fn(&'c mut InstructionSink<'b>) -> &'c mut InstructionSink<'b>,
) {
    for _ in 0..count {
        write(code);
    }
}

/// Such a module that repeats operators which leave what they take.
pub(super) fn operators(
    count: usize,
    write: impl for<'c, 'b> Fn(&'c mut InstructionSink<'b>) -> &'c mut InstructionSink<'b>,
) -> Vec<u8> {
    code(&[], |code| repeat(code, count, &write))
}

/// The same, for operators that need an `i32` on the stack and leave one.
pub(super) fn with_i32(
    count: usize,
    write: impl for<'c, 'b> Fn(&'c mut InstructionSink<'b>) -> &'c mut InstructionSink<'b>,
) -> Vec<u8> {
    code(&[], |code| {
        code.local_get(0);
        repeat(code, count, &write);
        code.drop();
    })
}

/// Such a module with blocks in each other.
pub(super) fn nested(
    count: usize,
    open: impl for<'c, 'b> Fn(&'c mut InstructionSink<'b>) -> &'c mut InstructionSink<'b>,
) -> Vec<u8> {
    code(&[], |code| {
        repeat(code, count, &open);
        repeat(code, count, |code| code.end());
    })
}

/// The bits of a number as types.
pub(super) fn bits(number: usize, count: usize) -> Vec<ValType> {
    (0..count).map(|bit| if number >> (bit % 16) & 1 == 0 { ValType::I32 } else { ValType::I64 }).collect()
}
