//! The list of what is compared.

use fuzzbox_instrument::Options;

/// Names and options of the variants that are compared with the plain module.
pub(super) fn variants() -> Vec<(&'static str, Options)> {
    vec![("full", Options::default())]
}
