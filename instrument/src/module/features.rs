//! What is accepted: the features that modules and components may use.

use wasmparser::WasmFeatures;

/// What we accept: what wasmtime 48 can run, and legacy exceptions. All of WebAssembly 3.0 with threads, wide
/// arithmetic and custom page sizes; no stack switching, components or shared-everything threads.
pub fn features() -> WasmFeatures {
    output_features() | WasmFeatures::LEGACY_EXCEPTIONS
}

/// What rewritten modules use at most: [`features`] without legacy exceptions, which no longer occur in them.
///
/// They need [`WasmFeatures::MULTI_MEMORY`] and [`WasmFeatures::MULTI_VALUE`] whether the original did or not, and
/// [`WasmFeatures::EXCEPTIONS`] if it used legacy exceptions.
pub fn output_features() -> WasmFeatures {
    WasmFeatures::WASM3 | WasmFeatures::CUSTOM_PAGE_SIZES | WasmFeatures::WIDE_ARITHMETIC
}

/// The features that components may use: those of the component model that wasmtime 48 has, and [`features`] in their
/// core modules.
pub fn component_features() -> WasmFeatures {
    features()
        | WasmFeatures::COMPONENT_MODEL
        | WasmFeatures::CM_ASYNC
        | WasmFeatures::CM_ASYNC_STACKFUL
        | WasmFeatures::CM_MORE_ASYNC_BUILTINS
        | WasmFeatures::CM_THREADING
        | WasmFeatures::CM_ERROR_CONTEXT
        | WasmFeatures::CM_FIXED_LENGTH_LISTS
        | WasmFeatures::CM_GC
        | WasmFeatures::CM_MAP
        | WasmFeatures::CM64
        | WasmFeatures::CM_IMPLEMENTS
}

/// What comes before the validator's message.
pub(crate) const INVALID: &str = "is not valid wasm";
