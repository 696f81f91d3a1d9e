//! The messages with which guests fail, where there is no stream to write them to.
//!
//! Who calls `env.abort(message, file, line, column)` of the host, or the innermost functions of its language's library
//! for panics, says why it fails, but in numbers. These are kept: for imports by the host ([`ImportCall`]), for
//! functions of the module by code at their entries ([`called`]). What they mean is read from memory when the execution
//! has ended and somebody wants to know.
//!
//! Everything here is the guest's to invent: pointers, lengths, texts. Nothing of it decides anything.
//!
//! # Messages are looked for afterwards
//!
//! Messages are looked for afterwards. Where a program panics without a stream to write to, the message is in its
//! memory, and what knows where are the parameters of the library's innermost functions. Those are known by name; in
//! the deciding variant they note their parameters in the injected memory. When somebody wants to know, Rust's are
//! formatted by the guest's own `core::fmt::write`, with a writer of ours in its table; the instance is replaced then.
//! Nothing of it decides anything.

pub(super) mod memory;
pub(super) mod panic_functions;

use crate::sandbox::messages::panic_functions::Kind;

/// The parameters of a function that ends executions with a message.
#[derive(Clone, Debug)]
pub(crate) struct ImportCall {
    pub(crate) kind: Kind,
    pub(crate) params: Vec<u64>,
}

impl ImportCall {
    /// What an import was called with; `None` if it is not known to take a message.
    pub(crate) fn to_import(
        module: &str,
        name: &str,
        params: impl ExactSizeIterator<Item = Option<u64>>,
    ) -> Option<Self> {
        let kind = panic_functions::of_import(module, name, params.len())?;
        Some(Self { kind, params: params.collect::<Option<_>>()? })
    }
}

/// Whether a function of this name is one whose parameters say why programs fail.
pub(crate) fn takes_message(name: &str) -> bool {
    panic_functions::of_function(name).is_some()
}

/// What [`formats`] is called where it can be called.
pub(crate) const FORMATS: &str = "formats";

/// Whether a function of this name is `core::fmt::write`.
pub(crate) fn formats(name: &str) -> bool {
    name.contains("fmt")
        && name.contains("write")
        && format!("{:#}", rustc_demangle::demangle(name)) == "core::fmt::write"
}
