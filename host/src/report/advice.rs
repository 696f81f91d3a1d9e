//! Remarks on campaigns that go wrong: what it looks like, and the flag that helps.

use super::Advice;
use crate::symbols::simplify;
use crate::text::{count, percent, printable, size};

/// Executions before which nothing is said: the first ones are not typical.
const EXECS_MIN: u64 = 20_000;
/// New edges are missed after this many executions at the earliest.
const EXECS_WITHOUT_NEW_EDGE_MIN: u64 = 1_000_000;
/// A campaign in which nothing was reached within this many executions is not connected to its input.
const EXECS_UNTIL_DEAF: u64 = 50_000;

/// Counters of a campaign so far. All are counts since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AdviceFacts {
    /// The target's name.
    pub target: String,
    /// Executions.
    pub execs: u64,
    /// Executions that the harness rejected (returned -1).
    pub rejected: u64,
    /// Executions that drew more choices than they may.
    pub overruns: u64,
    /// Executions of inputs that were as long as inputs may get.
    pub at_size_limit: u64,
    /// `--input-bytes-max`.
    pub input_bytes_max: u64,
    /// Edges reached.
    pub edges: u64,
    /// Different failures.
    pub failures: u64,
    /// Executions when the last new edge was reached.
    pub last_new_edge_execs: u64,
    /// Corpus entries.
    pub corpus: u64,
    /// Executions of which it is known what they took.
    pub sampled: u64,
    /// How many of these took so much that they may hang.
    pub hangs: u64,
    /// Fuel used, in the executions for which it is known by function; 0 if it isn't.
    pub fuel: u64,
    /// The function that used most of it, and how much.
    pub hottest: Option<(String, u64)>,
    /// What need not be advised.
    pub given: Flags,
}

/// What whoever started the campaign gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// First inputs: `--corpus`.
    pub corpus: bool,
    /// Words: `--dict`.
    pub dictionary: bool,
    /// When it ends: `--time` or `--execs`.
    pub end: bool,
}

impl Flags {
    /// What may help that was not given: `inputs` with the flag for them, `words` with theirs.
    fn missing(self, inputs: &str, words: &str) -> Option<String> {
        let inputs = (!self.corpus).then(|| format!("{inputs} with --corpus DIR"));
        let words = (!self.dictionary).then(|| format!("{words} with --dict FILE"));
        match (inputs, words) {
            (Some(inputs), Some(words)) => Some(format!("{inputs}, or {words}")),
            (one, other) => one.or(other),
        }
    }
}

