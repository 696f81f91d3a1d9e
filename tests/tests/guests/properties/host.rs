//! A host for guests of `fuzzbox_v1` that is as simple as can be: every import is a draw from a native source.

use anyhow::{Context as _, Result, anyhow};
use fuzzbox_guest::native::{self, Input, Outcome, Run};
use fuzzbox_guest::{NameKind, Source, index};
use wasmtime::{Caller, Engine, Extern, Linker, Memory, Module, Store};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::p1::{self, WasiP1Ctx};

/// A compiled module.
pub(crate) struct Guest {
    module: Module,
    linker: Linker<State>,
}

struct State {
    source: Source,
    /// For guests with a runtime of their own.
    wasi: WasiP1Ctx,
    ended: Option<Outcome>,
    panic: Option<String>,
}

/// An import has ended the execution.
#[derive(Debug)]
struct Ended;

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an import has ended the execution")
    }
}

impl std::error::Error for Ended {}

impl Guest {
    pub(crate) fn load(module: &std::path::Path) -> Result<Self> {
        let engine = Engine::default();
        let bytes = wat::parse_file(module).with_context(|| format!("failed to read `{}`", module.display()))?;
        let module = Module::new(&engine, bytes).map_err(|error| anyhow!("{error:?}"))?;
        let mut linker = Linker::new(&engine);
        define(&mut linker).map_err(|error| anyhow!("{error:?}"))?;
        Ok(Self { module, linker })
    }

    /// What the export does with these choices.
    pub(crate) fn run(&self, export: &str, input: Input) -> Run {
        self.call(input, |linked, store| linked.get_typed_func::<(), ()>(&mut *store, export)?.call(store, ()))
    }

    /// What the check of a value does.
    pub(crate) fn check(&self, export: &str, value: &[u8]) -> Run {
        self.call(Input::default(), |linked, store| {
            let allocate = linked.get_typed_func::<u32, u32>(&mut *store, "fbx_alloc")?;
            let at = allocate.call(&mut *store, value.len() as u32)?;
            let memory = linked.get_memory(&mut *store, "memory").expect("a guest has a memory");
            memory.write(&mut *store, at as usize, value)?;
            linked.get_typed_func::<(u32, u32), ()>(&mut *store, export)?.call(store, (at, value.len() as u32))
        })
    }

    fn call(
        &self,
        input: Input,
        call: impl FnOnce(&wasmtime::Instance, &mut Store<State>) -> wasmtime::Result<()>,
    ) -> Run {
        let mut outcome = None;
        let mut run = native::run(input, |source| {
            let wasi = WasiCtxBuilder::new().build_p1();
            let state = State { source: std::mem::take(source), wasi, ended: None, panic: None };
            let mut store = Store::new(self.module.engine(), state);
            let linked = self.linker.instantiate(&mut store, &self.module).expect("all imports are known");
            if let Ok(initialize) = linked.get_typed_func::<(), ()>(&mut store, "_initialize") {
                initialize.call(&mut store, ()).expect("the guest's runtime begins");
            }
            let result = call(&linked, &mut store);
            let state = store.into_data();
            *source = state.source;
            outcome = Some(match (result, state.ended) {
                (Ok(()), _) => Outcome::Passed,
                (Err(_), Some(ended)) => ended,
                (Err(error), None) => {
                    let is_trap = error.downcast_ref::<wasmtime::Trap>().is_some();
                    assert!(is_trap, "{error:?}");
                    Outcome::Failed(state.panic.unwrap_or_else(|| "a trap".into()))
                }
            });
        });
        run.outcome = outcome.unwrap_or(run.outcome);
        run
    }
}

fn memory(caller: &mut Caller<'_, State>) -> Memory {
    caller.get_export("memory").and_then(Extern::into_memory).expect("a guest has a memory")
}

fn bytes(caller: &mut Caller<'_, State>, at: u32, len: u32) -> Vec<u8> {
    let memory = memory(caller);
    memory.data(&*caller)[at as usize..][..len as usize].to_vec()
}

fn text(caller: &mut Caller<'_, State>, at: u32, len: u32) -> String {
    String::from_utf8(bytes(caller, at, len)).expect("text is UTF-8")
}

