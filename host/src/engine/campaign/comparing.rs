//! When comparisons are looked at: from then on there is a variant that records them.

use super::Campaign;
use crate::engine::strategy::compares::Compares;
use crate::engine::workers::pool::Workers;
use crate::sandbox::{History, Target, Variant, compiling, received};
use anyhow::{Context, Result};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Who makes the traced variant.
#[derive(Debug, Default)]
pub(super) struct Tracing {
    making: Option<Receiver<Result<Target>>>,
    /// Who makes it again with code that compares addresses.
    comparing: Option<Receiver<Result<Arc<Target>>>>,
    /// That was begun, or done.
    was_compared: bool,
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
        if let Some(traced) = self.variants.traced.clone() {
            return self.compare_addresses_in(traced).map(|()| true);
        }
        if !is_due(fuel.saturating_mul(2)) {
            return Ok(true);
        }
        if self.tracing.making.is_none() {
            let metered = self.variants.metered.clone();
            let past = History::default();
            let past = if self.progress.compares() { past.comparing() } else { past };
            self.tracing.making = Some(compiling(move || metered.in_variant_after(Variant::Traced, &past))?);
        }
        let is_due = is_needed || self.strategies.compares.is_due(bytes, fuel);
        let Some(receiver) = self.tracing.making.as_ref().filter(|_| is_due) else { return Ok(true) };
        let Some(made) = received(receiver, || workers.aborted()) else { return Ok(false) };
        self.variants.traced = Some(made.context("failed to make the traced variant of the module")?.into());
        Ok(true)
    }

    /// Goes over to a traced variant whose code compares addresses, if that pays and it is ready: it makes no
    /// difference to what is recorded.
    fn compare_addresses_in(&mut self, traced: Arc<Target>) -> Result<()> {
        let Tracing { comparing, was_compared, .. } = &mut self.tracing;
        if !*was_compared && self.progress.compares() && !traced.compares_addresses() {
            *comparing = Some(compiling(move || traced.comparing())?);
            *was_compared = true;
        }
        if let Some(made) = comparing.as_ref().and_then(|made| made.try_recv().ok()) {
            self.variants.traced = Some(made.context("failed to let the traced variant compare addresses")?);
            *comparing = None;
        }
        Ok(())
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
