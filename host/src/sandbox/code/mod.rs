//! Machine code: what is put into a module, how it is compiled, and where it is kept.

pub(super) mod background;
pub(super) mod cache;
pub(super) mod compiled;
pub(super) mod compiler;
pub(super) mod history;
pub(super) mod variant;
