//! Random programs before linking, and a linker that puts their parts in any order.

mod relink;

pub(crate) use relink::relink;

use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, ImportSection, MemArg, MemArgTarget, MemorySection, MemoryType, Module,
    NameMap, NameSection, RefType, TableSection, TableType, TypeSection, ValType,
};

/// A reproducible source of numbers (xorshift*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    /// The numbers below `count`, in any order.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for end in (1..count).rev() {
            order.swap(end, self.below(end as u64 + 1) as usize);
        }
        order
    }
}

/// Code and data that refer to each other by number, not by address.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) functions: Vec<Vec<Op>>,
    pub(crate) objects: Vec<Object>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    Number(i32),
    /// The address of an object.
    Address(usize),
    /// Reads an object; its address is the instruction's offset if that is so, else a constant.
    Load(usize, bool),
    /// A function's place in the table.
    Place(usize),
    Call(usize),
    /// `if` with the operators inside.
    If(Vec<Op>),
    StackPointer,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Object {
    Text(Vec<u8>),
    /// Pointers to objects, and functions' places.
    Table(Vec<usize>, Vec<usize>),
    /// Nothing but zeros at the start: so many words.
    Zero(usize),
}

impl Program {
    pub(crate) fn random(random: &mut Random) -> Program {
        let (functions, objects) = (3 + random.below(10) as usize, 2 + random.below(12) as usize);
        let mut program = Program { functions: Vec::new(), objects: Vec::new() };
        for number in 0..objects {
            program.objects.push(match random.below(4) {
                0 | 1 => {
                    let mut text = format!("object {number}: ").into_bytes();
                    text.extend((0..random.below(20)).map(|_| b'a' + random.below(26) as u8));
                    text.push(0);
                    Object::Text(text)
                }
                2 => Object::Table(
                    (0..1 + random.below(3)).map(|_| random.below(objects as u64) as usize).collect(),
                    (0..random.below(3)).map(|_| random.below(functions as u64) as usize).collect(),
                ),
                _ => Object::Zero(1 + random.below(4) as usize),
            });
        }
        for number in 0..functions {
            // Without names, functions are told apart by something that is only theirs.
            let mut ops = vec![Op::Number(0x4000_0000 + number as i32)];
            ops.extend((0..2 + random.below(12)).map(|_| program.op(random, functions, 2)));
            program.functions.push(ops);
        }
        // Everything is used by somebody: what nobody uses is not linked.
        for object in 0..objects {
            let user = random.below(functions as u64) as usize;
            program.functions[user].push(Op::Load(object, random.below(2) == 0));
        }
        program
    }

    fn op(&self, random: &mut Random, functions: usize, depth: u32) -> Op {
        let object = random.below(self.objects.len() as u64) as usize;
        let function = random.below(functions as u64) as usize;
        match random.below(8) {
            // Among them are numbers that could as well be addresses or places in the table.
            0 => Op::Number(random.below(1 << 16) as i32),
            1 => Op::Number(random.below(8) as i32),
            2 => Op::Address(object),
            3 => Op::Load(object, random.below(2) == 0),
            4 => Op::Place(function),
            5 => Op::Call(function),
            6 if depth > 0 => Op::If((0..1 + random.below(3)).map(|_| self.op(random, functions, depth - 1)).collect()),
            _ => Op::StackPointer,
        }
    }

    /// Changes a number of one function, and returns which.
    pub(crate) fn change_a_number(&mut self, random: &mut Random) -> usize {
        let function = random.below(self.functions.len() as u64) as usize;
        let Op::Number(number) = &mut self.functions[function][0] else { unreachable!("it starts with a number") };
        *number += 0x1000_0000;
        function
    }

    /// Changes a byte of a text that a function uses, and returns which text.
    pub(crate) fn change_a_text(&mut self, random: &mut Random) -> Option<usize> {
        let texts = (0..self.objects.len()).filter(|&object| matches!(self.objects[object], Object::Text(_)));
        let texts: Vec<_> = texts.collect();
        let &object = texts.get(random.below(texts.len().max(1) as u64) as usize)?;
        if let Object::Text(text) = &mut self.objects[object] {
            text[1] = b'#';
        }
        Some(object)
    }

    /// The functions that use an object.
    pub(crate) fn users_of(&self, object: usize) -> impl Iterator<Item = usize> {
        fn uses(ops: &[Op], object: usize) -> bool {
            ops.iter().any(|op| match op {
                Op::Address(used) | Op::Load(used, _) => *used == object,
                Op::If(ops) => uses(ops, object),
                _ => false,
            })
        }
        self.functions.iter().enumerate().filter(move |(_, ops)| uses(ops, object)).map(|(function, _)| function)
    }
}

/// Where everything goes.
pub(crate) struct Layout {
    /// Functions in the order of their indices.
    functions: Vec<usize>,
    /// Functions in the order of their places in the table, the first of which is empty.
    places: Vec<usize>,
    /// Addresses of objects.
    addresses: Vec<u32>,
    /// Types, globals and table places that nothing uses come first.
    unused: u32,
    names: bool,
}

/// Where data begins.
const DATA: u32 = 4096;

