//! Quality goals and laws, on properties in this process.

mod bytes;
mod challenges;
mod laws;
mod protocol;
mod random;
mod reencode;
mod table;
