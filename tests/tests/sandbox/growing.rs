//! Guests that grow their memory in most executions: what they grew stays open in the quick variants, whose code compares addresses. Restored
//! equals fresh, and one byte past the end traps in the last execution as in the first.

use crate::execution::Random;
use fuzzbox::outcome::{Outcome, TrapKind};
use fuzzbox::sandbox::{Executor, History, Target, Variant};
use fuzzbox::settings::Settings;
use fuzzbox_instrument::EdgeSet;
use fuzzbox_tests::show;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an execution does behind the end of memory, by the number in its input. Each but the first is to trap.
const DEEDS: [&str; 11] = [
    "",
    "END i32.load8_u drop",
    "END ADDR.const 7 ADDR.sub i64.load drop",
    "END ADDR.const 3 ADDR.sub i32.const -1 i32.store",
    "END ADDR.const 15 ADDR.sub v128.const i64x2 -1 -1 v128.store",
    "END ADDR.const 4 ADDR.sub i32.load8_u offset=4 drop",
    "END v128.const i64x2 0 0 v128.load8_lane 3 drop",
    "END ADDR.const 6553600 ADDR.add i64.const 5 i64.atomic.rmw.xchg drop",
    "END ADDR.const 4 ADDR.sub i32.const -1 ADDR.const 8 memory.fill",
    "END ADDR.const 1 ADDR.sub i32.load16_s drop",
    "unreachable",
];

/// A guest with this memory, of addresses of this type. It grows by as many pages as the input's first two bytes say, and by one more; sees
/// that these are zeros, and fills some of them; then does what the third byte says.
fn guest(memory: &str, address: &str, more: &str) -> Vec<u8> {
    let deeds: String = (0..)
        .zip(DEEDS)
        .map(|(number, deed)| format!("local.get $deed i32.const {number} i32.eq if {deed} end\n"))
        .collect();
    let text = "(module (memory (export \"memory\") MEMORY) MORE
        (func $grow (param $pages ADDR) (local $at ADDR) (local $end ADDR)
          local.get $pages memory.grow local.set $at
          local.get $at ADDR.const -1 ADDR.eq if return end
          local.get $pages ADDR.eqz if return end
          local.get $at ADDR.const 16 ADDR.shl local.set $at
          memory.size ADDR.const 16 ADDR.shl local.set $end
          loop
            local.get $at i64.load i64.eqz i32.eqz if i32.const 0 i32.const 0 i32.div_u drop end
            local.get $at i64.const -1 i64.store
            local.get $at i64.load offset=65528 i64.eqz i32.eqz if i32.const 0 i32.const 0 i32.div_u drop end
            local.get $at v128.const i64x2 -1 -1 v128.store offset=65520
            local.get $at ADDR.const 1114112 ADDR.add local.tee $at local.get $end ADDR.lt_u br_if 0
          end)
        (func (export \"LLVMFuzzerTestOneInput\") (param $p ADDR) (param $n ADDR) (result i32) (local $deed i32)
          local.get $n ADDR.const 3 ADDR.lt_u if i32.const 0 return end
          local.get $p i32.load8_u offset=2 local.set $deed
          local.get $p PAGES call $grow
          ADDR.const 1 call $grow
          DEEDS
          i32.const 0))";
    let pages = if address == "i64" { "i64.load16_u" } else { "i32.load16_u" };
    let text = text.replace("DEEDS", &deeds).replace("END", "memory.size ADDR.const 16 ADDR.shl");
    let text = text.replace("MEMORY", memory).replace("MORE", more).replace("PAGES", pages).replace("ADDR", address);
    wat::parse_str(text).unwrap()
}

fn input(pages: u16, deed: u8) -> Vec<u8> {
    [&pages.to_le_bytes()[..], &[deed]].concat()
}

fn kind(outcome: &Outcome) -> Option<TrapKind> {
    outcome.trap().map(|trap| trap.kind)
}

/// Executes in turn, on an instance that is kept, what grows by different amounts and does all of the deeds: where addresses are compared, and
/// where what grew is closed after each execution.
fn law(name: &str, wasm: &[u8], pages: &[u16], execs: u64) {
    let factor: u64 = std::env::var("FUZZBOX_GROWTH_FACTOR").map_or(1, |factor| factor.parse().unwrap());
    let metered = Arc::new(Target::load(wasm, Settings::default()).unwrap());
    let growing = input(3, 0);
    let past = History::of(&metered, [&growing[..]; 4]).unwrap();
    assert!(past.compares(), "{name}");
    let none = History::default();
    let fast = || Variant::Fast(EdgeSet::default());
    for (variant, past, execs) in [(Variant::Full, &past, execs), (fast(), &past, execs), (fast(), &none, execs / 4)] {
        let execs = execs * factor;
        let target = Arc::new(metered.in_variant_after(variant, past).unwrap());
        let mut kept = Executor::new(&target).unwrap();
        let mut deciding = Executor::new(&metered).unwrap();
        let (mut random, mut expected) = (Random(5), BTreeMap::new());
        for number in 0..execs {
            let deed = if random.below(4) == 0 { random.below(DEEDS.len() as u64) as u8 } else { 0 };
            let pages = pages[random.below(pages.len() as u64) as usize];
            let input = input(pages, deed);
            // What an execution leaves is looked at where that takes no long time.
            let fresh = expected.entry(input.clone()).or_insert_with(|| {
                let shown = (pages < 40).then(|| show(&mut Executor::new(&target).unwrap(), &input));
                (shown, kind(&deciding.run(&input).unwrap()))
            });
            let found = match &fresh.0 {
                Some(fresh) if number % 8 == 0 => {
                    let shown = show(&mut kept, &input);
                    assert_eq!(shown, *fresh, "{name}: execution {number}, {input:?}");
                    shown.outcome
                }
                _ => kept.run(&input).unwrap(),
            };
            assert_eq!(kind(&found), fresh.1, "{name}: execution {number}, {input:?}");
            let traps = if deed == 10 { TrapKind::Unreachable } else { TrapKind::MemoryOutOfBounds };
            assert_eq!(kind(&found), (deed > 0).then_some(traps), "{name}: {input:?}");
        }
    }
}