impl Layout {
    /// Any order for functions, their places and the objects with content; those without keep their order, as linkers
    /// do, and are somewhere behind.
    pub(crate) fn random(program: &Program, random: &mut Random, names: bool) -> Layout {
        let functions = random.order(program.functions.len());
        let places = random.order(program.functions.len());
        let mut addresses = vec![0; program.objects.len()];
        let mut end = DATA + 8 * random.below(50) as u32;
        let is_zero = |object: &usize| matches!(program.objects[*object], Object::Zero(_));
        let order = random.order(program.objects.len());
        let zeros: Vec<usize> = (0..program.objects.len()).filter(is_zero).collect();
        for object in order.into_iter().filter(|object| !is_zero(object)) {
            addresses[object] = end;
            end = (end + program.objects[object].bytes()).next_multiple_of(4);
        }
        end = (end + 8 * random.below(20) as u32).next_multiple_of(16);
        for object in zeros {
            addresses[object] = end;
            end += program.objects[object].bytes();
        }
        Layout { functions, places, addresses, unused: random.below(5) as u32, names }
    }

    /// Which function has this index.
    pub(crate) fn function_at(&self, index: u32) -> usize {
        self.functions[index as usize - 1]
    }

    /// The index of a function; 0 is imported.
    pub(crate) fn index_of(&self, function: usize) -> u32 {
        self.functions.iter().position(|&other| other == function).unwrap() as u32 + 1
    }

    fn place_of(&self, function: usize) -> u32 {
        self.places.iter().position(|&other| other == function).unwrap() as u32 + 1 + self.unused
    }
}

impl Object {
    fn bytes(&self) -> u32 {
        match self {
            Object::Text(text) => text.len() as u32,
            Object::Table(objects, functions) => 4 * (objects.len() + functions.len()) as u32,
            Object::Zero(words) => 4 * *words as u32,
        }
    }
}

impl Program {
    /// Makes a module of the program.
    pub(crate) fn link(&self, layout: &Layout) -> Vec<u8> {
        let mut module = Module::new();
        let mut types = TypeSection::new();
        (0..layout.unused).for_each(|_| types.ty().function([ValType::F32], []));
        types.ty().function([], []);
        module.section(&types);
        let mut imports = ImportSection::new();
        imports.import("env", "take", EntityType::Function(layout.unused));
        module.section(&imports);
        let mut functions = FunctionSection::new();
        layout.functions.iter().for_each(|_| _ = functions.function(layout.unused));
        module.section(&functions);
        let size = self.functions.len() as u64 + 1 + u64::from(layout.unused);
        let table =
            TableType { element_type: RefType::FUNCREF, table64: false, minimum: size, maximum: None, shared: false };
        module.section(TableSection::new().table(table));
        let memory = MemoryType { minimum: 2, maximum: None, memory64: false, shared: false, page_size_log2: None };
        module.section(MemorySection::new().memory(memory));
        let mut globals = GlobalSection::new();
        let ty = |val_type, mutable| GlobalType { val_type, mutable, shared: false };
        for _ in 0..layout.unused {
            globals.global(ty(ValType::I64, false), &ConstExpr::i64_const(7));
        }
        globals.global(ty(ValType::I32, true), &ConstExpr::i32_const(DATA as i32));
        module.section(&globals);
        module.section(ExportSection::new().export("memory", ExportKind::Memory, 0));
        let placed: Vec<u32> = layout.places.iter().map(|&function| layout.index_of(function)).collect();
        let start = ConstExpr::i32_const(1 + layout.unused as i32);
        module.section(ElementSection::new().active(None, &start, Elements::Functions(placed.into())));
        let mut code = CodeSection::new();
        for &function in &layout.functions {
            let mut body = Function::new([]);
            self.write(&mut body, &self.functions[function], layout);
            body.instructions().end();
            code.function(&body);
        }
        module.section(&code);
        module.section(&self.data(layout));
        if layout.names {
            let mut names = NameSection::new();
            let mut map = NameMap::new();
            map.append(0, "take");
            (1..)
                .zip(&layout.functions)
                .for_each(|(index, function)| map.append(index, &format!("function_{function}")));
            names.functions(&map);
            module.section(&names);
        }
        module.finish()
    }

    fn write(&self, body: &mut Function, ops: &[Op], layout: &Layout) {
        for op in ops {
            let mut code = body.instructions();
            match op {
                Op::Number(number) => _ = code.i32_const(*number).drop(),
                Op::Address(object) => _ = code.i32_const(layout.addresses[*object] as i32).drop(),
                Op::Load(object, as_offset) => {
                    let address = layout.addresses[*object];
                    let (base, offset) = if *as_offset { (0, address) } else { (address, 0) };
                    code.i32_const(base as i32);
                    code.i32_load8_u(MemArg {
                        offset: offset.into(),
                        align: 0,
                        target: MemArgTarget::Memory(0),
                        ordering: None,
                    })
                    .drop();
                }
                Op::Place(function) => _ = code.i32_const(layout.place_of(*function) as i32).drop(),
                Op::Call(function) => _ = code.call(layout.index_of(*function)),
                Op::StackPointer => _ = code.global_get(layout.unused).drop(),
                Op::If(inside) => {
                    code.i32_const(1).if_(wasm_encoder::BlockType::Empty);
                    self.write(body, inside, layout);
                    body.instructions().end();
                }
            }
        }
    }

    fn data(&self, layout: &Layout) -> DataSection {
        let mut data = DataSection::new();
        for (object, &address) in self.objects.iter().zip(&layout.addresses) {
            let bytes = match object {
                Object::Text(text) => text.clone(),
                Object::Table(objects, functions) => {
                    let objects = objects.iter().map(|&object| layout.addresses[object]);
                    let words = objects.chain(functions.iter().map(|&function| layout.place_of(function)));
                    words.flat_map(u32::to_le_bytes).collect()
                }
                Object::Zero(_) => continue,
            };
            data.active(0, &ConstExpr::i32_const(address as i32), bytes);
        }
        data
    }
}