/// Says each thing once per campaign.
#[derive(Debug, Default)]
pub(crate) struct Advisor {
    said: Vec<Topic>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topic {
    Deaf,
    Rejected,
    Overruns,
    SizeLimit,
    Hangs,
    Hottest,
    NoNewEdge,
}

impl Advisor {
    /// Starts a campaign's advice.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Gives the most important remark that applies and was not made yet. A function of the facts so far: two campaigns
    /// with the same facts get the same advice at the same execution.
    pub(crate) fn observe(&mut self, facts: &AdviceFacts) -> Option<Advice> {
        if facts.execs < EXECS_MIN {
            return None;
        }
        const TOPICS: [Topic; 7] = [
            Topic::Deaf,
            Topic::Rejected,
            Topic::Overruns,
            Topic::SizeLimit,
            Topic::Hangs,
            Topic::Hottest,
            Topic::NoNewEdge,
        ];
        let (topic, message) = TOPICS
            .into_iter()
            .filter(|topic| !self.said.contains(topic))
            .find_map(|topic| topic.remark(facts).map(|message| (topic, message)))?;
        self.said.push(topic);
        if topic == Topic::Deaf {
            // That no edges are new follows.
            self.said.push(Topic::NoNewEdge);
        }
        Some(Advice { target: facts.target.clone(), message })
    }
}

impl Topic {
    fn remark(self, facts: &AdviceFacts) -> Option<String> {
        match self {
            Self::Deaf => (facts.execs >= EXECS_UNTIL_DEAF && facts.corpus <= 1 && facts.failures == 0).then(|| {
                "every input takes the same path: the target may not read its input this way; `fuzzbox inspect` shows \
                 how it is called; --entry names another export, and after `--` an argument with `@@` is a file with the input"
                    .to_owned()
            }),
            Self::Rejected => is_share(facts.rejected, facts.execs, 90).then(|| {
                let missing = facts.given.missing("valid ones to start from", "the format's words");
                let help = missing.map_or_else(String::new, |missing| format!("; give it {missing}"));
                format!("the harness rejects {} of all inputs{help}", percent(facts.rejected, facts.execs))
            }),
            Self::Overruns => is_share(facts.overruns, facts.execs, 50).then(|| {
                format!(
                    "{} of all executions draw more than a stream may have, and end there; give lists and recursive \
                     types of the guest lower limits, or --entry another property",
                    percent(facts.overruns, facts.execs)
                )
            }),
            Self::SizeLimit => is_share(facts.at_size_limit, facts.execs, 50).then(|| {
                format!(
                    "{} of all inputs are at the size limit of {}; set it with --input-bytes-max: smaller to go \
                     faster, larger if the target needs more",
                    percent(facts.at_size_limit, facts.execs),
                    size(facts.input_bytes_max)
                )
            }),
            Self::Hangs => is_share(facts.hangs, facts.sampled, 5).then(|| {
                format!(
                    "{} of all inputs take far more fuel than any testcase, which takes most of the time; set the limit with \
                     --fuel-max, or shorten inputs with --input-bytes-max",
                    percent(facts.hangs, facts.sampled)
                )
            }),
            Self::Hottest => {
                let (function, fuel) = facts.hottest.as_ref().filter(|(_, fuel)| is_share(*fuel, facts.fuel, 80))?;
                Some(format!(
                    "`{}` takes {} of the fuel; leave it out of the fuzzing build if it is a checksum or a sleep, \
                     or shorten inputs with --input-bytes-max",
                    printable(&simplify(function)),
                    percent(*fuel, facts.fuel)
                ))
            }
            Self::NoNewEdge => {
                let without = facts.execs.saturating_sub(facts.last_new_edge_execs);
                // Finding the next edge takes longer and longer; twice the whole way until the last one is long.
                let long = facts.last_new_edge_execs.saturating_mul(2).max(EXECS_WITHOUT_NEW_EDGE_MIN);
                let missing = facts.given.missing("more inputs", "the format's words");
                let help = missing.map(|missing| format!("{missing}, may help"));
                let end = (!facts.given.end).then(|| "--time or --execs end a campaign".to_owned());
                let help: Vec<_> = help.into_iter().chain(end).collect();
                (without >= long && !help.is_empty())
                    .then(|| format!("no new edge in the last {} executions; {}", count(without), help.join("; ")))
            }
        }
    }
}

/// Whether `part` is at least `percent_min` percent of `whole`.
fn is_share(part: u64, whole: u64, percent_min: u64) -> bool {
    whole > 0 && u128::from(part) * 100 >= u128::from(whole) * u128::from(percent_min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> AdviceFacts {
        AdviceFacts {
            target: "json".to_owned(),
            execs: 100_000,
            edges: 500,
            corpus: 40,
            last_new_edge_execs: 90_000,
            input_bytes_max: 1 << 20,
            fuel: 1_000_000,
            hottest: Some(("parse".to_owned(), 400_000)),
            ..AdviceFacts::default()
        }
    }

    fn said(advisor: &mut Advisor, facts: &AdviceFacts) -> String {
        advisor.observe(facts).map(|advice| advice.message).unwrap_or_default()
    }

    #[test]
    fn a_healthy_campaign_gets_no_advice() {
        let mut advisor = Advisor::new();
        for execs in [0, 1, 50_000, 100_000, 200_000, 1_000_000] {
            assert_eq!(advisor.observe(&AdviceFacts { execs, last_new_edge_execs: execs / 2, ..facts() }), None);
        }
        let at_limits = AdviceFacts {
            rejected: 89_999,
            overruns: 49_999,
            at_size_limit: 49_999,
            sampled: 100_000,
            hangs: 4_999,
            hottest: Some(("parse".to_owned(), 799_999)),
            ..facts()
        };
        assert_eq!(advisor.observe(&at_limits), None);
    }

    #[test]
    fn each_thing_is_said_once_and_the_most_important_first() {
        let all = AdviceFacts {
            execs: 2_000_000,
            rejected: 1_900_000,
            overruns: 1_000_000,
            at_size_limit: 1_000_000,
            sampled: 2_000_000,
            hangs: 200_000,
            hottest: Some(("crc32".to_owned(), 900_000)),
            ..facts()
        };
        let mut advisor = Advisor::new();
        let begins = [
            "the harness rejects 95 %",
            "50 % of all executions draw more",
            "50 % of all inputs are at the size",
            "10 % of all inputs take",
            "`crc32` takes 90 %",
            "no new edge in the last 1.91 M",
        ];
        for begin in begins {
            let message = said(&mut advisor, &all);
            assert!(message.starts_with(begin) && message.contains("--"), "{message}");
        }
        assert_eq!(advisor.observe(&all), None);
    }

    #[test]
    fn a_target_that_does_not_hear_is_told_so_and_no_more() {
        let deaf = AdviceFacts { execs: 3_000_000, corpus: 1, last_new_edge_execs: 1, ..facts() };
        let mut advisor = Advisor::new();
        assert!(said(&mut advisor, &deaf).contains("inspect"));
        assert_eq!(advisor.observe(&deaf), None);
    }

    #[test]
    fn what_was_given_is_not_advised() {
        let stuck = AdviceFacts { execs: 9_000_000, rejected: 8_900_000, ..facts() };
        for corpus in [false, true] {
            for (dictionary, end) in [(false, false), (true, false), (false, true), (true, true)] {
                let given = Flags { corpus, dictionary, end };
                let mut advisor = Advisor::new();
                let said: Vec<_> =
                    std::iter::from_fn(|| advisor.observe(&AdviceFacts { given, ..stuck.clone() })).collect();
                let text: String = said.iter().map(|advice| &*advice.message).collect();
                assert_eq!(text.contains("--corpus"), !corpus, "{text}");
                assert_eq!(text.contains("--dict"), !dictionary, "{text}");
                assert_eq!(text.contains("--time") || text.contains("--execs"), !end, "{text}");
                assert!(text.starts_with("the harness rejects 98 % of all inputs"), "{text}");
            }
        }
    }

    #[test]
    fn absurd_counters_do_no_harm() {
        let absurd = AdviceFacts {
            execs: u64::MAX,
            rejected: u64::MAX,
            last_new_edge_execs: u64::MAX,
            fuel: 0,
            hottest: Some(("\x1b".to_owned(), u64::MAX)),
            ..facts()
        };
        let mut advisor = Advisor::new();
        while advisor.observe(&absurd).is_some() {}
    }
}
