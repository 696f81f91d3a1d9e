//! What is tried in turn, each of it once: what is the same takes as long, and shows the same.

/// Adds what is not among them.
pub(in crate::engine::strategy::compares) fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}
