//! Components: the core modules inside are rewritten, all else stays byte for byte.

use fuzzbox_instrument::{InstrumentedComponent, Options, component_features, instrument, instrument_component};
use wasm_encoder::{RawSection, Section as _};
use wasmparser::{Parser, Payload, Validator};

/// How modules are rewritten.
fn variants() -> Vec<Options> {
    vec![Options::full(), Options::fast((0..1 << 16).step_by(5).collect()), Options::traced()]
}

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Rewrites a component and checks what holds for all.
fn rewritten(original: &[u8], options: &Options) -> InstrumentedComponent {
    let new = instrument_component(original, options).unwrap_or_else(|error| panic!("{error:#}"));
    Validator::new_with_features(component_features()).validate_all(&new.wasm).unwrap();
    assert_eq!(other_payloads(&new.wasm), other_payloads(original));
    let found = core_modules(&new.wasm);
    assert_eq!(found.len(), new.modules.len());
    assert_eq!(core_modules(original).len(), new.modules.len());
    for (module, (at, original_at)) in new.modules.iter().zip(found.iter().zip(core_modules(original))) {
        assert_eq!((&module.rewritten, &module.original), (at, &original_at));
        assert_eq!(new.wasm[at.clone()], module.module.wasm);
        // The same as if it was alone.
        let alone = instrument(&original[original_at], options).unwrap();
        assert_eq!(alone.wasm, module.module.wasm);
        assert_eq!(alone.edges, module.module.edges);
        assert_eq!(alone.offsets, module.module.offsets);
    }
    new
}

/// Where the core modules are, in file order.
fn core_modules(wasm: &[u8]) -> Vec<std::ops::Range<usize>> {
    let payloads = Parser::new(0).parse_all(wasm).map(Result::unwrap);
    let range = |payload| match payload {
        Payload::ModuleSection { unchecked_range, .. } => {
            Some(unchecked_range.start as usize..unchecked_range.end as usize)
        }
        _ => None,
    };
    payloads.filter_map(range).collect()
}

/// The bytes of all sections of components but those with modules and components.
fn other_payloads(wasm: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut depth_in_module = 0;
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(wasm).map(Result::unwrap) {
        match &payload {
            Payload::ModuleSection { .. } => depth_in_module = 1,
            Payload::End(_) if depth_in_module > 0 => depth_in_module = 0,
            Payload::ComponentSection { .. } => found.push((4, Vec::new())),
            _ if depth_in_module > 0 => {}
            _ => found.extend(
                payload.as_section().map(|(id, range)| (id, wasm[range.start as usize..range.end as usize].to_vec())),
            ),
        }
    }
    found
}

const SHARED: &str = include_str!("corpus/components/strings.wat");

#[test]
fn modules_that_share_a_memory_still_fit_together() {
    for options in variants() {
        let new = rewritten(&component(SHARED), &options);
        let paths: Vec<_> = new.modules.iter().map(|module| &module.path[..]).collect();
        assert_eq!(paths, [[0], [1]]);
        // Each has a memory of its own for its counters.
        assert_eq!(new.modules[0].module.state.memories.len(), 1);
        assert_eq!(new.modules[1].module.state.memories.len(), 1);
    }
}

#[test]
fn nested_components_are_rewritten_all_the_way_down() {
    let text = r#"
        (component
          (core module (func (export "a")))
          (component $one
            (core module (func (export "b")) (func (export "c")))
            (component
              (component (core module))
              (core module (func (param i32) (br_if 0 (local.get 0)))))
            (core module (func (export "d") loop br 0 end)))
          (component)
          (component (core module (func (export "e"))))
          (core module (func (export "f"))))"#;
    for options in variants() {
        let new = rewritten(&component(text), &options);
        let paths: Vec<_> = new.modules.iter().map(|module| module.path.clone()).collect();
        let expected = [&[0][..], &[0, 0], &[0, 0, 0, 0], &[0, 0, 0], &[0, 1], &[2, 0], &[1]];
        assert_eq!(paths, expected);
        let functions: Vec<_> = new.modules.iter().map(|module| module.module.edges.functions.len()).collect();
        assert_eq!(functions, [1, 2, 0, 1, 1, 1, 1]);
    }
}

#[test]
fn modules_can_be_imported_exported_and_passed_on_as_types() {
    let text = r#"
        (component
          (import "given" (core module $given (import "env" "f" (func)) (export "run" (func (result i32)))))
          (core module $f (func (export "f")))
          (core module $own (import "env" "f" (func $f)) (func (export "run") (result i32) call $f i32.const 4))
          (core instance $env (instantiate $f))
          (core instance $a (instantiate $given (with "env" (instance $env))))
          (core instance $b (instantiate $own (with "env" (instance $env))))
          (core instance $c (instantiate $own (with "env" (instance $env))))
          (component $runs
            (import "module" (core module $m (import "env" "f" (func)) (export "run" (func (result i32)))))
            (core module $f (func (export "f")))
            (core instance $env (instantiate $f))
            (core instance $i (instantiate $m (with "env" (instance $env))))
            (func (export "run") (result s32) (canon lift (core func $i "run"))))
          (instance $r (instantiate $runs (with "module" (core module $own))))
          (component $gives
            (core module $m (func (export "run") (result i32) i32.const 1))
            (export "m" (core module $m)))
          (instance $g (instantiate $gives))
          (alias export $g "m" (core module $taken))
          (core instance $t (instantiate $taken))
          (func (export "first") (result s32) (canon lift (core func $b "run")))
          (func (export "second") (result s32) (canon lift (core func $c "run")))
          (func (export "taken") (result s32) (canon lift (core func $t "run")))
          (export "own" (core module $own) (core module (import "env" "f" (func)) (export "run" (func (result i32)))))
          (export "runs" (func $r "run")))"#;
    for options in variants() {
        let new = rewritten(&component(text), &options);
        let paths: Vec<_> = new.modules.iter().map(|module| module.path.clone()).collect();
        assert_eq!(paths, [&[0][..], &[1], &[0, 0], &[1, 0]]);
    }
}

