//! Who the functions of one build are.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Result;

use super::fingerprint::{self, Callees, Fingerprint};
use super::module::{self, Module};
use crate::module::survey::survey;
use crate::walk::edges;

/// Who the functions of one build are.
pub struct Identity {
    pub(super) functions: Vec<FunctionIdentity>,
    pub(super) module: Module,
    /// Fingerprints that don't depend on names, by function index.
    pub(super) bare: Vec<Fingerprint>,
    /// By edge number: the function.
    pub(super) edge_functions: Vec<u32>,
}

/// Who a function is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionIdentity {
    /// Its name as in [`EdgeMap::functions`](crate::EdgeMap::functions).
    pub name: Option<String>,
    /// Whether it is imported. Then its fingerprint is that of its name and type.
    pub imported: bool,
    /// What it is.
    pub fingerprint: Fingerprint,
    /// How many functions with the same fingerprint come before it.
    pub copy: u32,
    /// The numbers of its edges: those in [`EdgeMap::edges`](crate::EdgeMap::edges).
    pub edges: Range<u32>,
}

/// An edge's name across builds. Edges are numbered in the order of their offsets within the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeKey {
    /// The function's fingerprint.
    pub fingerprint: Fingerprint,
    /// Which of the functions with this fingerprint.
    pub copy: u32,
    /// The edge's number within the function.
    pub ordinal: u32,
}

impl Identity {
    /// Finds out who the functions of a module are.
    ///
    /// Takes a few times as much memory as the module, and keeps its data and the numbers in its code, for
    /// [`diff`](super::diff()).
    ///
    /// # Errors
    ///
    /// As [`instrument`](crate::instrument): the message says what the module is or has.
    pub fn of(wasm: &[u8]) -> Result<Identity> {
        let (survey, bodies) = survey(wasm)?;
        let edges = edges(&survey, bodies)?;
        let module = module::read_module(&survey)?;
        let fingerprints = fingerprint::fingerprints(&module, Callees::Named);
        let bare = fingerprint::fingerprints(&module, Callees::Shapes);
        let edge_functions: Vec<u32> = edges.iter().map(|edge| edge.function).collect();
        let mut copies: BTreeMap<Fingerprint, u32> = BTreeMap::new();
        let mut functions = Vec::with_capacity(module.functions.len());
        for ((index, function), &fingerprint) in (0u32..).zip(&module.functions).zip(&fingerprints) {
            let first = edge_functions.partition_point(|&other| other < index) as u32;
            let end = edge_functions.partition_point(|&other| other <= index) as u32;
            let copy = copies.entry(fingerprint).or_default();
            let (name, imported) = (survey.names[index as usize].clone(), function.imported);
            functions.push(FunctionIdentity { name, imported, fingerprint, copy: *copy, edges: first..end });
            *copy += 1;
        }
        Ok(Identity { functions, module, bare, edge_functions })
    }

    /// All functions by their indices, imported ones first.
    pub fn functions(&self) -> &[FunctionIdentity] {
        &self.functions
    }

    /// What a function is whatever anybody calls it, and how many of that come before it. The same in a module that has
    /// lost its names.
    pub fn nameless(&self, function: u32) -> Option<(Fingerprint, usize)> {
        let index = function as usize;
        let fingerprint = *self.bare.get(index)?;
        Some((fingerprint, self.bare[..index].iter().filter(|other| **other == fingerprint).count()))
    }

    /// An edge's name across builds, by its number in [`EdgeMap::edges`](crate::EdgeMap::edges).
    pub fn edge_key(&self, edge: u32) -> Option<EdgeKey> {
        let function = self.functions.get(*self.edge_functions.get(edge as usize)? as usize)?;
        let ordinal = edge - function.edges.start;
        Some(EdgeKey { fingerprint: function.fingerprint, copy: function.copy, ordinal })
    }
}
