//! Second pass: validates function bodies and decides what is put where.
//!
//! Functions are planned in parallel, each by itself: `body` walks its operators once, with the validator, the graph,
//! the `frames` and the probes.

mod body;
mod frames;

use anyhow::Result;
use wasmparser::FunctionBody;

use crate::added::Additions;
use crate::calls::CallFacts;
use crate::edge_map::Edge;
use crate::module::bodies::{BATCH_BYTES, BATCH_FUNCTIONS, Bodies, for_each_body};
use crate::module::features::INVALID;
use crate::module::survey::Survey;
use crate::options::Options;
use crate::plan::{FunctionPlan, ModuleContext};

/// Plans all functions, in order, and gives them to `take`, some at a time.
pub(crate) fn for_batches(
    context: &ModuleContext<'_, '_>,
    bodies: Bodies<'_>,
    mut take: impl FnMut(Vec<FunctionPlan>) -> Result<()>,
) -> Result<()> {
    let mut rest = bodies.into_iter();
    while rest.len() > 0 {
        let mut bytes = 0;
        let fits = |(_, body): &&(_, FunctionBody<'_>)| {
            let before = bytes;
            bytes += (body.range().end - body.range().start) as usize;
            before < BATCH_BYTES
        };
        let functions = rest.as_slice().iter().take(BATCH_FUNCTIONS).take_while(fits).count();
        take(plan(context, rest.by_ref().take(functions).collect())?)?;
    }
    Ok(())
}

/// Plans some functions, in parallel.
fn plan(context: &ModuleContext<'_, '_>, bodies: Bodies<'_>) -> Result<Vec<FunctionPlan>> {
    for_each_body(bodies, |validator, body| {
        let index = validator.index();
        body::walk(context, validator, body).map_err(|error| {
            // The validator's message has an offset, which says more than the function.
            let invalid = error.is::<wasmparser::Error>();
            error.context(if invalid {
                INVALID.to_owned()
            } else {
                format!("has function {index}, which can't be rewritten")
            })
        })
    })
}

/// The edges of a module without legacy exceptions.
pub(crate) fn edges(survey: &Survey<'_>, bodies: Bodies<'_>) -> Result<Vec<Edge>> {
    let options = Options::counting();
    let added = Additions::new(survey, &options);
    let calls = CallFacts::find(survey, &bodies, &options);
    let context = ModuleContext { survey, options: &options, added: &added, calls: &calls };
    let mut edges = Vec::new();
    for_batches(&context, bodies, |plans| {
        plans.iter().for_each(|plan| edges.extend(plan.edges()));
        Ok(())
    })?;
    Ok(edges)
}
