//! Which blocks of a function are others than in an older build.

use std::collections::BTreeMap;

use wasmparser::{BinaryReader, Operator, OperatorsReader};

use crate::cfg::{BlockKind, Cfg};

/// Constants from here on may be addresses, which a linker gives.
const ADDRESS_MIN: u32 = 1024;

/// The blocks of `new` that `old` doesn't have as often, by their operators; each graph with the module that it is of.
/// What linkers number is left out; where nothing differs then, constants count that may be addresses; and where that
/// is nothing, too, all blocks are given.
pub fn changed_blocks(old: (&[u8], &Cfg), new: (&[u8], &Cfg)) -> Vec<u32> {
    let differ = |addresses: bool| -> Vec<u32> {
        let mut there: BTreeMap<String, usize> = BTreeMap::new();
        for code in codes(old, addresses).into_values() {
            *there.entry(code).or_default() += 1;
        }
        let is_new = |code: &String| match there.get_mut(code).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                false
            }
            None => true,
        };
        let mut is_new = is_new;
        codes(new, addresses).into_iter().filter(|(_, code)| is_new(code)).map(|(block, _)| block).collect()
    };
    [differ(false), differ(true)].into_iter().find(|found| !found.is_empty()).unwrap_or_else(|| {
        let blocks = (0..).zip(new.1.blocks());
        blocks.filter(|(_, block)| block.kind == BlockKind::Code).map(|(number, _)| number).collect()
    })
}

/// What the blocks with code execute, as text.
fn codes((wasm, cfg): (&[u8], &Cfg), addresses: bool) -> BTreeMap<u32, String> {
    let mut codes = BTreeMap::new();
    for (operator, at) in body(wasm, cfg) {
        if let Some(block) = cfg.block_at(at as u32) {
            codes.entry(block).or_insert_with(String::new).push_str(&code(&operator, addresses));
        }
    }
    codes
}

/// An operator as text, without what a linker gives.
fn code(operator: &Operator<'_>, addresses: bool) -> String {
    use Operator as O;
    let may_be_address = |value: i64| value >= i64::from(ADDRESS_MIN) && !addresses;
    match *operator {
        O::Call { .. } => "call;".to_owned(),
        O::ReturnCall { .. } => "return_call;".to_owned(),
        O::CallIndirect { .. } => "call_indirect;".to_owned(),
        O::ReturnCallIndirect { .. } => "return_call_indirect;".to_owned(),
        O::GlobalGet { .. } => "global.get;".to_owned(),
        O::GlobalSet { .. } => "global.set;".to_owned(),
        O::RefFunc { .. } => "ref.func;".to_owned(),
        O::I32Const { value } if may_be_address(value.into()) => "i32.const;".to_owned(),
        O::I64Const { value } if may_be_address(value) => "i64.const;".to_owned(),
        _ => format!("{operator:?};"),
    }
}

/// Where the operators of a function are, in the module that its graph is of.
pub fn operators(wasm: &[u8], cfg: &Cfg) -> Vec<u32> {
    body(wasm, cfg).map(|(_, at)| at as u32).collect()
}

/// The operators of a function.
fn body<'w>(wasm: &'w [u8], cfg: &Cfg) -> impl Iterator<Item = (Operator<'w>, u64)> {
    let (start, end) = (cfg.blocks()[Cfg::ENTRY as usize].start, cfg.blocks()[Cfg::EXIT as usize].start);
    let body = wasm.get(start as usize..end as usize).unwrap_or_default();
    OperatorsReader::new(BinaryReader::new(body, u64::from(start))).into_iter_with_offsets().map_while(Result::ok)
}
