//! State of which it is known whether somebody may have changed it.

use std::ops::{Deref, DerefMut};

/// A value that is restored only if somebody had it to change since: most executions call nothing of WASI.
#[derive(Debug)]
pub(super) struct Tracked<T> {
    value: T,
    /// Somebody had it to change since it was made or restored.
    touched: bool,
}

impl<T> Tracked<T> {
    /// A value that is what it would be restored to.
    pub(super) fn new(value: T) -> Self {
        Self { value, touched: false }
    }

    /// Restores the value, if it may have changed.
    pub(super) fn restore(&mut self, restore: impl FnOnce(&mut T)) {
        if std::mem::take(&mut self.touched) {
            restore(&mut self.value);
        }
    }
}

impl<T> Deref for Tracked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Tracked<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.touched = true;
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_touched_is_not_restored_and_all_else_is_once() {
        let mut tracked = Tracked::new(vec![1]);
        assert_eq!(tracked.len(), 1);
        tracked.restore(|_| panic!("nobody touched it"));
        tracked.push(2);
        tracked.restore(|value| value.truncate(1));
        tracked.restore(|_| panic!("it was restored"));
        assert_eq!(*tracked, [1]);
    }
}
