//! Generated modules.

use super::Random;
use arbitrary::Unstructured;
use wasm_smith::InstructionKind::{Aggregate, Control, Parametric, Reference, Table, Variable};
use wasm_smith::{Config, InstructionKinds};

/// Functions and loop heads after which a generated module stops itself.
const STEPS_MAX: u32 = 2_000;

/// Generates a module, as valid as possible and using all features, from a seed.
pub(crate) fn generate(random: &mut Random) -> Option<Vec<u8>> {
    generate_as(random, |_| ())
}

/// As [`generate`], after `adjust` has changed what is generated.
pub(crate) fn generate_as(random: &mut Random, adjust: impl FnOnce(&mut Config)) -> Option<Vec<u8>> {
    let mut config = Config {
        export_everything: true,
        compact_imports_enabled: false, // unknown to wasmtime 48
        custom_page_sizes_enabled: true,
        threads_enabled: random.below(4) == 0,
        allow_start_export: random.below(4) == 0,
        disallow_traps: random.below(2) == 0,
        allowed_instructions: match random.below(2) {
            0 => InstructionKinds::all(),
            _ => InstructionKinds::new(&[Control, Parametric, Variable, Reference, Aggregate, Table]),
        },
        max_types: 12,
        max_imports: 4,
        max_globals: 6,
        max_data_segments: 4,
        max_element_segments: 4,
        max_elements: 6,
        max_tags: 3,
        max_values: 4,
        max_funcs: 12,
        max_memories: 3,
        max_memory32_bytes: 20 << 16,
        max_memory64_bytes: 20 << 16,
        max_tables: 4,
        max_table_elements: 1_000,
        min_funcs: 4,
        max_instructions: 400,
        max_nesting_depth: 20,
        ..Config::default()
    };
    adjust(&mut config);
    let bytes: Vec<u8> = (0..2_000 + random.below(30_000)).map(|_| random.next() as u8).collect();
    let mut module = wasm_smith::Module::new(config, &mut Unstructured::new(&bytes)).ok()?;
    module.ensure_termination(STEPS_MAX).ok()?;
    Some(module.to_bytes()).filter(|wasm| !waits(wasm))
}

/// Whether a module may wait for a notification, which nobody sends.
fn waits(wasm: &[u8]) -> bool {
    use wasmparser::Operator::{MemoryAtomicWait32, MemoryAtomicWait64};
    wasmparser::Parser::new(0).parse_all(wasm).any(|payload| match payload.unwrap() {
        wasmparser::Payload::CodeSectionEntry(body) => {
            let mut operators = body.get_operators_reader().unwrap().into_iter();
            operators.any(|operator| matches!(operator.unwrap(), MemoryAtomicWait32 { .. } | MemoryAtomicWait64 { .. }))
        }
        _ => false,
    })
}
