//! Records of failures.

use crate::report::Symbols;
use crate::sandbox::{Outcome, Target};
use crate::store::{FindingRecord, InputId, Store};
use anyhow::{Context, Result};

/// The record of a failure, as if no campaign had found it.
pub(super) fn new_record(
    store: &Store,
    name: &str,
    target: &Target,
    symbols: &Symbols,
    outcome: &Outcome,
    signature: &str,
    input: &[u8],
) -> Result<FindingRecord> {
    let module_object = store.add_module(name, target.id, &target.file).context("failed to store the module")?;
    let id = InputId::of(input);
    Ok(FindingRecord {
        v: FindingRecord::VERSION,
        id: target.result_id(id),
        target: name.to_owned(),
        module: target.id,
        module_object,
        input: id,
        input_bytes: input.len() as u64,
        kind: outcome.name().to_owned(),
        signature: signature.to_owned(),
        frames: outcome.trap().map_or_else(Vec::new, |trap| symbols.resolve(&trap.frames)),
        settings: serde_json::to_value(&target.settings)?,
        found_at_execs: 0,
        seed: 0,
        engine: concat!("fuzzbox ", env!("CARGO_PKG_VERSION")).to_owned(),
        former: Vec::new(),
    })
}
