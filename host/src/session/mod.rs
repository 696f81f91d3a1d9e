//! A campaign as a user has it: with a clock, a store, reporters, and an end.
//!
//! ```text
//! turns      several targets, each for a while         checking     several targets, after a change
//! running    one campaign in its turns; the clock is read here
//! events     what is told of it, findings and files of statistics
//! shrinking  smaller inputs of a finding        reproduction  ways in which it fails again
//! records    what is kept of a failure          queue         testcases on their way to the store
//! execution  one input, for people              writer        writes those, while the campaign goes on
//! ending     signals, and the end of the time
//! results    what inputs show, in the user's cache  retrace      what became of findings on another build
//! builds     two builds, function by function      goals         where a campaign is to get
//! frames     how far it comes on traces                learned       what the next campaign begins with
//! ```
//!
//! Nothing here knows a command line: errors are plain, and what is no event goes to
//! [`Session::warn`](setup::Session::warn).

pub(crate) mod builds;
pub(crate) mod checking;
pub(crate) mod ending;
mod events;
pub(crate) mod execution;
mod frames;
pub(crate) mod goals;
mod learned;
mod queue;
pub(crate) mod records;
pub(crate) mod reproduction;
mod results;
mod retrace;
pub(crate) mod running;
pub(crate) mod setup;
pub(crate) mod shrinking;
pub(crate) mod turns;
mod unreached;
mod writer;
