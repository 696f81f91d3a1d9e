//! Programs that Go's own compiler made for JavaScript, which starts them and goes on with them: a function that does
//! so is linked to the module, as the command that it is then. It asks for a snapshot where the program first looks at
//! its input, so that what comes before is done once.

use crate::sandbox::source::interface::Interface;
use anyhow::Result;
use fuzzbox_instrument::{NamedModule, link_modules};
use wasmparser::ValType;

/// `() -> (count, address)`: writes the arguments to memory.
pub(crate) const ARGUMENTS: &str = "fuzzbox.arguments";
/// `() -> i32`: whether the program is to go on; 2 if executions are to begin here.
pub(crate) const NEXT_EVENT: &str = "fuzzbox.next_event";
/// The names of modules that Go imports JavaScript's functions from; since 1.21, and before.
pub(crate) const MODULES: [&str; 2] = ["gojs", "go"];

/// The module as a command; `None` if it is one, or can't be started.
pub(super) fn started(wasm: &[u8], interface: &Interface) -> Result<Option<Vec<u8>>> {
    let is = |name: &str, params: &[ValType], results: &[ValType]| {
        interface.function(name).is_some_and(|ty| ty.params() == params && ty.results() == results)
    };
    let i32 = ValType::I32;
    let can_be = is("run", &[i32, i32], &[]) && is("resume", &[], &[]) && is("getsp", &[], &[i32]);
    if !can_be || interface.export("_start").is_some() {
        return Ok(None);
    }
    let module = MODULES[0];
    let start = wat::parse_str(format!(
        r#"(module
        (import "{module}" "{ARGUMENTS}" (func $arguments (result i32 i32)))
        (import "{module}" "{NEXT_EVENT}" (func $next_event (result i32)))
        (import "fuzzbox_v1" "snapshot_here" (func $snapshot_here))
        (import "the module" "run" (func $run (param i32 i32)))
        (import "the module" "resume" (func $resume))
        (global $has_begun (mut i32) (i32.const 0))
        (func (export "_start") (local $next i32)
            (if (i32.eqz (global.get $has_begun)) (then
                (global.set $has_begun (i32.const 1))
                (call $run (call $arguments))))
            (loop $on
                (local.set $next (call $next_event))
                (if (i32.eq (local.get $next) (i32.const 2)) (then (call $snapshot_here) (return)))
                (if (local.get $next) (then (call $resume) (br $on))))))"#
    ))?;
    let target = NamedModule { name: "the module", wasm, is_hidden: false };
    link_modules(&[target, NamedModule { name: "its start", wasm: &start, is_hidden: false }]).map(Some)
}
