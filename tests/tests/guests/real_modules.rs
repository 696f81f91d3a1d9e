//! Modules that other people built are rewritten in every variant: the three smallest downloads of `xtask modules`.

use anyhow::{Context as _, Result};
use fuzzbox_instrument::{instrument, output_features};
use fuzzbox_tests::modules;
use wasmparser::Validator;

#[test]
fn small_modules_from_npm_are_valid_in_every_variant() -> Result<()> {
    for name in ["source-map", "oniguruma", "dprint-json"] {
        let wasm = std::fs::read(modules::provide(name)?)?;
        for (variant, options) in modules::variants() {
            let new = instrument(&wasm, &options).with_context(|| format!("{name}, {variant}"))?;
            Validator::new_with_features(output_features())
                .validate_all(&new.wasm)
                .with_context(|| format!("{name}, {variant}"))?;
            assert!(new.edges.edges.len() > 1000, "{name}, {variant}");
        }
    }
    Ok(())
}
