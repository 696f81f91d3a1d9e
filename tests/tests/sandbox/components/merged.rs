//! What core modules are when they have been linked: the same, at other indices.

use super::hostile::section;
use crate::execution::Random;
use crate::execution::smith::generate_as;
use fuzzbox_instrument::link_component;
use wasmparser::{Parser, Validator};

/// A component with core modules of which each is instantiated once for each time it is named.
fn component(modules: &[&[u8]], instances: &[u8]) -> Vec<u8> {
    let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
    modules.iter().for_each(|module| bytes.extend(section(1, module)));
    let instances = instances.iter().map(|module| section(2, &[1, 0, *module, 0]));
    bytes.extend(instances.flatten());
    bytes
}

/// The sections of a module, by id: code, data, types and so on.
fn sections(wasm: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let parsed = Parser::new(0).parse_all(wasm).map(Result::unwrap);
    let ranges = parsed.filter_map(|payload| payload.as_section());
    ranges
        .filter(|(id, _)| !matches!(*id, 0 | 7)) // custom sections and exports
        .map(|(id, range)| (id, wasm[range.start as usize..range.end as usize].to_vec()))
        .filter(|(_, content)| content != &[0])
        .collect()
}

#[test]
fn a_module_alone_is_linked_to_itself() {
    let mut same = 0;
    for seed in 0..400 {
        let mut random = Random(seed);
        let Some(module) = generate_as(&mut random, |config| config.max_imports = 0) else { continue };
        let linked = match link_component(&component(&[&module], &[0])) {
            Ok(linked) => linked,
            Err(error) => panic!("seed {seed}: {error:#}"),
        };
        for (ours, theirs) in sections(&linked.wasm).iter().zip(&sections(&module)) {
            assert!(ours == theirs, "seed {seed}: section {} differs from section {}", ours.0, theirs.0);
        }
        assert_eq!(sections(&linked.wasm).len(), sections(&module).len(), "seed {seed}");
        same += 1;
    }
    assert!(same > 300, "{same}");
}

#[test]
fn modules_together_are_valid() {
    let mut linked = 0;
    for seed in 0..200 {
        let mut random = Random(1000 + seed);
        let mut next = || generate_as(&mut random, |config| config.max_imports = 0);
        let (Some(a), Some(b)) = (next(), next()) else { continue };
        // Twice the first, and the second between them. That engines have limits is all that may be said against it.
        match link_component(&component(&[&a, &b], &[0, 1, 0])) {
            Ok(new) => {
                Validator::new_with_features(fuzzbox_instrument::features()).validate_all(&new.wasm).unwrap();
                linked += 1;
            }
            Err(error) => assert!(format!("{error:#}").contains("beyond what engines accept"), "{seed}: {error:#}"),
        }
    }
    assert!(linked > 150, "{linked}");
}
