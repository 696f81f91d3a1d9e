//! Components, also in the modules and components inside.

use super::random::Random;
use super::shape::Shape;
use super::{bytes, modules, structure, try_out};
use crate::mutants::shape::{Section, sections};
use fuzzbox_tests::command::Fuzzbox;

/// Section ids of what is nested in a component.
const MODULE: u8 = 1;
const COMPONENT: u8 = 4;

/// Components of all that they are made of.
fn seeds() -> Vec<Vec<u8>> {
    let core = r#"(core module $m
        (memory (export "memory") 1)
        (global $top (mut i32) (i32.const 1024))
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
            (local $at i32)
            (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
            (global.set $top (i32.add (local.get $at) (local.get 3)))
            (local.get $at))
        (func (export "flat") (param i32 i32) (result i32)
            (if (i32.gt_u (local.get 1) (i32.const 3)) (then
                (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 98)) (then unreachable))))
            (i32.const 2048))
        (func (export "done") (param i32))
        (func (export "number") (param i64 f64) (result i32) (i32.wrap_i64 (local.get 0))))
        (core instance $i (instantiate $m))"#;
    let options = r#"(memory (core memory $i "memory")) (realloc (core func $i "cabi_realloc"))"#;
    let lists = ["(list u8)", "string", "(list string)", "(list (record (field \"a\" u32) (field \"b\" char)))"];
    let mut texts: Vec<_> = lists
        .iter()
        .map(|ty| {
            format!(
                r#"(component {core} (func (export "parse") (param "x" {ty}) (result string)
                (canon lift (core func $i "flat") {options} (post-return (core func $i "done")))))"#
            )
        })
        .collect();
    texts.push(format!(
        r#"(component {core} (func $f (param "a" u64) (param "b" f64) (result bool) (canon lift (core func $i "number")))
            (component $c (import "f" (func $f (param "a" u64) (param "b" f64) (result bool))) (export "g" (func $f)))
            (instance $d (instantiate $c (with "f" (func $f))))
            (export "h" (func $d "g")))"#
    ));
    let own = texts.iter().map(|text| wat::parse_str(text).expect("a component"));
    own.chain(modules::seeds(&["instrument/tests/corpus/components"])).collect()
}

/// Changes a component, or what is nested in it.
fn mutate(component: &[u8], others: (&[u8], &[u8]), depth: usize, random: &mut Random) -> Vec<u8> {
    let mut own: Vec<(u8, Vec<u8>)> = sections(component).map(|Section { id, bytes }| (id, bytes.to_vec())).collect();
    let nested: Vec<_> = (0..own.len()).filter(|&at| matches!(own[at].0, MODULE | COMPONENT)).collect();
    if let Some(&at) = random.choose(&nested).filter(|_| depth < 3).filter(|_| random.once_in(2)) {
        own[at].1 = match own[at].0 {
            MODULE => module(&own[at].1, others.1, random),
            _ => mutate(&own[at].1, others, depth + 1, random),
        };
        let mut out = component.get(..8).unwrap_or_default().to_vec();
        for (id, content) in own {
            out.push(id);
            bytes::leb(content.len() as u64, 0, &mut out);
            out.extend(content);
        }
        return out;
    }
    let mut component =
        if random.once_in(2) { bytes::mutate_sections(component, others.0, random) } else { component.to_vec() };
    if random.once_in(2) {
        (0..random.size(3)).for_each(|_| bytes::mutate(&mut component, others.0, random));
    }
    component
}

fn module(module: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    if random.once_in(3) {
        let mut changed = module.to_vec();
        bytes::mutate(&mut changed, other, random);
        return changed;
    }
    let (mut shape, other) = (Shape::new(module), Shape::new(other));
    (0..random.size(4)).for_each(|_| structure::mutate(&mut shape, &other, random));
    shape.encode()
}

#[test]
fn components() {
    let seeds = seeds();
    let module = modules::example("first-bug");
    let tally = try_out(60, |number, tally| {
        let mut random = Random(number ^ 1 << 40);
        random.next();
        let (seed, other) = (random.below(seeds.len()), random.below(seeds.len()));
        let component = mutate(&seeds[seed], (&seeds[other], &module), 0, &mut random);
        let fuzzbox = Fuzzbox::new();
        let what = format!("component {number}");
        let flags: &[&str] = if random.once_in(2) { &["--stub-imports", "zero"] } else { &[] };
        modules::check(&component, &fuzzbox, &what, flags, tally);
    });
    assert!(tally.mutants < 50 || tally.codes[2] > 0 && tally.codes[0] + tally.codes[1] > 0, "{tally:?}");
}
