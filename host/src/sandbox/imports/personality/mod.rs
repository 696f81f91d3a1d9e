//! Hosts that modules expect beside WASI: what JavaScript gives them that wasm-bindgen, Emscripten or Go made.
//!
//! A personality defines functions by their names, with whatever type the module imports them as. State is WASI's, or
//! is kept with it, so it is restored with all else. What a library throws is how it returns an error; what JavaScript
//! would throw ends the execution as rejected, which is no failure either. So does a function that is known to be
//! JavaScript's but not what it does; [`Personality::unknown`] says which these are.
//!
//! `bindgen`, `emscripten` and `go` have the functions, `system_calls` those about files, `guest` is what they see of
//! the module.

mod bindgen;
mod emscripten;
mod go;
mod guest;
mod system_calls;

use crate::sandbox::imports::host::Host;
use crate::sandbox::imports::personality::guest::{Function, Guest, Reply};
use crate::sandbox::messages::ImportCall;
use crate::settings::Stub;
use std::fmt;
use wasmtime::{Caller, FuncType, Linker, Val, ValType};

/// Ends an execution because JavaScript would have thrown there, or because nobody knows what it would have done.
#[derive(Clone, Debug)]
pub(crate) struct Thrown {
    what: String,
    /// It is how a library says what is wrong with an input: the execution ended as it was meant to.
    pub(crate) is_told: bool,
}

impl Thrown {
    /// By a function that was called, and why.
    pub(super) fn new(what: &str, why: &str) -> Self {
        Self { what: format!("{what}: {why}"), is_told: false }
    }

    /// As [`Thrown::new`], by a library that has no other way to return an error.
    pub(super) fn told(what: &str, why: &str) -> Self {
        Self { is_told: true, ..Self::new(what, why) }
    }
}

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thrown: {}", self.what)
    }
}

impl std::error::Error for Thrown {}

/// Who else than WASI provides an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Personality {
    /// JavaScript that wasm-bindgen made.
    WasmBindgen,
    /// JavaScript that Emscripten made.
    Emscripten,
    /// JavaScript that comes with Go.
    Go,
}

/// What a personality does for an import.
#[derive(Clone, Copy)]
pub(crate) struct Provided {
    pub(crate) personality: Personality,
    /// `None` for what is JavaScript's without being known.
    function: Option<Function>,
}

impl Provided {
    /// Whether nobody knows what it does: a call ends the execution.
    pub(crate) fn is_unknown(&self) -> bool {
        self.function.is_none()
    }

    /// Whether stubs have it that were asked for: what nobody knows, and what ends the execution, which is for them to
    /// say how. Those that reject an input don't take its failures away.
    pub(super) fn yields_to(&self, stub: Option<Stub>, name: &str) -> bool {
        let ends = || ["throw", "abort", "assert_fail"].iter().any(|word| name.contains(word));
        match stub {
            None => false,
            Some(Stub::Reject) => self.is_unknown(),
            Some(Stub::Trap | Stub::Zero) => self.is_unknown() || ends(),
        }
    }
}

impl fmt::Display for Personality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WasmBindgen => "wasm-bindgen",
            Self::Emscripten => "Emscripten",
            Self::Go => "Go (js/wasm)",
        })
    }
}

/// Who provides an import of this name and type.
pub(crate) fn of(module: &str, name: &str, ty: &FuncType) -> Option<Provided> {
    let by = |personality| move |function| Provided { personality, function };
    let bindgen = bindgen::of(module, name).map(by(Personality::WasmBindgen));
    let emscripten = || emscripten::of(module, name, ty).map(by(Personality::Emscripten));
    let go = || go::of(module, name, ty).map(by(Personality::Go));
    bindgen.or_else(emscripten).or_else(go)
}

/// Defines an import; `leaving` notes what is live when it ends an execution.
pub(super) fn define(
    linker: &mut Linker<Host>,
    (module, name): (&str, &str),
    ty: FuncType,
    provided: Provided,
    leaving: impl Fn(&mut Caller<'_, Host>) + Copy + Send + Sync + 'static,
) -> wasmtime::Result<()> {
    let (what, names) = (format!("{module}.{name}"), (module.to_owned(), name.to_owned()));
    let types: Vec<ValType> = ty.results().collect();
    linker.func_new(module, name, ty, move |mut caller, params, results| {
        // What is known to take a message keeps that.
        let given = ImportCall::to_import(&names.0, &names.1, params.iter().map(bits));
        if given.is_some() {
            caller.data_mut().given = given;
        }
        let mut guest = Guest { caller: &mut caller, what: &what, params, inner_ended: false };
        let reply = match provided.function {
            Some(function) => guest.begin().and_then(|()| function(&mut guest)),
            None => Err(guest.thrown("nobody knows what it does here")),
        };
        let given = reply.and_then(|reply| guest.give(reply, &types, results));
        // What ended inside of a function of the guest's has noted its own frames, of which these are the outer ones.
        let inner_ended = guest.inner_ended;
        if given.is_err() && !inner_ended {
            leaving(&mut caller);
        }
        given
    })?;
    Ok(())
}

/// Defines an import as a function that the module exports.
pub(super) fn define_given(
    linker: &mut Linker<Host>,
    (module, name): (&str, &str),
    ty: FuncType,
    export: String,
) -> wasmtime::Result<()> {
    let what = format!("{module}.{name}");
    linker.func_new(module, name, ty, move |mut caller, params, results| {
        let mut guest = Guest { caller: &mut caller, what: &what, params, inner_ended: false };
        guest.begin()?;
        let function = guest.export(&export).ok_or_else(|| wasmtime::format_err!("the recipe exports `{export}`"))?;
        results.clone_from_slice(&guest.call_any(function, params)?);
        Ok(())
    })?;
    Ok(())
}

/// An integer's bits.
pub(crate) fn bits(value: &Val) -> Option<u64> {
    match value {
        Val::I32(value) => Some(u64::from(value.cast_unsigned())),
        Val::I64(value) => Some(value.cast_unsigned()),
        _ => None,
    }
}

impl Guest<'_, '_> {
    /// Sets what the function returns. A type that the reply has not gets a zero.
    fn give(&mut self, reply: Reply, types: &[ValType], results: &mut [Val]) -> wasmtime::Result<()> {
        let number = match reply {
            Reply::Nothing => 0.0,
            Reply::Integer(value) => f64::from(value),
            Reply::Float(value) => value,
            Reply::Object(value) => f64::from(self.objects_give(value)?),
            Reply::Values(values) => {
                results.clone_from_slice(&self.fitted(&values, types.iter().cloned())?);
                return Ok(());
            }
        };
        for (result, ty) in results.iter_mut().zip(types) {
            *result = match ty {
                ValType::I32 => Val::I32((number as i64) as i32),
                ValType::I64 => Val::I64(number as i64),
                ValType::F32 => Val::F32((number as f32).to_bits()),
                ValType::F64 => Val::F64(number.to_bits()),
                other => Val::default_for_ty(other)
                    .ok_or_else(|| self.thrown("it returns a reference that is never null"))?,
            };
        }
        Ok(())
    }
}
