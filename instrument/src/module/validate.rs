//! Validates what was written.

use anyhow::Result;
use wasmparser::{Parser, Payload, ValidPayload, Validator};

use super::bodies::{BATCH_BYTES, BATCH_FUNCTIONS, for_each_body};
use super::features::output_features;

/// Validates a module, its functions in parallel, some at a time.
pub(crate) fn validate(wasm: &[u8]) -> Result<()> {
    let mut validator = Validator::new_with_features(output_features());
    let mut functions = Vec::new();
    let mut bytes = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let ended = matches!(payload, Payload::End(_));
        if let ValidPayload::Func(function, body) = validator.payload(&payload)? {
            bytes += (body.range().end - body.range().start) as usize;
            functions.push((function, body));
        }
        if ended || bytes > BATCH_BYTES || functions.len() > BATCH_FUNCTIONS {
            for_each_body(std::mem::take(&mut functions), |validator, body| Ok(validator.validate(body)?))?;
            bytes = 0;
        }
    }
    Ok(())
}
