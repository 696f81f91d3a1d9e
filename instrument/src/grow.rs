//! How the largest lists grow.

/// Makes room for one more. To double what there is, as vectors do, takes three times as much for a moment; these are
/// the largest there are.
pub(crate) fn grow_slowly<T>(items: &mut Vec<T>) {
    if items.len() == items.capacity() {
        items.reserve_exact(items.len() / 4 + 8);
    }
}
