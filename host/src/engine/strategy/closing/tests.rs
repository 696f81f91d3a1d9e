//! Learning on context-free grammars, which derive natively by the protocol in Rust.

use super::*;
use crate::stream::reference::Ended;
use crate::stream::{Draw, Reference};

/// Random grammars, unless `FUZZBOX_GRAMMARS` says how many.
const GRAMMARS: u32 = 40;

/// Streams that are derived from in a round.
const STREAMS: u64 = 8;

/// By nonterminal: its alternatives, each a list of nonterminals. Derivation begins with the first.
struct Grammar(Vec<Vec<Vec<usize>>>);

impl Grammar {
    /// Some nonterminals with one to four alternatives of up to three; each can end.
    fn random(rng: &mut Rng) -> Self {
        loop {
            let count = 1 + rng.below(6);
            let mut alternatives = || {
                let alternative = |rng: &mut Rng| (0..rng.below(4)).map(|_| rng.below(count)).collect();
                (0..1 + rng.below(4)).map(|_| alternative(rng)).collect()
            };
            let grammar = Self((0..count).map(|_| alternatives()).collect());
            if grammar.sizes().iter().all(Option::is_some) {
                return grammar;
            }
        }
    }

    /// The fewest draws that each nonterminal takes; `None` if it can't end.
    fn sizes(&self) -> Vec<Option<u64>> {
        let mut sizes = vec![None; self.0.len()];
        loop {
            let size = |alternative: &Vec<usize>| alternative.iter().try_fold(1, |sum, &part| Some(sum + sizes[part]?));
            let next: Vec<_> = self.0.iter().map(|rules| rules.iter().filter_map(size).min()).collect();
            if next == sizes {
                return sizes;
            }
            sizes = next;
        }
    }

    /// The same where sites that are not closed have their first alternative only.
    fn closed_by(&self, closings: &Closings) -> Self {
        let kept = |(site, rules): (u32, &Vec<Vec<usize>>)| {
            let count = if closings.involved.contains(&site) { rules.len() } else { 1 };
            rules[..count].to_vec()
        };
        Self((1..).zip(&self.0).map(kept).collect())
    }

