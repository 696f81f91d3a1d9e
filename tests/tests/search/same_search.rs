//! A campaign finds the same whenever its variants change, with however many workers: among it crashes, hangs, and edges that
//! are new to the quick variants.

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Results, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Candidate, Code, CodeCache, Target, Watchdog};
use fuzzbox::settings::Settings;
use fuzzbox_tests::found::{Found, if_begins_with};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Executions of each campaign.
const EXECS: u64 = 500_000;

/// Words lead deeper; the last ones to a crash and to a loop without end.
fn module() -> Vec<u8> {
    let mut words = String::new();
    for (word, end) in [
        ("cr4sh", "unreachable"),
        ("h4ng", "(loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 16384)) (br 0))"),
        ("rec", "(call $deeper)"),
        ("load", "(drop (i32.load (i32.const -5)))"),
        (
            "count",
            "(loop (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $n) (local.get $size))))",
        ),
    ] {
        let inner = if_begins_with(word, end);
        words.push_str(&format!("(if (i32.gt_u (local.get $size) (i32.const {})) (then {inner}))", word.len()));
    }
    wat::parse_str(format!(
        r#"(module
            (memory (export "memory") 2)
            (func $deeper (call $deeper))
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32) (local $n i32)
                {words}
                (i32.const 0)))"#
    ))
    .unwrap()
}

/// The same with a function for each word, among many that nobody calls: so large that only what is entered is made
/// faster at first, and each word leads out of that.
fn large_module() -> Vec<u8> {
    let (mut functions, mut calls) = (String::new(), String::new());
    for (word, end) in
        [("cr4sh", "unreachable"), ("lead", "(call $led (i32.const 3))"), ("load", "(drop (i32.load (i32.const -5)))")]
    {
        let takes = "(param $data i32) (param $size i32) (result i32)";
        functions.push_str(&format!("(func ${word} {takes} {} (i32.const 0))", if_begins_with(word, end)));
        calls.push_str(&format!(
            "(if (i32.gt_u (local.get $size) (i32.const {})) (then (drop (call ${word} (local.get $data) (local.get $size)))))",
            word.len()
        ));
    }
    let additions = "(local.set $n (i32.add (i32.mul (local.get $n) (i32.const 77777)) (i32.const 99999)))".repeat(30);
    for number in 0..800 {
        functions.push_str(&format!(
            "(func $f{number} (param $n i32) (result i32) (if (local.get $n) (then {additions})) (local.get $n))"
        ));
    }
    wat::parse_str(format!(
        r#"(module
            (memory (export "memory") 2)
            (func $led (param $n i32)
                (loop (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br_if 0 (local.get $n))))
            {functions}
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                {calls}
                (i32.const 0)))"#
    ))
    .unwrap()
}

/// `busy` is done after the first rounds, while the quick variant is compiled.
fn search(target: &Arc<Target>, jobs: usize, busy: impl FnOnce()) -> Found {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let mutator = Mutator::new(Dictionary::default());
    let mut campaign = Campaign::new(target.clone(), 3, mutator);
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    campaign.start(&workers, &[b"cr4".to_vec(), b"h4n.".to_vec()], EXECS, &signature).unwrap();
    let mut busy = Some(busy);
    while campaign.totals().execs < EXECS {
        let left = EXECS - campaign.totals().execs;
        campaign.step(&workers, left, &signature).unwrap();
        if let Some(busy) = busy.take() {
            busy();
        }
    }
    Found::of(&campaign)
}

#[test]
fn campaigns_find_the_same_whenever_variants_change() {
    let settings = Settings { fuel_max: 1_500_000_000, input_bytes_max: 4096, ..Settings::default() };
    assert!(Watchdog::time_for(settings.fuel_max).is_some(), "the quick variants can be watched");
    let target = Arc::new(Target::load(&module(), settings.clone()).unwrap());
    let one = search(&target, 1, || ());
    println!("{} testcases, {} failures, {} hangs", one.corpus.len(), one.failures.len(), one.hangs);
    assert!(one.hangs > 0 && one.failures.len() >= 3, "{one:?}");
    assert_eq!(one, search(&target, 2, || ()), "two workers");
    let quick = Candidate::new(&module(), settings).unwrap();
    let quick = Arc::new(Target::compiled(quick, &CodeCache::default(), Code::Quick).unwrap());
    assert!(quick.is_quick());
    assert_eq!(one, search(&quick, 2, || ()), "beginning in quick code");
    // Optimised code is ready before the second round.
    let other = quick.clone();
    assert_eq!(
        one,
        search(&quick, 1, || _ = other.optimised().unwrap()),
        "beginning in quick code that is replaced at once"
    );
    // The quick variant is ready before the second round.
    let busy = || {
        drop(
            fuzzbox_tests::example("json")
                .and_then(|path| Ok(std::fs::read(path)?))
                .map(|json| Target::load(&json, Settings::default())),
        )
    };
    assert_eq!(one, search(&target, 1, busy), "another moment");
}

