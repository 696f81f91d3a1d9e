//! The variants whose cost is measured.

use fuzzbox_instrument::{EdgeSet, Options};

/// Each by its name.
pub(super) fn variants() -> Vec<(&'static str, Options)> {
    vec![("full", Options::full()), ("fast", Options::fast(EdgeSet::default())), ("traced", Options::traced())]
}
