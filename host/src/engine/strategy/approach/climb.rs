//! The alternating variable method (Korel, "Automated software test data generation", 1990): one variable of the input
//! is changed by one, up or down; if that is nearer, by two, four, eight ... in the same direction, as long as it gets
//! nearer still. Then again, until neither one more nor one less is nearer; then the next variable has its turn.

use super::score::Score;
use super::variables::Variable;
use crate::engine::aim::Pursuit;
use crate::engine::rng::Rng;
use crate::engine::strategy::View;
use crate::engine::strategy::compares::Form;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::Rule;
use anyhow::Result;
use std::sync::Arc;

/// An input, and how near it comes.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// As it is executed.
    pub(super) input: Vec<u8>,
    /// What of it is changed.
    pub(super) form: Arc<Form>,
    pub(super) score: Score,
}

/// Executes inputs that are to come nearer.
pub(super) struct Climber<'a, 'v> {
    pub(super) view: &'a View<'v>,
    pub(super) pursuit: &'a Pursuit,
    pub(super) worker: &'a mut Worker,
    pub(super) report: &'a mut Report,
    pub(super) rng: Rng,
    /// Executions that may still be made.
    pub(super) left: u64,
    /// See [`Score::of`].
    pub(super) marks: Vec<bool>,
}

/// How a climb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It got there.
    Hit,
    /// No variable leads nearer.
    Stuck,
    /// Its executions are spent.
    Spent,
}

/// What a change of one variable came to.
enum Moved {
    /// It is no nearer.
    No,
    /// It is nearer, and the next one can be changed.
    Nearer,
    /// It is another way by now, with other variables.
    Elsewhere,
}

impl Climber<'_, '_> {
    /// Executes an input; `None` if no executions are left.
    pub(super) fn execute(&mut self, input: &[u8], rule: &Rule) -> Result<Option<Point>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let View { variants, known, .. } = *self.view;
        let (_, observation) = self.worker.execute_traced(variants, known, (input, rule), self.report)?;
        let score = Score::of(self.pursuit, observation, &mut self.marks);
        let (input, form) = if variants.metered.takes_choices() {
            let form = Form::of(&observation.draws().canonical());
            (form.input(form.bytes()).into_owned(), form)
        } else {
            (input.to_vec(), Form::plain(input))
        };
        Ok(Some(Point { input, form: Arc::new(form), score }))
    }

    /// Goes on from a point, which is left where that ends.
    pub(super) fn climb(&mut self, best: &mut Point) -> Result<End> {
        loop {
            if best.score == Score::HIT {
                return Ok(End::Hit);
            }
            let Some(variables) = self.variables(best)? else { continue };
            let mut is_nearer = false;
            for variable in variables {
                match self.descend(best, variable)? {
                    _ if best.score == Score::HIT => return Ok(End::Hit),
                    Moved::No => {}
                    Moved::Nearer => is_nearer = true,
                    Moved::Elsewhere => {
                        is_nearer = true;
                        break;
                    }
                }
                if self.left == 0 {
                    return Ok(End::Spent);
                }
            }
            if self.left == 0 {
                return Ok(End::Spent);
            }
            if !is_nearer {
                return Ok(End::Stuck);
            }
        }
    }

    /// Changes one variable until neither one more nor one less is nearer.
    fn descend(&mut self, best: &mut Point, variable: Variable) -> Result<Moved> {
        let mut moved = Moved::No;
        'explore: loop {
            for direction in [1_i64, -1] {
                let mut step = direction;
                loop {
                    let (level, form) = (best.score.level, best.form.clone());
                    if !self.is_nearer(best, &variable, step)? {
                        break;
                    }
                    if best.score.level != level || !form.is_alike(&best.form) {
                        return Ok(Moved::Elsewhere);
                    }
                    (moved, step) = (Moved::Nearer, step.saturating_mul(2));
                }
                if step != direction {
                    continue 'explore;
                }
            }
            return Ok(moved);
        }
    }

    /// Executes a point with a variable changed by so much, and takes that if it is nearer.
    fn is_nearer(&mut self, best: &mut Point, variable: &Variable, by: i64) -> Result<bool> {
        let Some(input) = variable.changed(&best.form, by, self.len_max()) else { return Ok(false) };
        self.takes(best, &input)
    }

    /// Executes an input, and takes it if it is nearer.
    pub(super) fn takes(&mut self, best: &mut Point, input: &[u8]) -> Result<bool> {
        let Some(point) = self.execute(input, &Rule { close: true, ..Rule::default() })? else { return Ok(false) };
        let is_nearer = point.score < best.score;
        if is_nearer {
            *best = point;
        }
        Ok(is_nearer)
    }

    /// The longest input, in bytes.
    pub(super) fn len_max(&self) -> usize {
        self.view.variants.metered.candidate.settings.input_bytes_max as usize
    }
}
