//! What is known of a module, and asked for, when its functions are planned.

use crate::added::Additions;
use crate::calls::CallFacts;
use crate::module::survey::Survey;
use crate::options::Options;

/// The same for all functions.
#[derive(Clone, Copy)]
pub(crate) struct ModuleContext<'p, 's> {
    /// The module.
    pub(crate) survey: &'p Survey<'s>,
    /// What is to be put in.
    pub(crate) options: &'p Options,
    /// The indices of what is appended.
    pub(crate) added: &'p Additions,
    /// What all calls tell together.
    pub(crate) calls: &'p CallFacts,
}
