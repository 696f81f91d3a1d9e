//! The protocol's functions that a module imports.

use anyhow::{Result, ensure};
use wasmparser::FuncType;

use super::assembled::{Assembled, OWN};
use super::functions::{MODULE, is_function, own_params, signature};

/// The protocol's functions that a module imports.
#[derive(Default)]
pub(crate) struct Imports {
    /// Function index in the module, and index among the assembled functions; ascending.
    functions: Vec<(u32, u32)>,
    /// Whether one of them draws.
    pub(crate) draw: bool,
    /// Which of the assembled functions are needed, ascending: without records, and with them.
    pub(crate) reading: Vec<u32>,
    pub(crate) recording: Vec<u32>,
}

impl Imports {
    /// Looks for the protocol among imported functions: module, name, type.
    pub(crate) fn find<'a>(imports: impl Iterator<Item = (&'a str, &'a str, Option<&'a FuncType>)>) -> Result<Imports> {
        let mut found = Imports::default();
        for (function, (module, name, ty)) in (0..).zip(imports) {
            if !is_function(module, name) {
                continue;
            }
            let Some(body) = Assembled::get().export(name) else { continue };
            let right = Assembled::get().ty(body);
            let (params, results) = (own_params(right), right.results());
            let fits = ty.is_some_and(|ty| ty.params() == params && ty.results() == results);
            ensure!(
                fits,
                "imports {MODULE}.{name} with the type {}, but it is {}",
                ty.map_or("of something else".to_owned(), |ty| signature(ty.params(), ty.results())),
                signature(params, results)
            );
            found.draw |= Assembled::get().draws(body);
            found.functions.push((function, body));
        }
        found.close();
        Ok(found)
    }

    /// The assembled function that an imported one stands for.
    pub(crate) fn body(&self, function: u32) -> Option<u32> {
        let place = self.functions.binary_search_by_key(&function, |&(function, _)| function).ok()?;
        Some(self.functions[place].1)
    }

    /// The name of an imported function, if it is one of the protocol's.
    pub(crate) fn name(&self, function: u32) -> Option<&'static str> {
        self.body(function).map(|body| Assembled::get().name(body))
    }

    /// All of them: function index in the module, index among the assembled functions.
    pub(crate) fn all(&self) -> &[(u32, u32)] {
        &self.functions
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Finds out which bodies are needed.
    fn close(&mut self) {
        let own: Vec<u32> = if self.draw {
            OWN.map(|name| Assembled::get().export(name).expect("it is there")).into()
        } else {
            Vec::new()
        };
        let imported = self.functions.iter().map(|&(_, body)| body);
        self.reading = closure(imported.clone().collect());
        self.recording = closure(imported.chain(own).collect());
    }
}

/// These functions and all that they reach, ascending.
fn closure(mut todo: Vec<u32>) -> Vec<u32> {
    let all = Assembled::get();
    let mut found = std::collections::BTreeSet::new();
    while let Some(body) = todo.pop() {
        if found.insert(body) {
            todo.extend(all.callees(body));
        }
    }
    found.into_iter().collect()
}
