//! Properties for fuzzbox in Rust: what a guest draws its values with, and what checks them natively too.
//!
//! ```
//! use fuzzbox_guest::property;
//!
//! fn sort(list: &mut Vec<u8>) {
//!     list.sort();
//! }
//!
//! property! {
//!     /// Sorting again changes nothing.
//!     fn sorts_once(list: Vec<u8>) {
//!         let mut once = list;
//!         sort(&mut once);
//!         let mut twice = once.clone();
//!         sort(&mut twice);
//!         assert_eq!(once, twice);
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Compiled to WebAssembly (`crate-type = ["cdylib"]`), the module exports `fbx_sorts_once`, which fuzzbox calls; every draw is
//! an import of the module `fuzzbox_v1`, which fuzzbox puts in as WebAssembly code. Under `cargo test` the same property is
//! a test ([`native`]). A stream that fails here fails there.
//!
//! - [`property!`] defines properties, `fuzz_target!` (feature `arbitrary`) takes what was written for other fuzzers.
//! - [`Source`] is what properties draw from; [`Generate`] are types that say how they are drawn, [`generator`] has generators
//!   as values, to be combined.
//! - [`Domain`] is for finite sets whose values have numbers: one draw is any of them, each alike.
//! - [`Scenario`] says in advance what is lost in a simulation, and until when.
//! - [`Value`] is for properties in two parts, whose values survive a change of the generator.
//! - [`index`], [`float`] and [`text`] say what the numbers in a stream mean.
//!
//! In WebAssembly the crate needs no std and, without the default features, no other crate. Natively it uses std.
//!
//! | feature | by default | for |
//! | --- | --- | --- |
//! | `std` | yes | guests with std: their panics become notes |
//! | `derive` | yes | `#[derive(Generate, Value)]` |
//! | `panic-handler` | no | guests without std: a panic handler whose message becomes a note |
//! | `arbitrary` | no | types and functions written for the crate `arbitrary` |
#![no_std]

extern crate alloc;
#[cfg(any(not(target_family = "wasm"), feature = "std"))]
extern crate std;

#[cfg(feature = "arbitrary")]
mod bridge;
mod domain;
pub mod float;
mod generate;
pub mod generator;
#[cfg(target_family = "wasm")]
mod imports;
pub mod index;
mod integer;
mod label;
#[cfg(not(target_family = "wasm"))]
pub mod native;
mod panics;
mod property;
mod range;
mod scenario;
mod size;
mod source;
pub mod text;
pub mod value;

pub use domain::Domain;
#[cfg(feature = "derive")]
pub use fuzzbox_guest_derive::{Generate, Value};
pub use generate::Generate;
pub use generator::{Generator, any, boxed, ints, just, option, recursive, vec, weighted};
pub use integer::Integer;
pub use label::{label, label64};
pub use range::Lengths;
pub use scenario::Scenario;
pub use size::{INFINITE, Sizes, total_size};
pub use source::{NameKind, Source};
pub use value::Value;

mod backend {
    #[cfg(target_family = "wasm")]
    pub(crate) use crate::imports::Backend;
    #[cfg(not(target_family = "wasm"))]
    pub(crate) use crate::native::Backend;
}

/// What macros need.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "arbitrary")]
    pub use crate::bridge::target_value;
    pub use crate::label::mix;
    pub use crate::property::{draw_noted, give};
    #[cfg(target_family = "wasm")]
    pub use crate::property::{export, export_check};
    pub use alloc::vec;
    pub use alloc::vec::Vec;
    #[cfg(feature = "arbitrary")]
    pub use arbitrary;
}

/// The examples of the manual.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
mod manual {}
