//! Ways to call exports, executed with some inputs each: which of them do something with an input, and which fail.
//!
//! All ways that take the input as the same thing are branches of one recipe, so the module is compiled once for them:
//!
//! ```text
//! k = draw(0..3); if k == 0 { p = ...; parse(p, len) } if k == 1 { ... } ...
//! ```

use crate::sandbox::candidate::Candidate;
use crate::sandbox::code::cache::CodeCache;
use crate::sandbox::code::compiler::Code;
use crate::sandbox::conventions::kind::Kind;
use crate::sandbox::conventions::{Proposal, Tried, checked};
use crate::sandbox::executor::Executor;
use crate::sandbox::source::Source;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::targets::Target;
use crate::settings::{Settings, Stub};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// More ways are not tried.
const WAYS_MAX: usize = 200;
/// What an execution may take, in units of fuel: a way that takes more with these inputs is none.
const FUEL_MAX: u64 = 50_000_000;
/// How many of the best are tried with mutants of the inputs, and with how many.
const FINALISTS: usize = 6;
const MUTANTS: u64 = 2000;
/// And how much fuel these may take, of each: about a second. What takes more is given something for a length that is
/// none, most often.
const MUTANTS_FUEL: u64 = 1 << 30;
/// A way that has failed so often is none.
const FAILURES_MAX: usize = 3;

/// Inputs of many kinds of languages and formats; the first is empty.
const SAMPLES: [&[u8]; 24] = [
    b"",
    b"a",
    b"0",
    b"1 + 2 * (3 - x)",
    b"{\"a\": [1, 2.5e3, null, true], \"b\": \"c\\n\"}",
    b"<?xml version=\"1.0\"?><a b=\"c\">&lt;<d/><!-- e --></a>",
    b"<html><body><p class=x>text</p></body></html>",
    b"SELECT a, count(*) FROM t WHERE b = 'c' GROUP BY a;",
    b"create table t(a, b); insert into t values(1, 'x');",
    b"function f(x) { return x + 1; } f(2);",
    b"(a|b)*[c-e]+\\d{2,3}(?<n>x)$",
    b".a { color: red; width: 10px }",
    b"# title\n\n* item **bold** `code`\n",
    b"a,b,c\n1,2,3\n",
    b"key = value\n[section]\nx = 1\n",
    b"package main\n\nfunc main() {}\n",
    b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x04\x00\x43\xbe\xb7\xe8\x01\x00\x00\x00",
    b"PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00a",
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00",
    b"\xff\x4f\xff\x51\x00\x29\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01",
    b"070707000000000000000644000000000000000001000000000000000000000001200000000001a\x00",
    b"/\x2a c \x2a/ int x[] = {1, 0x2f};",
];

/// What is found out of each way while it is tried.
#[derive(Default)]
struct Seen {
    empty: usize,
    edges: BTreeSet<u32>,
    failures: usize,
    fuel: u64,
}

/// By how much zeros for imports that nobody provides have to do more than rejecting the input, which finds nothing
/// that is nobody's mistake.
const ZEROS_WORTH: usize = 2;

/// The ways to call exports of a module, executed: those first that do most with an input and do not fail, and how what
/// nobody provides is best stubbed. Ways that can't be compiled are left out.
///
/// # Errors
///
/// If the module can't be read.
pub fn tried(
    bytes: &[u8],
    settings: &Settings,
    stubs: Option<Stub>,
    glue: &str,
) -> Result<(Vec<Proposal>, Option<Stub>)> {
    let ways = tried_with(bytes, settings, stubs, glue)?;
    if settings.stub_imports.is_some() || stubs != Some(Stub::Reject) {
        return Ok((ways, stubs));
    }
    // Callbacks are told something, and say by a zero that it goes on.
    let zeros = tried_with(bytes, settings, Some(Stub::Zero), glue)?;
    let worth = |ways: &[Proposal]| {
        let best = ways.first().and_then(|way| way.tried.as_ref()).filter(|tried| tried.failures == 0);
        best.map_or(0, |tried| tried.edges.saturating_sub(tried.empty_edges))
    };
    let better = worth(&zeros) > ZEROS_WORTH * worth(&ways);
    Ok(if better { (zeros, Some(Stub::Zero)) } else { (ways, stubs) })
}

