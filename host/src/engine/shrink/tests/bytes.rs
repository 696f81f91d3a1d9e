//! Plain inputs: small parsers with planted bugs, against delta debugging.

use crate::engine::shrink::{Limits, PlainSubject, ShrunkInput, Verdict, shrink_input};
use crate::stream::Taste;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whether an input shows the bug.
type Shows = fn(&[u8]) -> bool;

struct Parser {
    shows: Shows,
    jobs: usize,
    executed: AtomicU64,
}

impl PlainSubject for Parser {
    fn attempt_all(&self, inputs: &[Vec<u8>]) -> Result<Vec<Verdict>> {
        self.executed.fetch_add(inputs.len() as u64, Ordering::Relaxed);
        let verdict = |input: &Vec<u8>| if (self.shows)(input) { Verdict::Same } else { Verdict::Valid };
        Ok(inputs.iter().map(verdict).collect())
    }

    fn jobs(&self) -> usize {
        self.jobs
    }
}

fn shrunk(shows: Shows, input: &[u8], jobs: usize) -> ShrunkInput {
    let parser = Parser { shows, jobs, executed: AtomicU64::new(0) };
    let limits = Limits { explain_max: 0, ..Limits::default() };
    shrink_input(&parser, input, limits).unwrap().expect("it fails")
}

/// Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", TSE 2002) with a cache.
fn ddmin(shows: Shows, input: &[u8]) -> (Vec<u8>, usize) {
    let mut known: BTreeMap<Vec<u8>, bool> = BTreeMap::new();
    let mut ask = |input: &[u8]| *known.entry(input.to_vec()).or_insert_with(|| shows(input));
    let (mut input, mut parts) = (input.to_vec(), 2);
    while input.len() > 1 {
        let size = input.len().div_ceil(parts);
        let chunks: Vec<Vec<u8>> = input.chunks(size).map(<[u8]>::to_vec).collect();
        let rest = |left_out: usize| {
            let others = chunks.iter().enumerate().filter(|(at, _)| *at != left_out);
            others.flat_map(|(_, chunk)| chunk.clone()).collect::<Vec<u8>>()
        };
        if let Some(chunk) = chunks.iter().find(|chunk| ask(chunk)) {
            (input, parts) = (chunk.clone(), 2);
        } else if let Some(rest) = (0..chunks.len()).map(rest).find(|rest| ask(rest)) {
            (input, parts) = (rest, (parts - 1).max(2));
        } else if parts < input.len() {
            parts = (2 * parts).min(input.len());
        } else {
            break;
        }
    }
    (input, known.len())
}

/// Records of a type, a length and that many bytes; type 7 with a 0xff in it, after one of type 1, is the bug.
fn records(mut input: &[u8]) -> bool {
    let mut began = false;
    while let [kind, len, rest @ ..] = input {
        let Some(body) = rest.get(..usize::from(*len)) else { return false };
        began |= *kind == 1;
        if *kind == 7 && began && body.contains(&0xff) {
            return true;
        }
        input = &rest[usize::from(*len)..];
    }
    false
}

/// Elements must close in order; an element in one of the same name is the bug.
fn elements(input: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(input) else { return false };
    let (mut open, mut nested): (Vec<&str>, bool) = (Vec::new(), false);
    for part in text.split('<').skip(1) {
        let Some((tag, _)) = part.split_once('>') else { return false };
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
        } else {
            nested |= open.contains(&tag);
            open.push(tag);
        }
    }
    nested && open.is_empty()
}

/// Arrays of numbers in arrays; a number above 1000 three levels deep is the bug, in what is closed properly.
fn arrays(input: &[u8]) -> bool {
    let (mut depth, mut number, mut found) = (0_i32, 0_u64, false);
    for byte in input {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            b'0'..=b'9' => {
                number = number.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
                found |= depth == 3 && number > 1000;
                continue;
            }
            b',' | b' ' => {}
            _ => return false,
        }
        number = 0;
        if depth < 0 {
            return false;
        }
    }
    found && depth == 0
}

/// `name = value` in lines; two lines with the same name, of which one is "on", are the bug.
fn settings(input: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(input) else { return false };
    let mut names = BTreeMap::new();
    let mut found = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some((name, value)) = line.split_once('=') else { return false };
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() {
            return false;
        }
        found |= names.insert(name, value).is_some_and(|before| (before == "on") != (value == "on"));
    }
    found
}

