//! Rewrites wasm modules.
