//! Stores: nothing is lost, nothing outside of them is touched, and names stay good.

mod foreign;
mod kept;
mod kill;
mod machines;
mod names_that_stay;
mod recompiles;
mod shared;
mod unchanged;
