//! Targets whose executions begin where first inputs left the guest.
//!
//! # Warm and cold
//!
//! Who begins with an empty heap grows its memory in each execution, which takes system calls or comparisons of all
//! addresses (`sandbox/memory`). Once it has executed a few inputs its allocator has what they needed, and what comes
//! then takes from that. So a campaign that sees its guest grow again and again has instances execute inputs before
//! the snapshot is taken: they are *warm* then. That is for finding inputs only. A warm guest may have tables, caches
//! and dirty blocks that a new one has not; so what fails, and what is kept, is executed in a *cold* instance as well,
//! and that alone is what findings and results say (`engine/campaign/warming`).

use crate::sandbox::targets::instance_facts::InstanceFacts;
use crate::sandbox::targets::{OptimisedTargets, Target};
use std::fmt;
use std::sync::Arc;

/// What instances execute before their first input.
#[derive(Clone)]
pub(in crate::sandbox) struct Warmth {
    /// In this order. None of them fails.
    pub(in crate::sandbox) inputs: Arc<[Arc<[u8]>]>,
    /// The target that begins as the module does.
    pub(in crate::sandbox) cold: Arc<Target>,
}

impl fmt::Debug for Warmth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Warmth").field("inputs", &self.inputs.len()).finish_non_exhaustive()
    }
}

impl Target {
    /// The inputs that instances execute before their first.
    pub fn warm_up_inputs(&self) -> &[Arc<[u8]>] {
        self.warmth.as_ref().map_or(&[], |warmth| &warmth.inputs)
    }

    /// The same target, whose instances begin as the module does; the one that decides what fails, if another does.
    pub fn cold(self: &Arc<Self>) -> &Arc<Self> {
        let exact = self.exact();
        let exact = exact.optimised_by_now().unwrap_or(exact);
        exact.warmth.as_ref().map_or(exact, |warmth| &warmth.cold)
    }

    /// The same target, whose instances execute these inputs before their first. If the entry doesn't return from each
    /// of them no instance can be made.
    #[must_use]
    pub fn warm(self: &Arc<Self>, inputs: Arc<[Arc<[u8]>]>) -> Self {
        if let Some(exact) = &self.exact {
            return exact.warm(inputs);
        }
        let cold = self.cold().clone();
        Self {
            candidate: self.candidate.clone(),
            edges: self.edges.clone(),
            variant: self.variant.clone(),
            rewritten: self.rewritten.clone(),
            groups: self.groups.clone(),
            functions: self.functions.clone(),
            code: self.code.clone(),
            stop: self.stop.clone(),
            imports: self.imports.clone(),
            mutate: self.mutate.clone(),
            restores: self.restores,
            cache: self.cache.clone(),
            warmth: Some(Warmth { inputs, cold }),
            learned: InstanceFacts::default(),
            against: self.against.clone(),
            exact: None,
            optimised: OptimisedTargets::default(),
        }
    }
}
