//! What instances of a target showed that all its instances share, since they are equal.

use crate::sandbox::entry::Entry;
use crate::sandbox::imports::link::can_ask_for_snapshot;
use crate::sandbox::machine::registers::HANDLED;
use crate::sandbox::memory::Images;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::tables::TableImage;
use crate::settings::Settings;
use anyhow::Result;
use blake3::Hash;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock};

/// What is known of all instances once one was made.
#[derive(Debug, Default)]
pub(crate) struct InstanceFacts {
    /// What was tried before the first input; shared by variants, which do the same.
    attempts: Arc<Attempts>,
    /// Functions that ran before the first input.
    initialised: OnceLock<BTreeSet<u32>>,
    names: OnceLock<Vec<(u32, u32, String)>>,
    /// What memories hold when an instance is ready.
    images: Mutex<Images>,
    /// What tables hold then, in every variant.
    tables: Arc<TableImage>,
    /// A hash over the guest's state then, in every variant.
    state: Arc<OnceLock<Hash>>,
}

/// What is not tried again, because it was in vain; and what was done. The same for all instances, since they are
/// equal.
#[derive(Debug, Default)]
struct Attempts {
    no_heap: AtomicBool,
    no_warm_up: AtomicBool,
    done: OnceLock<Preparation>,
}

/// What is tried before the first input, and may be in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Growing the heap.
    Heap,
    /// A warm-up run that the guest only may have wanted.
    WarmUp,
}

/// What is left to be tried, and to be learned, by the next instance; and what it begins with.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Growing the heap was not in vain.
    pub(crate) heap: bool,
    /// Nor was a warm-up run.
    pub(crate) warm_up: bool,
    /// What initialisers give names is to be told.
    pub(crate) names: bool,
    /// So is which functions run before the first input.
    pub(crate) initialised: bool,
    /// What memories hold when it is ready, as far as that is known.
    pub(crate) images: Images,
    /// What tables hold then.
    pub(crate) tables: Arc<TableImage>,
}

/// What a new instance did, and what it was asked to tell.
#[derive(Debug)]
pub(crate) struct Lesson {
    pub(crate) done: Preparation,
    pub(crate) names: Option<Vec<(u32, u32, String)>>,
    pub(crate) initialised: Option<BTreeSet<u32>>,
    pub(crate) images: Images,
}

/// What was done before the first input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preparation {
    /// The heap was grown.
    pub(crate) heap: bool,
    /// Every input ends at an inaccessible page.
    pub(crate) closed_page: bool,
    /// The entry was called with the empty input.
    pub(crate) warm_up: bool,
}

impl InstanceFacts {
    /// What another variant of the module begins with.
    pub(crate) fn shared(&self) -> Self {
        Self {
            attempts: self.attempts.clone(),
            tables: self.tables.clone(),
            state: self.state.clone(),
            images: Mutex::new(self.images.lock().expect("no panic while held").for_variant()),
            ..Self::default()
        }
    }

    /// The same for instances that are made otherwise.
    pub(crate) fn without_attempts(self) -> Self {
        Self { attempts: Arc::default(), initialised: OnceLock::new(), state: Arc::default(), ..self }
    }

    /// A hash over the guest's state when an instance is ready, which `hashed` says if nobody asked before.
    pub(crate) fn state(&self, hashed: impl FnOnce() -> Result<Hash>) -> Result<Hash> {
        if let Some(state) = self.state.get() {
            return Ok(*state);
        }
        let state = hashed()?;
        Ok(*self.state.get_or_init(|| state))
    }

    /// The functions that ran before the first input, if that is known.
    pub(crate) fn initialised(&self) -> Option<&BTreeSet<u32>> {
        self.initialised.get()
    }

    /// What the next instance is to do.
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            heap: !self.attempts.no_heap.load(Relaxed),
            warm_up: !self.attempts.no_warm_up.load(Relaxed),
            names: self.names.get().is_none(),
            initialised: self.initialised.get().is_none(),
            images: self.images.lock().expect("no panic while held").clone(),
            tables: self.tables.clone(),
        }
    }

    /// This is not tried again.
    pub(crate) fn give_up(&self, attempt: Attempt) {
        let given_up = match attempt {
            Attempt::Heap => &self.attempts.no_heap,
            Attempt::WarmUp => &self.attempts.no_warm_up,
        };
        given_up.store(true, Relaxed);
    }

    /// Notes what an instance did, and what it was asked to tell.
    pub(crate) fn note(&self, lesson: Lesson) {
        let Lesson { done, names, initialised, images } = lesson;
        let noted = *self.attempts.done.get_or_init(|| done);
        debug_assert_eq!(noted, done, "instances are equal");
        if let Some(names) = names {
            self.names.get_or_init(|| names);
        }
        if let Some(functions) = initialised {
            self.initialised.get_or_init(|| functions);
        }
        let mut known = self.images.lock().expect("no panic while held");
        if known.len() < images.len() {
            *known = images;
        }
    }

    /// What was done before the first input, once an instance was made.
    pub(crate) fn done(&self) -> Option<Preparation> {
        self.attempts.done.get().copied()
    }

    /// What the guest's initialisers gave names: of what kind, the id, the name.
    pub(crate) fn names(&self) -> &[(u32, u32, String)] {
        self.names.get().map_or(&[], |names| names)
    }
}

impl Preparation {
    /// What will be done, as far as it can be foreseen: an allocator may refuse, a guest may not ask.
    pub(crate) fn expected(entry: &Entry, interface: &Interface, settings: &Settings) -> Self {
        Self {
            heap: settings.grow_heap_bytes > 0
                && !entry.is_program()
                && entry.way().has_heap(interface, settings.allocator),
            closed_page: HANDLED && entry.takes_bytes(),
            warm_up: settings.warm_up || entry.can_be_gone_on_with() && can_ask_for_snapshot(interface),
        }
    }
}
