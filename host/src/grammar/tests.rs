use super::*;
use crate::stream::{Choice, Node};
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

const JSON: &str = include_str!("../../../examples/json/json.ebnf");

fn grammar(text: &str) -> Grammar {
    Grammar::parse(text).unwrap_or_else(|error| panic!("{error:#}"))
}

fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    move || random.next_u64()
}

fn produced(grammar: &Grammar, choices: &[u64]) -> Vec<u8> {
    let mut choices = choices.iter().copied();
    grammar.produce(usize::MAX, |_| choices.next().unwrap_or(0))
}

fn indices(node: &Node) -> Vec<u64> {
    node.choices().iter().filter_map(Choice::index).collect()
}

/// The text that the derivation of a text stands for.
fn again(grammar: &Grammar, text: &[u8]) -> Option<Vec<u8>> {
    grammar.derivation(text).map(|node| produced(grammar, &indices(&node)))
}

#[test]
fn what_is_produced_is_parsed_to_the_same_text_and_choices() {
    let grammar = grammar(JSON);
    let mut word = random(1);
    let mut long = 0;
    for _ in 0..1_000 {
        let choices = grammar.sample(&mut word);
        let text = produced(&grammar, &choices);
        long += usize::from(text.len() > 20);
        let shown = String::from_utf8_lossy(&text);
        let node = grammar.derivation(&text).unwrap_or_else(|| panic!("{shown}"));
        assert_eq!(indices(&node), choices, "{shown}: the grammar is not ambiguous");
        assert_eq!(produced(&grammar, &indices(&node)), text);
    }
    assert!(long > 300, "{long}");
}

#[test]
fn documents_are_parsed_and_written_byte_for_byte() {
    let grammar = grammar(JSON);
    for text in [
        "0",
        " [ ] ",
        "{}\n",
        "{\"a\": [1, 2.50e+10, -0, true, false, null], \"\": {\"\\u00e9\\n\": \"\u{e9}\u{1f600}\"}}",
        "[[[[[[[[[[]]]]]]]]]]",
        "\t\r\n\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    ] {
        assert_eq!(again(&grammar, text.as_bytes()).as_deref(), Some(text.as_bytes()), "{text}");
    }
    for text in ["", "01", "[1,]", "{\"a\"}", "\"\n\"", "nul", "[1] 2", "\u{feff}1", "'a'"] {
        assert!(grammar.derivation(text.as_bytes()).is_none(), "{text}");
    }
    assert!(grammar.derivation(&[b'"', 0xff, b'"']).is_none());
    let list = format!("[{}1]", "1, ".repeat(3_000));
    assert_eq!(again(&grammar, list.as_bytes()).as_deref(), Some(list.as_bytes()));
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    assert_eq!(again(&grammar, deep.as_bytes()).as_deref(), Some(deep.as_bytes()));
}

#[test]
#[ignore = "reads the files of FUZZBOX_JSON_SUITE"]
fn documents_of_a_suite_are_parsed_and_written_byte_for_byte() {
    let grammar = grammar(JSON);
    let suite = std::env::var_os("FUZZBOX_JSON_SUITE").expect("FUZZBOX_JSON_SUITE is a folder");
    let mut counts = std::collections::BTreeMap::<char, usize>::new();
    for file in std::fs::read_dir(suite).unwrap().map(Result::unwrap) {
        let (name, text) = (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap());
        let again = again(&grammar, &text);
        let kind = name.chars().next().unwrap();
        match kind {
            'y' => assert_eq!(again.as_deref(), Some(&*text), "{name} is JSON"),
            'n' => assert_eq!(again, None, "{name} is none"),
            // Up to who reads it.
            _ => assert!(again.is_none_or(|again| again == text), "{name}"),
        }
        *counts.entry(kind).or_default() += 1;
    }
    println!("{counts:?}");
    assert!(counts.contains_key(&'y') && counts.contains_key(&'n'), "{counts:?}");
}

#[test]
fn derivations_are_counted() {
    // Catalan's numbers: binary trees by their nodes, inner ones and leaves.
    let trees = grammar("tree = \"(\" tree tree \")\" | \".\" ;");
    let counts: Vec<_> = (0..12).map(|size| trees.count(size).unwrap()).collect();
    assert_eq!(counts, [0, 1, 0, 1, 0, 2, 0, 5, 0, 14, 0, 42]);
    let words = grammar("word = { \"a\"..\"c\" } ;");
    // The start, one that goes on, the group and its letter for each, and the end.
    assert_eq!((0..9).map(|size| words.count(size).unwrap()).collect::<Vec<_>>(), [0, 0, 1, 0, 0, 3, 0, 0, 9]);
    // As many as there are only by their size.
    assert_eq!(grammar("a = | a a ;").count(1), Some(1));
    assert_eq!(grammar("a = b b b b b b b b ; b = '\\u{0}'..'\\u{10ffff}' ;").count(17), None, "it has 160 bits");
}