/// A word in it, anywhere, in any case.
fn word(input: &[u8]) -> bool {
    input.windows(5).any(|window| window.eq_ignore_ascii_case(b"crash"))
}

struct Bug {
    name: &'static str,
    shows: Shows,
    input: Vec<u8>,
    simplest: &'static [u8],
}

fn bugs() -> Vec<Bug> {
    let mut binary: Vec<u8> = Vec::new();
    for record in 0..40_u8 {
        let len = record.wrapping_mul(7) % 23;
        binary.extend([[1, 2, 3, 7][usize::from(record % 4)], len]);
        binary.extend((0..len).map(|byte| if record == 31 && byte == 5 { 0xff } else { byte ^ record }));
    }
    let html = "<html><head><title>Hello</title></head><body><div id><p>text</p><table><tr><td>a</td><td>b</td></tr></table>\
                <div id><span>inner</span><em>more text here</em></div id></div id><p>end</p></body></html>";
    let config = "# = comment\nverbose = off\ncolor = always\nserver_name = example\nport = 8080\nretries = 3\n\
                  timeout = 30\nserver_name = on\nlog = /var/log\nmode = fast\n";
    let json: Vec<u8> = (0..30).flat_map(|i| format!("[{i}, [7, [{}, 1]], []], ", i * 97).into_bytes()).collect();
    let prose = "It was a bright cold day in April, and the clocks were striking thirteen.\n".repeat(30);
    let prose = format!("{prose}Then it CraSHed.\n{prose}");
    vec![
        Bug { name: "records", shows: records, input: binary, simplest: b"\x01\0\x07\x01\xff" },
        Bug { name: "elements", shows: elements, input: html.into(), simplest: b"<><></></>" },
        Bug { name: "arrays", shows: arrays, input: json, simplest: b"[[[1001]]]" },
        Bug { name: "settings", shows: settings, input: config.into(), simplest: b"0=\n0=on" },
        Bug { name: "word", shows: word, input: prose.into(), simplest: b"crash" },
    ]
}

#[test]
fn planted_bugs_are_shrunk_further_than_by_delta_debugging() {
    for Bug { name, shows, input, simplest } in bugs() {
        assert!(shows(&input), "{name}");
        let ours = shrunk(shows, &input, 1);
        let (theirs, executions) = ddmin(shows, &input);
        println!(
            "{name:10} {:5} -> {:3} ({:3} by ddmin), {:5} executions ({executions:5}), {:5} in the finish: {:?}",
            input.len(),
            ours.input.len(),
            theirs.len(),
            ours.report.evaluations,
            ours.report.exhaustive,
            String::from_utf8_lossy(&ours.input)
        );
        assert!(ours.report.is_fixed_point);
        assert!(ours.input.len() <= theirs.len());
        assert_eq!(ours.input, simplest, "{name}");
        assert!(ours.report.evaluations <= 2 * executions as u64, "{name}: {} executions", ours.report.evaluations);
    }
}

#[test]
fn bytes_that_do_not_matter_are_named() {
    let shows: Shows = |input| input.len() == 7 && input[0] > b'3' && input[4..6] == *b"ab";
    let parser = Parser { shows, jobs: 1, executed: AtomicU64::new(0) };
    let shrunk = shrink_input(&parser, b"zzzzabz", Limits::default()).unwrap().expect("it fails");
    assert_eq!((&*shrunk.input, shrunk.report.free), (&b"4000ab0"[..], vec![1..4, 6..7]));
}

#[test]
fn inputs_do_not_grow_and_a_second_time_changes_nothing() {
    for Bug { name, shows, input, .. } in bugs() {
        let once = shrunk(shows, &input, 1);
        assert!(Taste::Readable.compare(&once.input, &input).is_le());
        let twice = shrunk(shows, &once.input, 1);
        assert_eq!(twice.input, once.input, "{name}");
        for jobs in [2, 8] {
            let many = shrunk(shows, &input, jobs);
            assert_eq!((many.input, many.report), (once.input.clone(), once.report.clone()), "{name}");
        }
    }
}
