//! Content-addressed objects, findings and corpora in a local directory.

mod id;

pub use id::{FindingId, InputId, ModuleId, ObjectId};