#[test]
fn what_grew_is_zero_again_and_its_end_is_exact() {
    law("a page", &guest("1", "i32", ""), &[0, 1, 2, 3, 7, 30], 30_000);
    law("much", &guest("1", "i32", ""), &[0, 1, 17, 300, 2000], 3_000);
    // Growth fails where the maximum is reached.
    law("a maximum", &guest("1 30", "i32", ""), &[0, 1, 20, 28, 29, 30, 500], 10_000);
    let start = "(func $start i32.const 5 memory.grow drop i32.const 70000 i32.const 7 i32.store8) (start $start)";
    law("a start function", &guest("1", "i32", start), &[0, 1, 9], 10_000);
    let second = "(memory $second 1) (func $other i32.const 1 memory.grow $second drop i32.const 65536 i32.const 1 i32.store $second)";
    law("several memories", &guest("1", "i32", second), &[0, 1, 9], 10_000);
}

#[test]
fn what_is_not_compared_is_closed_as_ever() {
    law("addresses of 64 bits", &guest("i64 1", "i64", ""), &[0, 1, 2, 30], 5_000);
}

#[test]
fn a_guest_that_does_not_grow_is_not_slowed_down() {
    // Nor is one whose memory grew before there was any input, in many steps.
    let before = format!("(func $start {}) (start $start)", "i32.const 1 memory.grow drop ".repeat(40));
    for more in ["", &before] {
        let target = Arc::new(Target::load(&guest("1", "i32", more), Settings::default()).unwrap());
        assert!(!History::of(&target, [&b""[..]; 4]).unwrap().compares(), "{more}");
    }
}

#[test]
fn a_warm_instance_goes_back_to_where_its_first_inputs_left_it() {
    let wasm = guest("1", "i32", "(global $calls (mut i32) (i32.const 0))");
    let cold = Arc::new(Target::load(&wasm, Settings::default()).unwrap());
    let first: Vec<Arc<[u8]>> = [input(9, 0), [input(2, 0), vec![7; 300]].concat()].map(Arc::from).into();
    for variant in [Variant::Metered, Variant::Full, Variant::Fast(EdgeSet::default()), Variant::Traced] {
        let target =
            if variant == Variant::Metered { cold.clone() } else { Arc::new(cold.in_variant(variant).unwrap()) };
        let warm = Arc::new(target.warm(first.as_slice().into()));
        assert!(Arc::ptr_eq(warm.cold(), &target) && warm.warm_up_inputs().len() == 2);
        let (mut kept, mut random) = (Executor::new(&warm).unwrap(), Random(7));
        for number in 0..400 {
            let deed = if number % 4 == 0 { random.below(DEEDS.len() as u64) as u8 } else { 0 };
            let input = input(random.below(30) as u16, deed);
            assert_eq!(
                show(&mut kept, &input),
                show(&mut Executor::new(&warm).unwrap(), &input),
                "{number}: {input:?}"
            );
        }
        let pages = |target: &Arc<Target>| {
            let mut executor = Executor::new(target).unwrap();
            executor.run(b"").unwrap();
            executor.state_hash()
        };
        assert_ne!(pages(&warm), pages(&target), "it is warm");
    }
}

#[test]
fn nobody_sees_the_inputs_that_an_instance_was_warmed_by() {
    let text = r#"(module (memory (export "memory") 1)
        (func (export "LLVMFuzzerTestOneInput") (param $p i32) (param $n i32) (result i32)
          (if (i32.load8_u (i32.sub (local.get $p) (i32.const 1))) (then unreachable))
          (i32.const 0)))"#;
    let target = Arc::new(Target::load(text.as_bytes(), Settings::default()).unwrap());
    let warm = Arc::new(target.warm([vec![1; 5000].into(), vec![2; 3].into()].into()));
    let mut executor = Executor::new(&warm).unwrap();
    for len in [0, 1, 2, 3, 4, 100, 4999, 5000, 4096] {
        assert_eq!(executor.run(&vec![1; len]).unwrap(), Outcome::Ok, "{len} bytes");
    }
}