#[test]
fn all_exports_of_an_instance_can_be_handed_on() {
    let text = r#"
        (component
          (core module $a
            (memory (export "memory") 1) (table (export "table") 1 funcref) (global (export "g") (mut i32) (i32.const 3))
            (func (export "f") (result i32) (if (result i32) (global.get 0) (then (i32.const 1)) (else (i32.const 2)))))
          (core instance $a (instantiate $a))
          (alias core export $a "memory" (core memory $memory))
          (alias core export $a "table" (core table $table))
          (alias core export $a "g" (core global $g))
          (alias core export $a "f" (core func $f))
          (core instance $again
            (export "m" (memory $memory)) (export "t" (table $table)) (export "g" (global $g)) (export "f" (func $f)))
          (core module $b
            (import "again" "m" (memory 1)) (import "again" "t" (table 1 funcref)) (import "again" "g" (global (mut i32)))
            (import "again" "f" (func $f (result i32)))
            (import "whole" "f" (func (result i32)))
            (func (export "go") (result i32) (i32.add (call $f) (global.get 0))))
          (core instance $b (instantiate $b (with "again" (instance $again)) (with "whole" (instance $a))))
          (func (export "go") (result s32) (canon lift (core func $b "go"))))"#;
    for options in variants() {
        assert_eq!(rewritten(&component(text), &options).modules.len(), 2);
    }
}

#[test]
fn a_component_without_core_modules_is_unchanged() {
    let mut with_long_size = component("(component)");
    // A custom section and an empty nested component, with sizes that are longer than they must be.
    with_long_size.extend(b"\x00\x83\x80\x00\x01ab\x04\x88\x80\x00");
    with_long_size.extend(component("(component)"));
    let types = r#"(component (type (func (param "x" string))) (import "f" (func (type 0))) (export "g" (func 0)))"#;
    for original in [component("(component)"), with_long_size, component(types)] {
        let new = rewritten(&original, &Options::default());
        assert_eq!(new.wasm, original);
        assert!(new.modules.is_empty());
    }
}

#[test]
fn custom_sections_of_components_stay_and_long_sizes_too() {
    let module = wat::parse_str("(module (func))").unwrap();
    let mut original = component("(component (@custom \"first\" \"1\"))");
    // The section around the module gets a new size; those beside it keep theirs.
    original.extend(b"\x00\x83\x80\x00\x01ab");
    RawSection { id: 1, data: &module }.append_to(&mut original);
    original.extend(b"\x00\x82\x80\x00\x01z");
    let new = rewritten(&original, &Options::default());
    let end = new.modules[0].rewritten.end;
    assert_eq!(&new.wasm[end..], b"\x00\x82\x80\x00\x01z");
    let start = original.len() - module.len() - 6 - 2; // custom section, id and size
    assert_eq!(new.wasm[..start], original[..start]);
}

#[test]
fn what_is_no_component_or_has_what_cannot_be_rewritten_is_refused() {
    let refusal = |wasm: &[u8]| format!("{:#}", instrument_component(wasm, &Options::default()).unwrap_err());
    assert_eq!(refusal(b""), "is empty");
    assert_eq!(refusal(b"\0asm\x0d\0"), "is not a wasm module: it ends within its header");
    assert_eq!(refusal(&wat::parse_str("(module)").unwrap()), "is a core module, not a component");
    let invalid = "(component (component (core module) (core module (func (result i32)))))";
    assert_eq!(
        refusal(&component(invalid)),
        "has core module 0.1 at offset 0x1e, which can't be rewritten: is not valid wasm: type mismatch: expected i32 but \
         nothing on stack (at offset 0x18)"
    );
    let memories = format!("(component (core module) (component (core module {})))", "(memory 0)".repeat(100));
    let error = refusal(&component(&memories));
    let expected = "has core module 0.0 at offset 0x20, which can't be rewritten: is beyond what engines accept";
    assert!(error.starts_with(expected), "{error}");
    let unknown = [&component("(component (core module (func)))")[..], b"\x02\x04\x01\x00\x07\x00"].concat();
    assert_eq!(refusal(&unknown), "is not valid wasm: unknown module 7: module index out of bounds (at offset 0x25)");
    let mut cut = component("(component (core module (func)))");
    cut.pop();
    assert!(refusal(&cut).starts_with("has a broken section at offset 0x8: "), "{}", refusal(&cut));
}

#[test]
fn nesting_has_a_limit() {
    let nested = |levels: usize| {
        let mut wasm = component("(component (core module))");
        for _ in 1..levels {
            let inner = std::mem::replace(&mut wasm, component("(component)"));
            RawSection { id: 4, data: &inner }.append_to(&mut wasm);
        }
        wasm
    };
    let new = rewritten(&nested(100), &Options::default());
    assert_eq!(new.modules[0].path, [0; 100]);
    let error = instrument_component(&nested(101), &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "has components that are nested more than 100 deep");
    assert!(instrument_component(&nested(2_000), &Options::default()).is_err());
}