/// The ways, if what nobody provides is stubbed so.
fn tried_with(bytes: &[u8], settings: &Settings, stubs: Option<Stub>, glue: &str) -> Result<Vec<Proposal>> {
    let source = Source::new(bytes)?;
    if source.component.is_some() {
        return Ok(Vec::new());
    }
    let interface = Interface::of(&source.module)?;
    if Kind::of(&interface).refusal().is_some() {
        return Ok(Vec::new());
    }
    let ways = checked(&interface, &source.module, glue, WAYS_MAX, true);
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, way) in ways.iter().enumerate() {
        groups.entry(takes(&way.call)).or_default().push(number);
    }
    let settings = Settings {
        entry: None,
        stub_imports: settings.stub_imports.or(stubs),
        fuel_max: settings.fuel_max.min(FUEL_MAX),
        ..settings.clone()
    };
    let mut seen: Vec<Seen> = ways.iter().map(|_| Seen::default()).collect();
    for (takes, numbers) in &groups {
        // What is on standard input can't be behind a number that is drawn.
        let together = *takes != STDIN && numbers.iter().all(|&number| !ways[number].call.contains("draw("));
        let parts: Vec<&[usize]> = if together { vec![numbers] } else { numbers.chunks(1).collect() };
        let mut parts: VecDeque<&[usize]> = parts.into();
        while let Some(part) = parts.pop_front() {
            let calls: Vec<&str> = part.iter().map(|&number| &*ways[number].call).collect();
            match executor(bytes, &settings, &calls, glue) {
                Ok(mut executor) => try_all(&mut executor, part, &mut seen)?,
                // What fits alone may be too much together, or one of them fails before it is given an input.
                Err(_) if part.len() > 1 => parts.extend(<[&[usize]; 2]>::from(part.split_at(part.len() / 2))),
                Err(_) => seen[part[0]].failures = FAILURES_MAX,
            }
        }
    }
    let best = ranked(&ways, &seen).into_iter().map(|number| {
        let Seen { empty, edges, failures, .. } = &seen[number];
        let tried = Tried { empty_edges: *empty, edges: edges.len(), failures: *failures };
        (!edges.is_empty()).then(|| ways[number].clone().after(tried))
    });
    Ok(best.flatten().collect())
}

/// What reaches so much of what the best reaches is as good, in percent: then what claims less is better.
const AS_GOOD: usize = 85;

/// What fails has to reach so much more than what does not, so that it is no misuse but a library with bugs.
const FAILING_WORTH: usize = 16;

/// The numbers of the ways, the best first.
fn ranked(ways: &[Proposal], seen: &[Seen]) -> Vec<usize> {
    let fails = |number: usize| seen[number].failures > 0;
    let worth = |number: usize| {
        let variety = seen[number].edges.len().saturating_sub(seen[number].empty);
        variety / if fails(number) { FAILING_WORTH } else { 1 }
    };
    // Numbers that are not 0 say that they are lengths or addresses.
    let claims =
        |number: usize| [", len", ", o"].iter().map(|word| ways[number].call.matches(word).count()).sum::<usize>();
    let mut left: Vec<usize> = (0..ways.len()).collect();
    left.sort_by_key(|&number| (std::cmp::Reverse(worth(number)), fails(number), number));
    let mut ranked = Vec::new();
    while let Some(&first) = left.first() {
        let is_as_good =
            |&number: &usize| fails(number) == fails(first) && worth(number) * 100 >= worth(first) * AS_GOOD;
        let best = left.iter().copied().filter(is_as_good).min_by_key(|&number| (claims(number), number));
        let best = best.unwrap_or(first);
        left.retain(|&number| number != best);
        ranked.push(best);
    }
    ranked
}

const STDIN: &str = "";

