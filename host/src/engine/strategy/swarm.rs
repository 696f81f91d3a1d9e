//! An overlay: some of what a guest can do is switched off, something else each time.
//!
//! Swarm testing (Groce, Zhang, Eide, Chen and Regehr, "Swarm testing", ISSTA 2012): each test leaves out about half of
//! the features, so that those that stay are used much more, and what others would prevent happens. The features are
//! those that a guest asks for (`feature`) before it draws anything else. A choice of them takes the
//! place of the first choices of each stream.
//!
//! What needs what others make comes to nothing without these ([`features`](crate::engine::features)):
//!
//! | option | |
//! | --- | --- |
//! | none | each is on in half of all choices |
//! | `deps` | for all that a rule needs a rule that makes it is on; of what needs nothing something that needs it is |
//! | `parents` | for each rule one is on that needs what it makes, too |

use super::member::{AnyLearned, AnyTask, Member};
use super::{Cost, Spent, View, shown};
use crate::engine::corpus::Corpus;
use crate::engine::features::{Completion, Features};
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::{Rule, Tail};
use anyhow::Result;
use fuzzbox_instrument::layout::stream::{ENTRY_FEATURE, REPORT_NAME};
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A strategy whose executions have some features only.
#[derive(Debug)]
pub(super) struct Swarm {
    inner: Box<dyn Member>,
    completion: Completion,
    /// What the guest asks for first, by name; `None` before that is known.
    features: Option<Arc<Features>>,
}

/// A task; `None` finds out which features there are.
type Dressed = Option<AnyTask>;

/// What a task learned.
enum Learned {
    Inner(AnyLearned),
    Features(Features),
}

impl Swarm {
    /// The options' names.
    pub(super) const OPTIONS: &[&str] = &["deps", "parents"];

    pub(super) fn new(options: &[String], inner: Box<dyn Member>) -> Self {
        let has = |name: &str| options.iter().any(|option| option == name);
        let completion = match (has("parents"), has("deps")) {
            (true, _) => Completion::Parents,
            (_, true) => Completion::Needs,
            _ => Completion::None,
        };
        Self { inner, completion, features: None }
    }
}

/// Executes the simplest stream, and tells which features the guest asks for before it draws anything else.
fn asked_first(view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Features> {
    worker.input.clear();
    worker.rule = Rule { tail: Tail::Zero, wrap: false, close: true };
    let (_, observation) = shown::execute(view, worker, report)?;
    // Who is asked for twice draws once, and whether to report is no draw.
    let (mut known, mut names) = (BTreeSet::new(), Vec::new());
    for entry in observation.entries().filter(|entry| entry.kind == ENTRY_FEATURE) {
        let name = String::from_utf8_lossy(entry.text).into_owned();
        if name == REPORT_NAME || !known.insert(name.clone()) {
            continue;
        }
        // It was drawn before it was told.
        if entry.draws as usize != names.len() + 1 {
            break;
        }
        names.push(name);
    }
    Ok(Features::of(&names))
}

impl Member for Swarm {
    fn inner(&self) -> &dyn Member {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.inner
    }

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<(AnyTask, Cost)> {
        if self.features.is_none() && view.variants.metered.takes_choices() {
            let task: Dressed = None;
            return vec![(Box::new(task), Cost { execs: 1, fuel: view.fuel_mean })];
        }
        let dress = |(task, cost)| {
            let task: Dressed = Some(task);
            (Box::new(task) as AnyTask, cost)
        };
        self.inner.plan(view, execs).into_iter().map(dress).collect()
    }

    fn run(
        &self,
        task: &(dyn Any + Send + Sync),
        view: &View<'_>,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<AnyLearned> {
        let task: &Dressed = task.downcast_ref().expect("it is a task of its own");
        let Some(task) = task else {
            return Ok(Box::new(Learned::Features(asked_first(view, worker, report)?)));
        };
        let some = self.features.as_ref().filter(|features| features.count() > 0);
        worker.swarm = some.map(|features| (features.clone(), self.completion, view.seed));
        let learned = self.inner.run(&**task, view, worker, report);
        worker.swarm = None;
        Ok(Box::new(Learned::Inner(learned?)))
    }

    fn learn(&mut self, task: AnyTask, learned: AnyLearned, spent: Spent, corpus: &mut Corpus) {
        let task: Box<Dressed> = task.downcast().expect("it is a task of its own");
        match (*task, *learned.downcast().expect("it is what its task learned")) {
            (Some(task), Learned::Inner(learned)) => self.inner.learn(task, learned, spent, corpus),
            (_, Learned::Features(features)) => self.features = Some(Arc::new(features)),
            (None, Learned::Inner(_)) => unreachable!("who asks for features learns these"),
        }
    }
}