fn numbers(caller: &mut Caller<'_, State>, at: u32, len: u32) -> Vec<u32> {
    let bytes = bytes(caller, at, len * 4);
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

fn write(caller: &mut Caller<'_, State>, at: u32, bytes: &[u8]) -> u32 {
    let memory = memory(caller);
    memory.write(caller, at as usize, bytes).expect("the guest has room for it");
    bytes.len() as u32
}

fn end(caller: &mut Caller<'_, State>, outcome: Outcome) -> wasmtime::Result<()> {
    caller.data_mut().ended = Some(outcome);
    Err(wasmtime::Error::new(Ended))
}

fn define(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    const V1: &str = "fuzzbox_v1";
    p1::add_to_linker_sync(linker, |state: &mut State| &mut state.wasi)?;
    type Of<'a> = Caller<'a, State>;
    let range = |min: u32, max: u32| min as usize..=max as usize;

    linker.func_wrap(V1, "draw_int", |mut c: Of<'_>, lo: i64, hi: i64, towards: i64| {
        c.data_mut().source.int_towards(lo..=hi, towards)
    })?;
    linker.func_wrap(V1, "draw_uint", |mut c: Of<'_>, lo: u64, hi: u64, towards: u64| {
        c.data_mut().source.int_towards(lo..=hi, towards)
    })?;
    linker.func_wrap(V1, "draw_bool", |mut c: Of<'_>, p_true: u32| {
        let p = if p_true == index::CERTAIN { 1.0 } else { f64::from(p_true) / 4_294_967_296.0 };
        u32::from(c.data_mut().source.chance(p))
    })?;
    linker.func_wrap(V1, "draw_choice", |mut c: Of<'_>, n: u32, weights: u32| {
        let weights = if weights == 0 { vec![1; n as usize] } else { numbers(&mut c, weights, n) };
        c.data_mut().source.weighted(&weights) as u32
    })?;
    linker.func_wrap(V1, "draw_f64", |mut c: Of<'_>, lo: f64, hi: f64, flags: u32| {
        let source = &mut c.data_mut().source;
        if flags == fuzzbox_guest::float::ALL { source.f64() } else { source.f64_in(lo..=hi) }
    })?;
    linker.func_wrap(V1, "draw_bytes", move |mut c: Of<'_>, at: u32, min: u32, max: u32| {
        let bytes = c.data_mut().source.bytes(range(min, max));
        write(&mut c, at, &bytes)
    })?;
    linker.func_wrap(
        V1,
        "draw_str",
        move |mut c: Of<'_>, at: u32, cap: u32, min: u32, max: u32, alphabet: u32, ranges: u32| {
            let usual = fuzzbox_guest::text::UNICODE.to_vec();
            let alphabet = if alphabet == 0 { usual } else { numbers(&mut c, alphabet, ranges * 2) };
            let text = c.data_mut().source.string_of(&alphabet, range(min, max));
            assert!(text.len() <= cap as usize, "guests of these tests have room");
            write(&mut c, at, text.as_bytes())
        },
    )?;
    linker.func_wrap(V1, "draw_more", move |mut c: Of<'_>, min: u32, max: u32, average_q8: u32| {
        u32::from(c.data_mut().source.more_averaging(range(min, max), average_q8 as f32 / 256.0))
    })?;
    linker.func_wrap(V1, "draw_payload", |mut c: Of<'_>, bits: u32| c.data_mut().source.payload(bits))?;
    linker.func_wrap(V1, "span_begin", |mut c: Of<'_>, label: u32| c.data_mut().source.begin(label))?;
    linker.func_wrap(V1, "span_end", |mut c: Of<'_>, flags: u32| c.data_mut().source.end(flags & 1 != 0))?;
    linker.func_wrap(V1, "assume", |mut c: Of<'_>, condition: u32| match condition {
        0 => end(&mut c, Outcome::Rejected("an assumption does not hold".into())),
        _ => Ok(()),
    })?;
    linker.func_wrap(V1, "reject", |mut c: Of<'_>, at: u32, len: u32| {
        let why = text(&mut c, at, len);
        end(&mut c, Outcome::Rejected(why))
    })?;
    linker.func_wrap(V1, "fail", |mut c: Of<'_>, at: u32, len: u32| {
        let class = text(&mut c, at, len);
        end(&mut c, Outcome::Failed(class))
    })?;
    linker.func_wrap(V1, "target", |mut c: Of<'_>, at: u32, len: u32, score: f64| {
        let label = text(&mut c, at, len);
        c.data_mut().source.target(&label, score);
    })?;
    linker.func_wrap(V1, "event", |mut c: Of<'_>, at: u32, len: u32, value: i64| {
        let label = text(&mut c, at, len);
        c.data_mut().source.event(&label, value);
    })?;
    linker.func_wrap(V1, "keyframe", |mut c: Of<'_>, id: u32, arg: i64| c.data_mut().source.keyframe(id, arg))?;
    linker.func_wrap(V1, "name", |mut c: Of<'_>, kind: u32, id: u32, at: u32, len: u32| {
        let name = text(&mut c, at, len);
        let kind = if kind == NameKind::Label as u32 { NameKind::Label } else { NameKind::Keyframe };
        c.data_mut().source.name(kind, id, &name);
    })?;
    linker.func_wrap(V1, "note", |mut c: Of<'_>, at: u32, len: u32| {
        let note = text(&mut c, at, len);
        match note.strip_prefix("panic: ") {
            Some(panic) => c.data_mut().panic = Some(panic.into()),
            None => c.data_mut().source.note(note),
        }
    })?;
    linker.func_wrap(V1, "value", |mut c: Of<'_>, type_id: u64, encoding: u32, at: u32, len: u32| {
        let value = bytes(&mut c, at, len);
        c.data_mut().source.value(type_id, encoding, &value);
    })?;
    linker.func_wrap(V1, "remaining", |mut c: Of<'_>| c.data_mut().source.remaining())?;
    linker.func_wrap(V1, "feature", |mut c: Of<'_>, at: u32, len: u32| {
        let name = text(&mut c, at, len);
        u32::from(c.data_mut().source.feature(&name))
    })?;
    Ok(())
}
