//! Inputs that reached goals, and that a task did not come to: most are no testcases, and what they compare leads on.

use super::inside::Outer;
use super::keep_youngest;
use std::sync::Arc;

/// Inputs that are kept, and their bytes.
const INPUTS_MAX: usize = 256;
const BYTES_MAX: usize = 16 << 20;

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Reached {
    /// The testcase that it is inside of, if it is.
    pub(super) outer: Option<Outer>,
    pub(super) input: Arc<[u8]>,
}

/// Inputs that wait, the youngest last.
#[derive(Debug, Default)]
pub(super) struct Inputs(Vec<Arc<Reached>>);

impl Inputs {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that wait, the youngest first.
    pub(super) fn youngest(&self) -> impl ExactSizeIterator<Item = &Arc<Reached>> {
        self.0.iter().rev()
    }

    /// One was looked at.
    pub(super) fn remove(&mut self, seen: &Arc<Reached>) {
        self.0.retain(|reached| !Arc::ptr_eq(reached, seen));
    }

    /// Takes more, the youngest last, and forgets the oldest where that is too much.
    pub(super) fn add(&mut self, more: impl IntoIterator<Item = Reached>) {
        for reached in more {
            if !self.0.iter().any(|known| **known == reached) {
                self.0.push(Arc::new(reached));
            }
        }
        keep_youngest(&mut self.0, (INPUTS_MAX, BYTES_MAX), |reached| reached.input.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_youngest_stay_each_once() {
        let reached = |number: usize, len| {
            let mut input = vec![0; len];
            input[..8].copy_from_slice(&number.to_le_bytes());
            Reached { outer: None, input: input.into() }
        };
        let mut inputs = Inputs::default();
        inputs.add([1, 2, 1].map(|number| reached(number, 8)));
        assert_eq!(inputs.youngest().len(), 2);
        inputs.add((0..2 * INPUTS_MAX).map(|number| reached(number, 9)));
        assert_eq!(inputs.youngest().len(), INPUTS_MAX);
        assert_eq!(**inputs.youngest().next().unwrap(), reached(2 * INPUTS_MAX - 1, 9));
        let large = reached(3, BYTES_MAX);
        inputs.add([large.clone()]);
        assert_eq!(inputs.youngest().len(), 1);
        let only = inputs.youngest().next().unwrap().clone();
        assert_eq!(*only, large);
        inputs.remove(&only);
        assert_eq!(inputs.youngest().len(), 0);
    }
}
