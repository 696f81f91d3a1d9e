//! The functions that are put into modules do what the host's functions do.

use super::{GuestReport, Trace, executors, generate, kind, linked, run};
use fuzzbox::sandbox::compiler_settings;
use fuzzbox::stream::reference::Ended;
use fuzzbox::stream::{Closing, Reference, Rule, Tail};
use fuzzbox_instrument::{Options, instrument};
use std::sync::Arc;
use wasmtime::{Engine, Linker, Module, Store};

/// How an execution ended, what it drew, and what it told; the last of that is a hash over what it drew.
type Shown = (String, Trace, GuestReport);

/// A module as it is, with host functions.
struct Plain {
    engine: Engine,
    module: Module,
    linker: Linker<Reference>,
    /// Where the module calls the protocol.
    sites: Vec<u32>,
}

impl Plain {
    fn new(wasm: &[u8]) -> Self {
        let engine = Engine::new(compiler_settings().cranelift_nan_canonicalization(true)).unwrap();
        let module = Module::new(&engine, wasm).unwrap();
        let mut linker = Linker::new(&engine);
        linked::link(&mut linker).unwrap();
        let sites = instrument(wasm, &Options::traced()).unwrap().sites.iter().map(|site| site.offset).collect();
        Self { engine, module, linker, sites }
    }

    fn run(&self, stream: &[u8], rule: Rule, closing: &Closing) -> Shown {
        let reference = Reference::new(stream, rule).closing(closing.clone(), self.sites.clone());
        let mut store = Store::new(&self.engine, reference);
        let instance = self.linker.instantiate(&mut store, &self.module).unwrap();
        let any = instance.get_typed_func::<(), ()>(&mut store, "fbx_any").unwrap();
        let end = match any.call(&mut store, ()) {
            Ok(()) => "ok",
            Err(error) => match error.downcast_ref::<Ended>() {
                Some(Ended::Rejected) => "rejected",
                Some(Ended::Failed) => "failed",
                Some(Ended::Overrun | Ended::Stopped) => "overrun",
                Some(Ended::Misused) => "bad-draw",
                _ if error.downcast_ref() == Some(&wasmtime::Trap::MemoryOutOfBounds) => "memory-out-of-bounds",
                _ => panic!("{error:?}"),
            },
        };
        let (trace, told) = store.into_data().trace();
        (end.to_owned(), trace, told)
    }
}

/// Without what host functions can't know: call sites, and spans that were found.
fn comparable(mut trace: Trace) -> Trace {
    trace.draws.iter_mut().for_each(|draw| draw.site = 0);
    let mut places = Vec::new();
    let mut told: Vec<fuzzbox::stream::Span> = Vec::new();
    for mut span in std::mem::take(&mut trace.spans) {
        let parent: Option<u32> = span.parent.and_then(|parent: u32| places[parent as usize]);
        places.push(if span.automatic { parent } else { Some(told.len() as u32) });
        if !span.automatic {
            span.parent = parent;
            span.depth = parent.map_or(0, |parent| told[parent as usize].depth + 1);
            told.push(span);
        }
    }
    trace.spans = if trace.draws.len() > SPANS_MAX { Vec::new() } else { told };
    trace
}

/// Executions with more draws may have more spans than are recorded.
const SPANS_MAX: usize = 20_000;

/// What to say of two traces that are not the same: they may be long.
fn first_difference(a: &Trace, b: &Trace) -> String {
    let place = a.draws.iter().zip(&b.draws).zip(a.choices.iter().zip(&b.choices));
    let first = place.enumerate().find(|(_, ((a, b), (c, d)))| a != b || c != d);
    let rest = |trace: &Trace| (trace.draws.len(), trace.spans.clone(), trace.given, trace.misaligned, trace.overrun);
    first.map_or_else(|| format!("{:?}\n{:?}", rest(a), rest(b)), |first| format!("{first:?}"))
}

#[test]
fn functions_put_into_modules_do_what_the_hosts_do() {
    // Pairs of a guest and a stream.
    let pairs = std::env::var("FUZZBOX_DRAWS_PAIRS").map_or(3_000, |pairs| pairs.parse().unwrap());
    let streams = 40;
    let mut rng = Tail::random(11);
    let mut ends = std::collections::BTreeMap::<String, u32>::new();
    let (mut draws, mut closed) = (0, 0);
    while ends.values().sum::<u32>() < pairs {
        let wat = generate::guest(&mut rng);
        let wasm = wat::parse_str(&wat).unwrap();
        let plain = Plain::new(&wasm);
        let mut executors = executors(&wat);
        let closing = Arc::new(generate::closing(&mut rng));
        executors.iter_mut().for_each(|executor| executor.set_closing(&closing));
        let mut long = 0;
        for _ in 0..streams {
            let (stream, rule) = generate::stream(&mut rng);
            let (end, mut trace, told) = plain.run(&stream, rule, &closing);
            if trace.draws.len() > SPANS_MAX {
                trace.spans.clear();
            }
            for (variant, executor) in executors.iter_mut().enumerate() {
                let about = || format!("variant {variant}, {stream:?}, {rule:?}, {closing:?}\n{wat}");
                let (outcome, drawn, said) = run(executor, &stream, rule);
                assert_eq!(kind(&outcome), end, "{}", about());
                // The second variant records nothing.
                if variant != 1 {
                    let drawn = comparable(drawn);
                    assert!(drawn == trace, "{}\n{}", first_difference(&drawn, &trace), about());
                    assert_eq!(format!("{said:?}"), format!("{told:?}"), "{}", about());
                } else {
                    assert_eq!((&said.events, &said.keyframes), (&told.events, &told.keyframes), "{}", about());
                    assert_eq!((said.failed, said.rejected), (told.failed.clone(), told.rejected.clone()));
                }
            }
            let made_up = trace.choices.iter().skip(trace.given).filter(|choice| choice.index() > Some(0)).count();
            closed += if rule.tail == Tail::Zero { made_up } else { 0 };
            draws += trace.draws.len();
            *ends.entry(end).or_default() += 1;
            // Some guests draw as much as they can, most of the time.
            long += u32::from(trace.draws.len() > SPANS_MAX);
            if long == 2 {
                break;
            }
        }
    }
    println!("{draws} draws, {closed} closed by other indices than 0; {ends:?}");
    assert!(closed > pairs as usize / 10);
    for end in ["ok", "rejected", "failed", "overrun", "bad-draw", "memory-out-of-bounds"] {
        assert!(ends.get(end).is_some_and(|&count| count >= 20), "{ends:?}");
    }
}
