//! The other build that a target is compared with.

use crate::failure::signature_of;
use crate::outcome::{FailureKind, Outcome};
use crate::sandbox::targets::Target;
use crate::settings::Observable;
use crate::symbols::Symbols;
use fuzzbox_instrument::protocol;
use std::sync::{Arc, OnceLock};

/// The other build, ready to be executed.
#[derive(Clone, Debug)]
pub(crate) struct Against {
    /// In a variant that goes with the target's.
    pub(crate) target: Arc<Target>,
    /// Its names and lines; the same in all variants.
    symbols: Arc<OnceLock<Symbols>>,
}

impl Against {
    pub(in crate::sandbox) fn new(target: Target) -> Self {
        Self { target: Arc::new(target), symbols: Arc::default() }
    }

    /// The same build in another variant.
    pub(in crate::sandbox) fn with(&self, target: Arc<Target>) -> Self {
        Self { target, symbols: self.symbols.clone() }
    }

    /// What a failure of the other build is called.
    pub(in crate::sandbox) fn signature(&self, outcome: &Outcome) -> String {
        let Target { candidate, edges, .. } = &*self.target;
        let names = |index| edges.function_name(index).map(str::to_owned);
        let symbols = self.symbols.get_or_init(|| Symbols::new(candidate.bytes().clone(), names));
        signature_of(outcome, symbols).name
    }
}

impl Target {
    /// Whether this is compared with what another build shows.
    pub(crate) fn compares(&self, observable: Observable) -> bool {
        self.against.is_some() && self.candidate.settings.compare.has(observable)
    }

    /// Whether what is compared is recorded in the variant alone that decides: what is drawn, and what the guest tells.
    pub(crate) fn compares_records(&self) -> bool {
        let tells = |target: &Self| {
            let imports = &target.candidate.interface.imports;
            imports.iter().any(|import| protocol::is_function(&import.module, &import.name))
        };
        let other = self.against.as_ref().is_some_and(|against| tells(&against.target));
        self.against.is_some() && (self.takes_choices() || self.compares(Observable::Value) && (tells(self) || other))
    }
}

/// Whether an execution ended because it ran into a limit. Builds need different amounts of what is limited.
pub(in crate::sandbox) fn is_at_limit(outcome: &Outcome) -> bool {
    use crate::outcome::TrapKind as K;
    match outcome.failure() {
        Some((FailureKind::Hang | FailureKind::OutOfMemory, _)) => true,
        Some((_, trap)) => match trap.kind {
            K::StackOverflow | K::GcHeapFull | K::AllocationTooLarge => true,
            // C's stack is in memory, and ends where nothing lies.
            K::MemoryOutOfBounds | K::NullWrite => trap.frames.len() >= crate::outcome::Trap::FRAMES_MAX,
            _ => false,
        },
        None => false,
    }
}
