//! Where the protocol's functions are among those that are appended.

use wasmparser::FuncType;

use crate::module::types::Types;
use crate::protocol::{Assembled, Imports};

/// Where the protocol's functions are among those that are appended.
#[derive(Clone, Copy)]
pub(crate) struct ProtocolFunctions {
    /// The index of the first.
    first: u32,
    /// Whether draws are recorded.
    pub(crate) recording: bool,
    /// Where the stream's area begins in the injected memory.
    pub(crate) start: u32,
}

impl ProtocolFunctions {
    pub(crate) fn new(first: u32, recording: bool, start: u32) -> ProtocolFunctions {
        ProtocolFunctions { first, recording, start }
    }

    /// How many functions there are: the bodies, then one to be exported for each import.
    pub(crate) fn count(self, imports: &Imports) -> u32 {
        (self.bodies(imports).len() + imports.all().len()) as u32
    }

    /// Which of the assembled functions are there, ascending.
    pub(crate) fn bodies(self, imports: &Imports) -> &[u32] {
        if self.recording { &imports.recording } else { &imports.reading }
    }

    /// The function index of an assembled function, which is there.
    pub(crate) fn index(self, imports: &Imports, body: u32) -> u32 {
        self.first + self.bodies(imports).binary_search(&body).expect("all that is called was put in") as u32
    }

    /// One of the functions that probes call.
    pub(crate) fn own(self, imports: &Imports, name: &str) -> u32 {
        self.index(imports, Assembled::get().export(name).expect("it is one of them"))
    }

    /// The imports' names, each once, and the functions to export for them.
    pub(crate) fn exports(self, imports: &Imports) -> impl Iterator<Item = (&'static str, u32)> {
        let first = self.first + self.bodies(imports).len() as u32;
        let mut seen = std::collections::BTreeSet::new();
        let all = (first..).zip(imports.all()).filter(move |&(_, &(_, body))| seen.insert(body));
        all.map(|(index, &(_, body))| (Assembled::get().name(body), index))
    }

    /// The functions' types, in order.
    pub(crate) fn types(self, imports: &Imports) -> Vec<Types> {
        let all = Assembled::get();
        let bodies = self.bodies(imports).iter().map(|&body| parts(all.ty(body)));
        let exported = imports.all().iter().map(|&(_, body)| {
            let (params, results) = parts(all.ty(body));
            (&params[..params.len() - 1], results)
        });
        bodies.chain(exported).collect()
    }
}

fn parts(ty: &'static FuncType) -> Types {
    (ty.params(), ty.results())
}
