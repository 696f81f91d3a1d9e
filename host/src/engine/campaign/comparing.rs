//! When comparisons are looked at: from then on there is a variant that records them.

use super::Campaign;
use crate::engine::retirement::Remaking;
use crate::engine::strategy::compares::Compares;
use crate::engine::workers::pool::Workers;
use crate::sandbox::{Code, History, Target, Unsuited, Variant, compiling, received};
use anyhow::{Context, Result};
use std::sync::mpsc::Receiver;

/// What of a large module was made in a hurry is optimised when the campaign has spent so much fuel for each byte of
/// code, several times what that takes. That is the variant that decides, in which a tenth of all executions are and
/// more. The traced one takes a fortieth of the time, so that is worth it much later.
const OLD_FUEL: u64 = 16_000;
const OLD_TO_TRACE_FUEL: u64 = 64 * OLD_FUEL;

/// Who makes the traced variant.
#[derive(Debug)]
pub(super) struct Tracing {
    /// In which code it is made first.
    code: Code,
    making: Option<Receiver<Result<Target>>>,
    /// The same in better code.
    remaking: Remaking,
}

impl Tracing {
    pub(super) fn new(code: Code) -> Self {
        Self { code, making: None, remaking: Remaking::default() }
    }

    /// Makes it again, of the same target that begins otherwise.
    pub(super) fn begin_again(&mut self) {
        *self = Self::new(self.code);
    }
}

impl Campaign {
    /// Switches off that comparisons are looked at. To be called before anything is executed.
    #[must_use]
    pub fn without_compares(mut self) -> Self {
        self.strategies.compares = Compares::new(false);
        self
    }

    /// Makes the variant that records what is compared, when the campaign has executed so much that compiling it is
    /// little beside. From which round on it is used depends on that alone, so whoever is faster waits for it. `false`
    /// if the campaign is to end.
    pub(super) fn trace(&mut self, workers: &Workers) -> Result<bool> {
        let (bytes, fuel) = (self.target().candidate.code_bytes(), self.fuel());
        let (is_needed, is_alone) = (self.strategies.need_traces(), self.strategies.mutants.is_alone());
        let is_due = |fuel| is_needed || !is_alone && self.strategies.compares.is_due(bytes, fuel);
        if let Some(traced) = &mut self.variants.traced {
            // Which of them it is makes no difference to what is recorded.
            let is_old = fuel >= OLD_TO_TRACE_FUEL.saturating_mul(bytes.into());
            let compares = self.progress.compares() && (is_old || !traced.is_quick());
            if let Some(made) = self.tracing.remaking.better(traced, compares, is_old)? {
                *traced = made;
            }
            return Ok(true);
        }
        if !is_due(fuel.saturating_mul(2)) {
            return Ok(true);
        }
        if self.tracing.making.is_none() {
            let metered = self.variants.metered.clone();
            let past = History::default();
            let past = if self.progress.compares() { past.comparing() } else { past };
            let code = self.tracing.code;
            self.tracing.making = Some(compiling(move || metered.in_variant_of((Variant::Traced, &past), code))?);
        }
        let is_due = is_needed || self.strategies.compares.is_due(bytes, fuel);
        let Some(receiver) = self.tracing.making.as_ref().filter(|_| is_due) else { return Ok(true) };
        let Some(made) = received(receiver, || workers.aborted()) else { return Ok(false) };
        match made {
            // The rest of the campaign goes on without it.
            Err(error) if error.is::<Unsuited>() && !is_needed => {
                self.strategies.compares = Compares::new(false);
                self.tracing.making = None;
            }
            made => {
                self.variants.traced = Some(made.context("failed to make the traced variant of the module")?.into());
            }
        }
        Ok(true)
    }

    /// Whether it pays to optimise what was made in a hurry: not while somebody waits for other code.
    pub(super) fn is_old(&self) -> bool {
        let is_waiting = self.tracing.making.is_some() && self.variants.traced.is_none();
        !is_waiting && self.fuel() >= OLD_FUEL.saturating_mul(self.target().candidate.code_bytes().into())
    }

    /// Fuel that all executions took, about, with what restoring takes.
    pub(super) fn fuel(&self) -> u64 {
        self.fuel_of(self.totals.execs)
    }

    /// Fuel that so many take.
    pub(super) fn fuel_of(&self, execs: u64) -> u64 {
        self.fuel_mean().saturating_add(RESTORE_FUEL).saturating_mul(execs)
    }
}

/// Fuel that restoring takes about as long as.
const RESTORE_FUEL: u64 = 4_000;
