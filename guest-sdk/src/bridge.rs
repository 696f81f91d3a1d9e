//! What was written for the crate `arbitrary`: types that make themselves of bytes.

use crate::Source;
use crate::source::REST_LEN_MAX;
use arbitrary::{Arbitrary, Unstructured};

/// Bytes for a value whose type doesn't say how many it takes at most.
const UNKNOWN_LEN_MAX: usize = 4096;

impl Source {
    /// A value of a type that implements [`Arbitrary`]: one blob, which the type interprets. Bytes that are no value are
    /// rejected.
    ///
    /// The blob is as long as the type's size hint says, or at most 4096 bytes. Its bytes are mutated and shrunk as bytes;
    /// draws ([`Source::draw`]) tell fuzzbox more.
    pub fn arbitrary<T: for<'a> Arbitrary<'a>>(&mut self) -> T {
        let (min, max) = T::size_hint(0);
        let bytes = self.bytes(min..=max.unwrap_or(UNKNOWN_LEN_MAX.max(min)));
        self.interpreted(&bytes, |bytes| T::arbitrary(bytes))
    }

    /// Hands bytes to a function that makes something of them: at most `len_max` bytes, as one blob; from 65,536 on all bytes
    /// there are.
    pub fn unstructured<T>(
        &mut self,
        len_max: usize,
        function: impl FnOnce(&mut Unstructured<'_>) -> arbitrary::Result<T>,
    ) -> T {
        let takes_all = len_max >= REST_LEN_MAX as usize;
        let bytes = if takes_all { self.rest() } else { self.bytes(..=len_max) };
        self.interpreted(&bytes, function)
    }

    fn interpreted<T>(
        &mut self,
        bytes: &[u8],
        function: impl FnOnce(&mut Unstructured<'_>) -> arbitrary::Result<T>,
    ) -> T {
        match function(&mut Unstructured::new(bytes)) {
            Ok(value) => value,
            Err(_) => self.reject("the bytes are no value of this type"),
        }
    }
}

/// The value for a fuzz target, made of all bytes.
pub fn target_value<'a, T: Arbitrary<'a>>(source: &mut Source, bytes: &'a [u8]) -> T {
    match T::arbitrary_take_rest(Unstructured::new(bytes)) {
        Ok(value) => value,
        Err(_) => source.reject("the bytes are no value of this type"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{Choice, Outcome, Seed, run};
    use alloc::vec::Vec;

    #[derive(Debug, PartialEq, Arbitrary)]
    struct Pixel {
        x: u16,
        on: bool,
    }

    #[test]
    fn a_type_reads_the_blob_that_was_drawn() {
        let run = run([Choice::Blob([1, 2, 1].to_vec())].to_vec().into(), |source| {
            assert_eq!(source.arbitrary::<Pixel>(), Pixel { x: 0x201, on: true });
        });
        assert_eq!(run.outcome, Outcome::Passed);
    }

    #[test]
    fn bytes_that_are_no_value_are_rejected() {
        let run = run(Vec::new().into(), |source| source.unstructured(9, |bytes| bytes.bytes(3).map(drop)));
        assert!(matches!(run.outcome, Outcome::Rejected(_)));
    }

    #[test]
    fn a_fuzz_target_sees_all_bytes_of_a_seed() {
        let seed = Seed::new(100, 5);
        run(seed.into(), |source| assert_eq!(source.rest(), seed.bytes()));
    }
}
