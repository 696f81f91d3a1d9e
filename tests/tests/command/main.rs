//! The command: what its verbs take, print and leave.

mod against;
mod bad_input;
mod call;
mod cargo_fuzz;
mod cfg;
mod checked_first;
mod ci;
mod debug_info;
mod endings;
mod gate;
mod goals;
mod grammar;
mod linking;
mod mutators;
mod names;
mod new_guest;
mod output;
mod run;
mod shrink;
mod strategies;
mod told_ids;
