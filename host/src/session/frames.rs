//! How far a campaign comes on its traces, as it is told.

use super::setup::Session;
use crate::engine::{Campaign, Testcase};
use crate::report::{Event, Keyframe, TraceReached};
use crate::stream::frames::{FrameTrace, Reached};
use anyhow::Result;

/// What names a guest gives: of what kind, the id, the name.
type Names = Vec<(u32, u32, String)>;

/// The traces that a campaign follows.
fn traces<'a>(session: &'a Session<'_>) -> &'a [FrameTrace] {
    session.target.candidate.traces.as_ref().map_or(&[], |traces| traces.all())
}

/// How far a testcase comes on each trace, and the names that it and initialisers give; nothing if that was aborted.
fn shown(session: &Session<'_>, input: &[u8]) -> Result<(Vec<Reached>, Names)> {
    let shown = session.workers.run_one(&session.target, |executor| {
        executor.run(input)?;
        let observation = executor.observation();
        let named = executor.target().names().iter().cloned();
        Ok((observation.reached(), observation.told().names.into_iter().chain(named).collect()))
    });
    Ok(shown?.unwrap_or_default())
}

/// What is told of the traces on which a campaign came further than `told` says, by trace, which then says so.
pub(super) fn news(session: &Session<'_>, campaign: &Campaign, told: &mut Vec<usize>) -> Result<Vec<Event>> {
    told.resize(traces(session).len(), 0);
    let mut news = Vec::new();
    for (trace, reached) in campaign.frames_reached().into_iter().enumerate() {
        let Some(testcase) = campaign.furthest(trace).filter(|_| reached > told[trace]) else { continue };
        told[trace] = reached;
        let (all, names) = shown(session, &testcase.bytes)?;
        let FrameTrace { name, patterns } = &traces(session)[trace];
        news.push(Event::Keyframe(Keyframe {
            target: session.name.clone(),
            trace: name.clone(),
            reached: reached as u64,
            frames: patterns.len() as u64,
            frame: patterns[reached - 1].described(&names),
            draws: all.get(trace).map_or(0, |reached| reached.draws.into()),
            input: testcase.id,
            execs: campaign.totals().execs,
        }));
    }
    Ok(news)
}

/// How far a campaign came on its traces.
pub(super) fn all_reached(session: &Session<'_>, campaign: &Campaign) -> Result<Vec<TraceReached>> {
    let traces = traces(session).iter().zip(campaign.frames_reached()).enumerate();
    let told = traces.map(|(trace, (FrameTrace { name, patterns }, reached))| {
        let missing = patterns.get(reached).map(|pattern| {
            // Where nothing was reached any input may name it.
            let input = campaign.furthest(trace).map(|Testcase { bytes, .. }| &**bytes).unwrap_or_default();
            anyhow::Ok(pattern.described(&shown(session, input)?.1))
        });
        let frames = patterns.len() as u64;
        Ok(TraceReached { name: name.clone(), reached: reached as u64, frames, missing: missing.transpose()? })
    });
    told.collect()
}
