//! Every way in which a target can be given its input, and what comes before the first one.

mod found;
mod go;
mod personalities;
mod prepared;
mod recipes;
mod refused;
mod values;

use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::Settings;
use std::sync::Arc;

/// Settings for small guests.
fn settings() -> Settings {
    Settings { fuel_max: 1_000_000, memory_bytes_max: 32 << 20, input_bytes_max: 4096, ..Settings::default() }
}

/// The same for the export `run`.
fn named() -> Settings {
    Settings { entry: Some("run".to_owned()), ..settings() }
}

/// Loads `(module ...)` with this body.
#[track_caller]
fn load(body: &str, settings: Settings) -> Arc<Target> {
    let wat = format!("(module {body})");
    Arc::new(Target::load(wat.as_bytes(), settings).unwrap_or_else(|error| panic!("{error:#}\n{wat}")))
}

#[track_caller]
fn executor(body: &str, settings: Settings) -> Executor {
    Executor::new(&load(body, settings)).unwrap()
}
