//! The module as it was given: what is accepted, how it is read, and what there is to know of it before its bodies are
//! planned.

pub(crate) mod access;
pub(crate) mod bodies;
pub(crate) mod claims;
pub(crate) mod excerpt;
pub(crate) mod features;
pub(crate) mod limits;
pub(crate) mod low;
pub(crate) mod names;
pub(crate) mod operators;
pub(crate) mod sections;
pub(crate) mod survey;
pub(crate) mod types;
pub(crate) mod validate;
