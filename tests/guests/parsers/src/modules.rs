//! Modules and components.

use crate::dictionary::Dictionary;
use crate::lines::look_up;
use crate::symbols::{DebugInfo, Symbols};
use fuzzbox_instrument::identity::{Identity, diff};
use fuzzbox_instrument::{
    Cfgs, Options, component_features, custom_sections, instrument, instrument_component, is_component, link_component,
    output_features, strip_custom_sections, translate_legacy_exceptions,
};
use wasmparser::{Validator, WasmFeatures};

/// A module whose code other things are said about.
pub(crate) const LINES: &[u8] = include_bytes!("../../../../host/tests/data/lines.wasm");

/// A module without its custom sections.
pub(crate) fn bare(module: &[u8]) -> Vec<u8> {
    strip_custom_sections(module).expect("it is one of ours")
}

/// Appends a custom section.
pub(crate) fn add_custom(module: &mut Vec<u8>, name: &str, content: &[u8]) {
    let mut section = Vec::new();
    leb(&mut section, name.len());
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(content);
    module.push(0);
    leb(module, section.len());
    module.extend(section);
}

fn leb(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Makes what is made once in a process.
pub(crate) fn warm_up() {
    let guest = r#"(module (import "fuzzbox_v1" "draw_uint" (func $draw (param i64 i64 i64) (result i64))) (memory 1)
        (func (export "fbx_test") (drop (call $draw (i64.const 0) (i64.const 9) (i64.const 0)))))"#;
    text(guest.as_bytes());
    module(LINES);
}

/// Rewrites a module in all variants; those that are accepted become valid.
pub(crate) fn rewrite(module: &[u8]) -> bool {
    let variants =
        [Options::default(), Options::full(), Options::fast((0..64).step_by(3).collect()), Options::traced()];
    let mut accepted = false;
    for options in variants {
        if let Ok(rewritten) = instrument(module, &options) {
            valid(&rewritten.wasm, output_features());
            accepted = true;
        }
    }
    accepted
}

fn valid(wasm: &[u8], features: WasmFeatures) {
    Validator::new_with_features(features).validate_all(wasm).expect("what is rewritten is valid");
}

pub(crate) fn module(data: &[u8]) {
    let _ = Dictionary::default().with_constants_of(data);
    let _ = DebugInfo::parse(data);
    for (name, _) in custom_sections(data) {
        assert!(name.len() <= data.len());
    }
    if let Ok(stripped) = strip_custom_sections(data) {
        assert!(custom_sections(&stripped).next().is_none());
    }
    look_up(&Symbols::new(data, |_| None));
    if let Ok(translated) = translate_legacy_exceptions(data) {
        rewrite(&translated.wasm);
    }
    if !rewrite(data) {
        return;
    }
    if let Ok(identity) = Identity::of(data) {
        diff(&identity, &identity);
    }
    if let Ok(graphs) = Cfgs::new(data) {
        let functions = graphs.names().len() as u32;
        if let Ok(graph) = graphs.function(functions.saturating_sub(1)) {
            let trees = (graph.dominators(), graph.post_dominators());
            std::hint::black_box((trees, graph.loops(), graph.control_dependence(), graph.endless()));
        }
    }
}

pub(crate) fn text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(binary) = wat::parse_str(text) {
        rewrite(&binary);
    }
}

pub(crate) fn component(data: &[u8]) {
    // As the command reads files.
    let Ok(binary) = wat::parse_bytes(data) else { return };
    if !is_component(&binary) {
        return;
    }
    if let Ok(linked) = link_component(&binary) {
        valid(&linked.wasm, output_features());
        rewrite(&linked.wasm);
    }
    if let Ok(rewritten) = instrument_component(&binary, &Options::default()) {
        valid(&rewritten.wasm, component_features());
    }
}