#[test]
fn derivations_of_a_size_are_each_as_likely() {
    let grammar = grammar("s = s \"+\" s | \"(\" s \")\" | \"a\"..\"c\" ;");
    for size in [4, 5, 6] {
        let (mut word, mut seen) = (random(size as u64), std::collections::BTreeMap::<Vec<u64>, f64>::new());
        let samples = 20_000;
        for _ in 0..samples {
            *seen.entry(grammar.sample_of(size, &mut word)).or_default() += 1.0;
        }
        let count = grammar.count(size).unwrap();
        assert_eq!(seen.len() as u64, count, "all of them");
        let expected = f64::from(samples) / count as f64;
        let chi: f64 = seen.values().map(|seen| (seen - expected).powi(2) / expected).sum();
        // Wilson and Hilferty: the 0.999 quantile.
        let freedom = count as f64 - 1.0;
        let limit = freedom * (1.0 - 2.0 / (9.0 * freedom) + 3.09 * (2.0 / (9.0 * freedom)).sqrt()).powi(3);
        assert!(chi < limit, "size {size}: {chi} of {limit} for {count}");
    }
}

#[test]
fn hostile_grammars_and_texts_end() {
    for text in [
        "a = a | ;",
        "a = a a | \"x\" | ;",
        "a = b ; b = a | c ; c = \"x\" | b c ;",
        "a = { { { \"x\" } } } ;",
        "a = [ a ] [ a ] [ a ] \"x\" [ a ] ;",
    ] {
        let grammar = grammar(text);
        let long = "x".repeat(PARSE_BYTES_MAX);
        for text in ["", "x", "xxxx", &long] {
            if let Some(again) = again(&grammar, text.as_bytes()) {
                assert_eq!(again, text.as_bytes());
            }
        }
        let mut word = random(3);
        for _ in 0..50 {
            let text = grammar.produce(1_000, |count| word() % count);
            assert!(text.len() <= 1_000);
            grammar.sample(&mut random(4));
        }
    }
    assert_eq!(again(&grammar("a = a a | \"x\" | ;"), b"xxx").as_deref(), Some(&b"xxx"[..]));
    assert!(grammar(JSON).derivation(&vec![b'['; 1 << 20]).is_none(), "it is too long");
    // 2^60 symbols that are nothing.
    let twice: String = (0..60).map(|rule| format!("r{rule} = r{} r{} ;", rule + 1, rule + 1)).collect();
    let grammar = grammar(&format!("{twice} r60 = \"\" ;"));
    assert_eq!(grammar.produce(10, |_| 0), b"");
    assert!(grammar.derivation(b"").is_none() && grammar.sample(&mut random(1)).is_empty());
}

#[test]
fn what_is_no_grammar_is_told_with_its_line() {
    for (text, wanted) in [
        ("", "there is no rule in it"),
        ("# nothing", "there is no rule in it"),
        ("a = b ;\nb = c ;", "line 2: there is no rule `c`"),
        ("a = \"x\" ;\na = \"y\" ;", "line 2: there are two rules `a`"),
        ("a = \"x\"", "line 1: a rule ends with `;`, not with the end"),
        ("a\n\"x\" ;", "line 2: behind the name of a rule comes `=`, not `\"`"),
        ("= \"x\" ;", "line 1: a rule begins with its name, not with `=`"),
        ("a = ( \"x\" ] ;", "line 1: `(` is closed by `)`, not by `]`"),
        ("a = \"x ;\n\" ;", "line 1: a text is not closed in its line"),
        ("a = \"\\q\" ;", "line 1: there is no such escape in a text"),
        ("a = \"\\xg0\" ;", "line 1: `\\x` is followed by two digits"),
        ("a = \"b\"..\"a\" ;", "line 1: a range ends with"),
        ("a = \"ab\"..\"z\" ;", "line 1: a range is of single characters"),
        ("a = \"a\"..c ;", "line 1: a range ends with a character, not with `c`"),
        ("a = \"x\" a ;", "nothing that `a` stands for has an end"),
        ("a = \u{1b} ;", "line 1: a rule ends with `;`, not with `\\u{1b}`"),
    ] {
        let error = Grammar::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{text:?}: {error}");
    }
    let deep = format!("a = {} ;", "(".repeat(100_000));
    assert!(Grammar::parse(&deep).unwrap_err().to_string().contains("more than 64 brackets"));
    let wide = format!("a = {} ;", "b ".repeat(100_000));
    assert!(Grammar::parse(&wide).unwrap_err().to_string().contains("more than 16384 symbols"));
}

#[test]
fn notations_mean_the_same() {
    let both = |a: &str, b: &str| {
        let (a, b) = (grammar(a), grammar(b));
        for text in ["", "x", "xx", "xy", "yx", "xyxy", "z"] {
            assert_eq!(a.derivation(text.as_bytes()).is_some(), b.derivation(text.as_bytes()).is_some(), "{text}");
        }
    };
    both("a = { \"x\" } ;", "a ::= 'x'* ;");
    both("a = [ \"x\" ] \"y\" ;", "a := \"x\"? , \"y\" ;");
    both("a = ( \"x\" | \"y\" )+ ;", "a : b { b } ; b : \"x\"..\"y\" ;");
    both("a = \"\\x78\" \"\" \"\\u{79}\" ; # end", "a = 'xy' ;");
}
