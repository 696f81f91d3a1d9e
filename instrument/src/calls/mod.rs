//! What all calls of a module tell together: which functions may throw or draw, and which calls may be part of a
//! recursion.
//!
//! `bodies` reads each body once; `throws`, `draws` and `recursion` follow calls from there.

mod bodies;
mod callers;
mod draws;
mod recursion;
mod throws;

pub(crate) use draws::Drawing;
pub(crate) use recursion::Recursion;
pub(crate) use throws::Throwing;

use rayon::prelude::*;

use crate::module::bodies::Bodies;
use crate::module::survey::Survey;
use crate::options::{Draws, Options};
use bodies::BodyCalls;

/// What is to be known of calls before functions are planned, as far as it is asked for.
pub(crate) struct CallFacts {
    /// Which calls may throw; `None` for a module without tags: it has nothing to throw.
    pub(crate) throwing: Option<Throwing>,
    /// Which calls may draw; `None` if the module does not speak the protocol, or its imports stay as they are.
    pub(crate) drawing: Option<Drawing>,
    /// Which calls may be part of a recursion, if live calls are limited.
    pub(crate) recursion: Option<Recursion>,
}

impl CallFacts {
    /// Reads all bodies, which need not be valid, if anything is asked for.
    pub(crate) fn find(survey: &Survey<'_>, bodies: &Bodies<'_>, options: &Options) -> CallFacts {
        let throws = !survey.tags.is_empty();
        let draws = options.draws != Draws::Imported && !survey.protocol.is_empty();
        let recurs = options.calls.is_some();
        let calls: Vec<BodyCalls> = match throws || draws || recurs {
            true => bodies.par_iter().map(|(_, body)| BodyCalls::read(body, survey).unwrap_or_default()).collect(),
            false => Vec::new(),
        };
        CallFacts {
            throwing: throws.then(|| Throwing::new(survey, &calls)),
            drawing: draws.then(|| Drawing::new(survey, &calls)),
            recursion: recurs.then(|| Recursion::new(survey, &calls)),
        }
    }
}