    /// Derives from the first nonterminal, always the leftmost one next. Nonterminal `n` has call site `n + 1`.
    fn run(&self, input: &[u8], rule: &Rule, table: &Closing) -> Probed {
        let sites = (0..self.0.len() as u32).collect();
        let mut reference = Reference::new(input, *rule).closing(table.clone(), sites);
        let (mut todo, mut drawn) = (vec![0], Vec::new());
        let mut end = Ok(());
        while let Some(nonterminal) = todo.pop() {
            reference.at(Some(nonterminal));
            match reference.draw_choice(&[], self.0[nonterminal].len() as i32, 0) {
                Ok(index) => todo.extend(self.0[nonterminal][index as usize].iter().rev()),
                Err(ended) => {
                    end = Err(ended);
                    break;
                }
            }
            drawn.push(nonterminal as u32 + 1);
        }
        let (mut trace, _) = reference.trace();
        let draws: Vec<_> = trace.draws.iter().zip(drawn).map(|(draw, site)| Draw { site, ..*draw }).collect();
        trace.draws = draws;
        match end {
            Ok(()) => Probed::Ended(trace),
            Err(Ended::Overrun) => Probed::Overran(trace),
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// How mutants are read.
fn random(rng: &mut Rng) -> Rule {
    Rule { tail: Tail::Random { seed: rng.word(), choices: 8 << rng.below(8) }, wrap: true, close: true }
}

/// Learns from what overruns in so many rounds of a few executions. Returns what is known then, and what that took.
fn learned(grammar: &Grammar, rng: &mut Rng, rounds: u64) -> (Closings, u64) {
    let (mut closings, mut execs, mut overruns) = (Closings::default(), 0, 0);
    for round in 0..rounds {
        let mut witnesses = Vec::new();
        for number in 0..STREAMS {
            let rule = if round == 0 && number == 0 { Rule { close: true, ..Rule::default() } } else { random(rng) };
            if let Probed::Overran(_) = grammar.run(&[], &rule, closings.table()) {
                witnesses.push(Witness { input: Vec::new(), rule });
            }
        }
        overruns += witnesses.len() as u64;
        let budget = closings.budget(STREAMS * (round + 1), overruns);
        if witnesses.is_empty() || budget == 0 {
            continue;
        }
        let (before, mut spent) = (closings.table().clone(), 0);
        let learner = Learner::new(closings, budget, Rng::of_task(1, round, 0));
        closings = learner
            .learn(std::iter::empty(), &witnesses, &mut |input, rule, table| {
                spent += 1;
                Ok(grammar.run(input, rule, table))
            })
            .unwrap();
        assert!(spent <= budget);
        closings.spent(spent, overruns, *closings.table() != before);
        execs += spent;
    }
    (closings, execs)
}

#[test]
fn sites_that_overran_end_every_grammar_in_the_fewest_draws() {
    let mut rng = Rng::of_task(7, 0, 0);
    let (mut endless, mut most) = (0, 0);
    let grammars = std::env::var("FUZZBOX_GRAMMARS").map_or(GRAMMARS, |text| text.parse().expect("a number"));
    for number in 0..grammars {
        let grammar = Grammar::random(&mut rng);
        let (closings, execs) = learned(&grammar, &mut rng, 8);
        most = most.max(execs);
        for _ in 0..20 {
            let probed = grammar.run(&[], &random(&mut rng), closings.table());
            assert!(matches!(probed, Probed::Ended(_)), "{number}: {:?} {closings:?}", grammar.0);
        }
        let rule = Rule { close: true, ..Rule::default() };
        let Probed::Ended(trace) = grammar.run(&[], &rule, closings.table()) else { panic!("{:?}", grammar.0) };
        let fewest = grammar.closed_by(&closings).sizes()[0];
        assert_eq!(Some(trace.draws.len() as u64), fewest, "{number}: {:?} {closings:?}", grammar.0);
        endless += u32::from(matches!(grammar.run(&[], &rule, &Closing::default()), Probed::Overran(_)));
        assert!(execs > 0 || closings.table().is_zero());
    }
    println!("{endless} grammars without an end by zeros, at most {most} executions");
    assert!(endless > grammars / 4);
}

#[test]
fn who_never_overruns_pays_nothing_and_who_always_does_pays_little() {
    let mut rng = Rng::of_task(8, 0, 0);
    let ends = Grammar(vec![vec![vec![], vec![0, 1]], vec![vec![], vec![0, 0]]]);
    assert_eq!(learned(&ends, &mut rng, 50).1, 0);
    let endless = Grammar(vec![vec![vec![0, 1], vec![1]], vec![vec![0], vec![1, 0]]]);
    let (closings, execs) = learned(&endless, &mut rng, 50);
    assert!(closings.table().is_zero());
    println!("{execs} executions");
    assert!((1..=EXECS_MIN + 50 * STREAMS / EXECS_SHARE).contains(&execs));
}

#[test]
fn what_testcases_show_is_known_without_executions() {
    // The leaf is in the middle, and nothing but testcases can be looked at.
    let grammar = Grammar(vec![vec![vec![0, 0], vec![], vec![0]]]);
    let ending = encode(&[0, 1, 1].map(Choice::Index));
    let Probed::Ended(trace) = grammar.run(&ending, &Rule::default(), &Closing::default()) else { panic!() };
    let sample = Node::of(&trace);
    let witness = Witness { input: Vec::new(), rule: Rule { close: true, ..Rule::default() } };
    let mut execs = 0;
    let learner = Learner::new(Closings::default(), 1, Rng::of_task(1, 0, 0));
    let closings = learner.learn([Some(&sample)].into_iter(), &[witness], &mut |input, rule, table| {
        execs += 1;
        Ok(grammar.run(input, rule, table))
    });
    assert_eq!((closings.unwrap().table().bytes(), execs), (&[0, 1][..], 1));
}
