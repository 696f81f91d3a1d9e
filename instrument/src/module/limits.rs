//! What is too much: the limits on modules, ours and those of all engines.

/// The most bytes a module may have: 256 MiB. A plan can take twenty times as much memory as the code it is for, and
/// offsets in the rewritten module must fit into a `u32`.
pub const MODULE_BYTES_MAX: usize = 1 << 28;

/// The largest function body that engines accept, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = 7_654_321;

/// The most locals a function may have, parameters included (a limit of all engines).
pub(crate) const LOCALS_MAX: u32 = 50_000;

/// The most types a module may have (a limit of all engines).
pub(crate) const TYPES_MAX: usize = 1_000_000;

/// How deep components may be nested, the outermost included.
pub(crate) const DEPTH_MAX: usize = 100;

const _: () = {
    assert!(
        MODULE_BYTES_MAX * 4 <= u32::MAX as usize,
        "offsets have 32 bits, also where a module grows by a few times"
    );
    assert!(BODY_BYTES_MAX < MODULE_BYTES_MAX, "a body is part of a module");
};
