//! Running properties natively: under `cargo test`, from seeds, from stored streams, from files.
//!
//! A property that [`crate::property!`] defines is a test too. What that test does is [`check`]; what it is made of can be used
//! on its own:
//!
//! ```
//! use fuzzbox_guest::native::{self, Outcome, Search, Seed};
//!
//! fn small(source: &mut fuzzbox_guest::Source) {
//!     let numbers: Vec<u8> = source.vec(0..=9, |source| source.int(0..=255));
//!     assert!(numbers.iter().all(|&number| number < 200));
//! }
//!
//! // One execution:
//! let run = native::run(Seed::new(64, 7).into(), small);
//! // All choices it made; given again, they are the same execution.
//! let again = native::run(run.choices.clone().into(), small);
//! assert_eq!(again.choices, run.choices);
//! // A search; always the same one.
//! let failure = Search::default().find("small", small).expect("there is a failure");
//! assert!(matches!(failure.run.outcome, Outcome::Failed(_)));
//! ```

mod cargo_test;
mod catch;
mod choice;
mod entropy;
mod floats;
mod search;
mod tape;

pub use cargo_test::{CheckBytes, Property, check};
pub use catch::{Outcome, Run, run};
pub use choice::{Choice, decode, encode};
pub use entropy::Seed;
pub use search::{Failure, Search};
pub use tape::{CHOICES_MAX, Input, RANDOM_CHOICES_MAX, SpanRecord, ValueRecord};

pub(crate) use tape::Backend;
