//! Flags' values that rooms below have as enumerations, with what `--help` says of them.

use crate::report::ColorChoice;
use crate::session::reproduction::Way;
use crate::settings::Stub;
use clap::ValueEnum;
use clap::builder::PossibleValue;

impl ValueEnum for ColorChoice {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Auto, Self::Always, Self::Never]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Auto => ("auto", "Colours on a terminal that has them, unless the environment says otherwise"),
            Self::Always => ("always", "Colours, wherever the output goes"),
            Self::Never => ("never", "No colours"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl ValueEnum for Stub {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Trap, Self::Zero, Self::Reject]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Trap => ("trap", "Ends the execution as a crash"),
            Self::Zero => ("zero", "Returns zeros and nulls"),
            Self::Reject => ("reject", "Ends the execution as rejected, which is no failure"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl ValueEnum for Way {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Value => ("value", "The value that was drawn, given to the property's check"),
            Self::Choices => ("choices", "The input as it is"),
            Self::Spans => ("spans", "The choices, found again by their spans"),
            Self::Search => ("search", "A search that begins with the choices"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}
