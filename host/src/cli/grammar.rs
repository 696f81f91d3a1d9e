//! Files of grammars.

use super::exit::{Fault, UserError};
use super::input::read_at_most;
use super::write::shown;
use crate::grammar::Grammar;
use anyhow::Context;
use std::path::Path;
use std::sync::Arc;

/// A larger grammar is refused, in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Reads a grammar that a person named.
pub(super) fn read(path: &Path) -> Result<Arc<Grammar>, Fault> {
    let read = || Grammar::parse(&String::from_utf8(read_at_most(path, BYTES_MAX, "")?)?);
    read().with_context(|| format!("failed to read grammar `{}`", shown(path))).map(Arc::new).blame_user()
}
