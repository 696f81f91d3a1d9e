//! Ways out of the guest that leave its frames behind, and what is noted of them.

use crate::sandbox::hash;
use crate::sandbox::imports::host::{Frames, Host};
use anyhow::{Context as _, Result};
use fuzzbox_instrument::LeftFrame;
use std::num::NonZeroU64;
use wasmtime::{Caller, Func, Instance, Ref, Store, WasmBacktrace};

/// Notes the frames that are live, for a host function that is about to end the execution.
pub(crate) fn capture(caller: &mut Caller<'_, Host>) {
    let backtrace = WasmBacktrace::force_capture(&*caller);
    let frames = backtrace.frames();
    let kept = &mut caller.data_mut().frames;
    kept.left.clear();
    kept.left.extend(frames.iter().filter_map(|frame| {
        Some(LeftFrame { function: frame.func_index(), offset: u32::try_from(frame.module_offset()?).ok()? })
    }));
    // Of code that was put in the place of a call the offset is not known.
    kept.cut = frames.len() >= Frames::MAX || kept.left.len() < frames.len();
    let numbers = kept.left.iter().map(|left| u64::from(left.function) << 32 | u64::from(left.offset));
    kept.key = NonZeroU64::new(hash::of(0, numbers)).filter(|_| !kept.cut);
    if kept.count {
        kept.left.sort_unstable();
    } else {
        kept.left.clear();
        kept.cut = false;
    }
}

/// Puts a function into the table `export` that ends an execution as `unreachable` does, without a signal.
pub(crate) fn replace_unreachable(store: &mut Store<Host>, instance: &Instance, export: &str) -> Result<()> {
    let table = instance.get_table(&mut *store, export).context("the rewriter exports its table")?;
    let trap = |mut caller: Caller<'_, Host>| -> wasmtime::Result<()> {
        capture(&mut caller);
        Err(wasmtime::Trap::UnreachableCodeReached.into())
    };
    let function = Func::wrap(&mut *store, trap);
    Ok(table.set(store, 0, Ref::Func(Some(function)))?)
}
