//! The bodies of the defined functions, some at a time or all in parallel.

use anyhow::Result;
use rayon::prelude::*;
use wasmparser::{FuncToValidate, FuncValidator, FuncValidatorAllocations, FunctionBody, ValidatorResources};

/// The bodies of the defined functions, in order, still to be validated.
pub(crate) type Bodies<'a> = Vec<(FuncToValidate<ValidatorResources>, FunctionBody<'a>)>;

/// Does `job` for each body, in parallel, and gives what came out in the order of the functions. Of several errors, the
/// first in the module is told, whichever was found first.
pub(crate) fn for_each_body<T: Send>(
    bodies: Bodies<'_>,
    job: impl Fn(&mut FuncValidator<ValidatorResources>, &FunctionBody<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let done = bodies.into_par_iter().map_init(FuncValidatorAllocations::default, |allocations, (function, body)| {
        let mut validator = function.into_validator(std::mem::take(allocations));
        let result = job(&mut validator, &body);
        *allocations = validator.into_allocations();
        result
    });
    done.collect::<Vec<_>>().into_iter().collect()
}

/// Bytes of bodies that are planned at once, or one body: enough for all cores.
pub(crate) const BATCH_BYTES: usize = 1 << 18;

/// And how many functions.
pub(crate) const BATCH_FUNCTIONS: usize = 1 << 7;
