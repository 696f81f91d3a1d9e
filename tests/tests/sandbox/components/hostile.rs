//! Broken and hostile components give one error each, soon, and take little memory.

use super::{BUG, parser, refusal, settings};
use fuzzbox::sandbox::Target;
use fuzzbox_tests::command::Fuzzbox;

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A section of a component: id, size, content.
pub(crate) fn section(id: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![id];
    let mut size = content.len();
    loop {
        let byte = (size & 0x7f) as u8;
        size >>= 7;
        bytes.push(if size == 0 { byte } else { byte | 0x80 });
        if size == 0 {
            break;
        }
    }
    [bytes, content.to_vec()].concat()
}

#[test]
fn a_component_cut_anywhere_is_refused_or_smaller() {
    let whole = component(&parser("(list u8)", BUG));
    for len in 0..whole.len() {
        // Custom sections at the end can be cut off.
        if let Err(error) = Target::load(&whole[..len], settings()) {
            assert!(!format!("{error:#}").is_empty());
        }
    }
}

#[test]
fn a_component_with_any_byte_changed_does_no_harm() {
    let whole = component(&parser("(list u8)", BUG));
    for at in 8..whole.len() {
        for value in [0, 1, 0x40, 0x7f, 0x80, 0xff, whole[at] ^ 1] {
            let mut changed = whole.clone();
            changed[at] = value;
            let _ = fuzzbox_instrument::link_component(&changed);
        }
    }
}

#[test]
fn nesting_has_a_limit() {
    let mut nested = component("(component)");
    for _ in 0..1000 {
        nested = [component("(component)"), section(4, &nested)].concat();
    }
    let error = refusal(&nested, settings());
    assert!(error.contains("nested more than 100 deep"), "{error}");
}

#[test]
fn components_that_instantiate_each_other_have_limits() {
    let chain: String = (1..150).map(|n| format!("(component $c{n} (instance (instantiate $c{})))", n - 1)).collect();
    let error = refusal(format!("(component (component $c0) {chain} (instance (instantiate $c149)))"), settings());
    assert!(error.contains("instantiate each other more than 100 deep"), "{error}");

    let twice: String = (1..60)
        .map(|n| format!("(component $c{n} (instance (instantiate $c{0})) (instance (instantiate $c{0})))", n - 1))
        .collect();
    let error = refusal(format!("(component (component $c0) {twice} (instance (instantiate $c59)))"), settings());
    assert!(error.contains("definitions to instantiate"), "{error}");

    let many = "(core instance (instantiate $m))".repeat(999);
    let inside = format!("(component $c (core module $m) {many})");
    let error =
        refusal(format!("(component {inside} (instance (instantiate $c)) (instance (instantiate $c)))"), settings());
    assert!(error.contains("more than 1000 core modules"), "{error}");
}

#[test]
fn indices_out_of_range_and_huge_counts_are_refused() {
    let header = component("(component)");
    let huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let mut cases: Vec<Vec<u8>> = vec![
        // Aliases: of an export of instance 5, of a core export, of something outside.
        section(6, &[1, 1, 0, 5, 1, b'x']),
        section(6, &[1, 0, 0, 1, 9, 1, b'x']),
        section(6, &[1, 4, 2, 7, 0]),
        // Instances of a component and a module that aren't there, and a lift of nothing.
        section(5, &[1, 0, 3, 0]),
        section(2, &[1, 0, 3, 0]),
        section(8, &[1, 0, 0, 0, 0, 0]),
    ];
    cases.extend((0..=12).map(|id| section(id, &huge)));
    cases.extend((0..=12).map(|id| [vec![id], huge.to_vec()].concat()));
    // A core module whose types claim to be many.
    cases.push(section(1, b"\0asm\x01\0\0\0\x01\x06\x01\x4e\xc0\x84\x3d\x00"));
    for case in cases {
        let error = refusal([header.clone(), case.clone()].concat(), settings());
        assert!(!error.is_empty(), "{case:?}");
    }
}

#[test]
fn the_command_says_it_in_one_error() {
    let fuzzbox = Fuzzbox::new();
    let whole = component(&parser("(list u8)", BUG));
    std::fs::write(fuzzbox.dir().join("cut.wasm"), &whole[..whole.len() / 2]).unwrap();
    for verb in ["run", "inspect"] {
        let ran = fuzzbox.run(verb, &["cut.wasm"], &[]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("`cut.wasm`") && ran.stderr.contains("offset"), "{ran:?}");
    }
}
