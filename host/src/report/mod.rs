//! Consumers of the campaign's event stream.

mod event;

pub use event::{Advice, Done, Event, Finding, NewEdge, ResolvedFrame, Start, Status};

/// Consumes events; one per output format.
pub trait Reporter {
    /// Takes note of `event`. Called from one thread, in order.
    ///
    /// # Errors
    ///
    /// Fails if the output can't be written; a closed pipe is reported as [`std::io::ErrorKind::BrokenPipe`].
    fn report(&mut self, event: &Event) -> std::io::Result<()>;
}