/// As what a recipe takes the input.
fn takes(call: &str) -> &'static str {
    let words = ["utf16", "string", "input"];
    let is_word = |word: &str| {
        call.match_indices(word).any(|(at, _)| {
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '/' || c == '"';
            !call[..at].ends_with(is_part) && !call[at + word.len()..].starts_with(is_part)
        })
    };
    words.into_iter().find(|word| is_word(word)).unwrap_or(STDIN)
}

/// An executor of these recipes, each of them behind its number if there are several.
fn executor(bytes: &[u8], settings: &Settings, calls: &[&str], glue: &str) -> Result<Executor> {
    let call = match calls {
        [only] => (*only).to_owned(),
        _ => {
            let branches = calls.iter().enumerate().map(|(number, call)| {
                // Variables of different branches are different ones: their types may be.
                format!("if k == {number} {{ {call} }}")
            });
            format!("k = draw(0..{}); {}", calls.len(), branches.collect::<Vec<_>>().join("; "))
        }
    };
    let candidate = Candidate::with_glue(bytes, Settings { call: Some(call), ..settings.clone() }, glue)?;
    let target = Arc::new(Target::compiled(candidate, &CodeCache::default(), Code::Quick)?);
    Executor::new(&target)
}

/// Tries all ways of an executor with the samples, and the best of them with mutants.
fn try_all(executor: &mut Executor, numbers: &[usize], seen: &mut [Seen]) -> Result<()> {
    for (branch, &number) in numbers.iter().enumerate() {
        for (sample, input) in SAMPLES.iter().enumerate() {
            try_one(executor, (branch, numbers.len()), input, (sample == 0, &mut seen[number]))?;
        }
    }
    let mut best: Vec<_> = numbers.iter().enumerate().collect();
    best.sort_by_key(|(_, number)| {
        let seen = &seen[**number];
        (seen.failures > 0, std::cmp::Reverse(seen.edges.len().saturating_sub(seen.empty)))
    });
    for (branch, &number) in best.into_iter().take(FINALISTS) {
        let seen = &mut seen[number];
        let fuel_max = seen.fuel.saturating_add(MUTANTS_FUEL);
        for seed in 0..MUTANTS {
            if seen.fuel < fuel_max {
                try_one(executor, (branch, numbers.len()), &mutant(seed), (false, seen))?;
            }
        }
    }
    Ok(())
}

fn try_one(
    executor: &mut Executor,
    (branch, branches): (usize, usize),
    input: &[u8],
    (is_empty, seen): (bool, &mut Seen),
) -> Result<()> {
    if seen.failures >= FAILURES_MAX {
        return Ok(());
    }
    let number = u32::try_from(branch)?.to_le_bytes();
    let prefix = if branches > 1 { &number[..] } else { &[] };
    let outcome = executor.run(&[prefix, input].concat())?;
    seen.failures += usize::from(outcome.failure().is_some());
    seen.fuel = seen.fuel.saturating_add(executor.observation().fuel());
    let before = seen.edges.len();
    executor.observation().edges(|edge, _| _ = seen.edges.insert(edge));
    if is_empty {
        seen.empty = seen.edges.len() - before;
    }
    Ok(())
}

/// A sample with bytes changed, doubled or taken from another one: the same for a seed.
fn mutant(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below.max(1)
    };
    let mut input = SAMPLES[next(SAMPLES.len())].to_vec();
    for _ in 0..=next(4) {
        let at = next(input.len() + 1);
        match next(4) {
            0 if at < input.len() => input[at] = next(256) as u8,
            1 => input.insert(at, b" \n\"'()[]{}<>\\/*+-.,:;=0aA\0\xff"[next(27)]),
            2 => {
                let other = SAMPLES[next(SAMPLES.len())];
                let from = next(other.len() + 1);
                input.splice(at..at, other[from..].iter().copied());
            }
            _ if at < input.len() => drop(input.drain(at..(at + 1 + next(8)).min(input.len()))),
            _ => {}
        }
    }
    input
}
