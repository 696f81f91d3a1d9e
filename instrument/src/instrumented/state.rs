//! Where all state of a module can be reached.

use crate::added::Additions;
use crate::module::survey::Survey;

/// Names of the exports that were added so that the host can save and restore all state of an instance: all memories
/// and tables but the injected memory, and all mutable globals, imported ones too, in the order of their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateExports {
    /// Memory i is exported as `memories[i]`.
    pub memories: Vec<String>,
    /// Table i is exported as `tables[i]`.
    pub tables: Vec<String>,
    /// The mutable globals.
    pub globals: Vec<String>,
    /// A function without parameters and results that saves the values of all mutable globals within the instance, and
    /// one that gives them back. `None` if there are no mutable globals.
    pub save_globals: Option<String>,
    /// See `save_globals`; to be called only after it.
    pub restore_globals: Option<String>,
    /// Why the state can't be restored by setting these to values they had, if so: then an instance is good for one
    /// execution. (What *may* happen and can't be undone, as dropping a segment, has a flag in
    /// [`layout`](crate::layout) instead.)
    pub irreversible: Option<&'static str>,
}

impl StateExports {
    pub(crate) fn new(survey: &Survey<'_>, added: &Additions, changes_objects: bool) -> StateExports {
        let name = |kind: &str, index: u32| format!("{}{kind}:{index}", survey.export_prefix);
        let function = |kind: &str| format!("{}{kind}", survey.export_prefix);
        StateExports {
            memories: (0..survey.memories).map(|index| name("memory", index)).collect(),
            tables: (0..survey.tables).map(|index| name("table", index)).collect(),
            globals: survey.mutable_globals.iter().map(|&(index, _)| name("global", index)).collect(),
            save_globals: added.globals.map(|_| function("save")),
            restore_globals: added.globals.map(|_| function("restore")),
            irreversible: changes_objects.then_some("its code allocates or changes garbage-collected objects"),
        }
    }
}