#[test]
fn campaigns_find_the_same_where_only_what_is_entered_is_made_faster() {
    let module = large_module();
    let candidate = || Candidate::new(&module, Settings::default()).unwrap();
    let begins_in = |code| Arc::new(Target::compiled(candidate(), &CodeCache::default(), code).unwrap());
    assert_eq!(candidate().code_to_begin_with(), Code::Quick, "it is large");
    let whole = search(&begins_in(Code::Optimised), 1, || ());
    println!("{} testcases, {} failures", whole.corpus.len(), whole.failures.len());
    assert!(whole.failures.len() >= 2 && whole.corpus.len() > 10, "{whole:?}");
    // What was entered by then is faster when the second round begins, long before the rest could be.
    for jobs in [1, 2] {
        assert_eq!(whole, search(&begins_in(Code::Quick), jobs, || drop(begins_in(Code::Optimised))), "{jobs} workers");
    }
}

/// A campaign that begins with `seeds` and with what is known of them; what it found, what is known then, and how many
/// of its executions were not made.
fn recalling(target: &Arc<Target>, seeds: &[Vec<u8>], results: Results, jobs: usize) -> (Found, Results, u64) {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let mutator = Mutator::new(Dictionary::default());
    let mut campaign = Campaign::new(target.clone(), 3, mutator).with_results(results);
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    const EXECS: u64 = 40_000;
    campaign.start(&workers, seeds, EXECS, &signature).unwrap();
    while campaign.totals().execs < EXECS {
        let left = EXECS - campaign.totals().execs;
        campaign.step(&workers, left, &signature).unwrap();
    }
    let recalled = campaign.totals().recalled;
    (Found::of(&campaign), campaign.results().clone(), recalled)
}

#[test]
fn campaigns_find_the_same_whatever_is_known_of_their_first_inputs() {
    let draws = fuzzbox_tests::guest("orders").map(|path| std::fs::read(path).unwrap()).unwrap();
    let draws_settings = Settings { entry: Some("fbx_orders".to_owned()), ..Settings::default() };
    let module_settings = Settings { fuel_max: 1_500_000_000, input_bytes_max: 4096, ..Settings::default() };
    for (module, settings) in [(module(), module_settings), (draws, draws_settings)] {
        let target = Arc::new(Target::load(&module, settings).unwrap());
        // What fails and what hangs is among them.
        let words: Vec<Vec<u8>> = [&b"cr4sh."[..], b"h4ng..", b"rec..", b"cr4", b"h4n.", b"count...."]
            .iter()
            .map(|word| word.to_vec())
            .collect();
        let (first, _, recalled) = recalling(&target, &words, Results::default(), 1);
        assert_eq!(recalled, 0);
        let seeds: BTreeSet<_> = first.corpus.iter().cloned().chain(words).collect();
        let seeds: Vec<_> = seeds.into_iter().collect();
        let (one, results, recalled) = recalling(&target, &seeds, Results::default(), 2);
        assert_eq!(recalled, 0);
        assert!(results.len() >= seeds.len(), "{} of {}", results.len(), seeds.len());
        assert!(one.failures.len() >= 2 || target.takes_choices(), "{one:?}");
        let (two, results, recalled) = recalling(&target, &seeds, results, 1);
        // The empty input is among them.
        let distinct = seeds.len() as u64 + u64::from(!seeds.contains(&Vec::new()));
        assert_eq!((&two, recalled), (&one, distinct), "all is known");
        // Half of it.
        let (some, _, half) = recalling(&target, &seeds[..seeds.len() / 2], Results::default(), 1);
        let (other, _, known) = recalling(&target, &seeds[..seeds.len() / 2], results, 2);
        assert_eq!((&other, half), (&some, 0));
        assert!(known >= seeds.len() as u64 / 2);
    }
}
