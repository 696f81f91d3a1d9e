//! Quality goals and laws, on properties in this process.

mod challenges;
mod laws;
mod protocol;
mod table;
