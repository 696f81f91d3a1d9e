//! The variants whose cost is measured.

use fuzzbox_instrument::{EdgeSet, Options};

/// Each by its name.
pub(super) fn variants() -> Vec<(&'static str, Options)> {
    let mut noselect = Options::full();
    noselect.selects = false;
    if std::env::var("W").is_ok() {
        return vec![("full", Options::full()), ("nosel", noselect)];
    }
    vec![("full", Options::full()), ("fast", Options::fast(EdgeSet::default())), ("traced", Options::traced())]
}
