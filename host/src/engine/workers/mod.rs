//! Threads with executors, and what each does with an input.
//!
//! ```text
//! pool      threads, each with a worker          ender    ends what they execute
//! worker    executes, judges, decides            report   what a task is told, and what it reports
//! variants  of one target, that executions go through
//! ```

pub(super) mod ender;
pub(super) mod pool;
pub(super) mod report;
pub(super) mod variants;
pub(super) mod worker;
