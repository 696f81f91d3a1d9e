//! Hostile hands: guests that take all they can, and files made to harm.

mod appetite;
mod fuel_against_time;
mod mutants;
