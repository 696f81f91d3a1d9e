//! The functions that are put into modules do what the host's functions do.

use super::{Told, Trace, executors, generate, kind, run};
use fuzzbox::sandbox::{compiler_settings, link_reference};
use fuzzbox::stream::reference::Ended;
use fuzzbox::stream::{Reference, Rule, Tail};
use wasmtime::{Engine, Linker, Module, Store};

/// How an execution ended, what it drew, and what it told; the last of that is a hash over what it drew.
type Shown = (String, Trace, Told);

/// A module as it is, with host functions.
struct Plain {
    engine: Engine,
    module: Module,
    linker: Linker<Reference>,
}

impl Plain {
    fn new(wasm: &[u8]) -> Self {
        let engine = Engine::new(&compiler_settings(wasm).unwrap()).unwrap();
        let module = Module::new(&engine, wasm).unwrap();
        let mut linker = Linker::new(&engine);
        link_reference(&mut linker, |reference: &mut Reference| reference).unwrap();
        Self { engine, module, linker }
    }

    fn run(&self, stream: &[u8], rule: Rule) -> Shown {
        let mut store = Store::new(&self.engine, Reference::new(stream, rule));
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
    trace.spans = told;
    trace
}

#[test]
fn functions_put_into_modules_do_what_the_hosts_do() {
    let (guests, streams) = (250, 40);
    let mut rng = Tail::random(11);
    let mut ends = std::collections::BTreeMap::<String, u32>::new();
    let mut draws = 0;
    for guest in 0..guests {
        let wat = generate::guest(&mut rng);
        let wasm = wat::parse_str(&wat).unwrap();
        let plain = Plain::new(&wasm);
        let mut executors = executors(&wat);
        for _ in 0..streams {
            let (stream, rule) = generate::stream(&mut rng);
            let (end, trace, told) = plain.run(&stream, rule);
            for (variant, executor) in executors.iter_mut().enumerate() {
                let about = || format!("guest {guest}, variant {variant}, {stream:?}, {rule:?}\n{wat}");
                let (outcome, drawn, said) = run(executor, &stream, rule);
                assert_eq!(kind(&outcome), end, "{}", about());
                // The second variant records nothing.
                if variant != 1 {
                    assert_eq!(comparable(drawn), trace, "{}", about());
                    assert_eq!(format!("{said:?}"), format!("{told:?}"), "{}", about());
                } else {
                    assert_eq!((&said.events, &said.keyframes), (&told.events, &told.keyframes), "{}", about());
                    assert_eq!((said.failed, said.rejected), (told.failed.clone(), told.rejected.clone()));
                }
            }
            draws += trace.draws.len();
            *ends.entry(end).or_default() += 1;
        }
    }
    println!("{draws} draws; {ends:?}");
    for end in ["ok", "rejected", "failed", "overrun", "bad-draw", "memory-out-of-bounds"] {
        assert!(ends.get(end).is_some_and(|&count| count >= 20), "{ends:?}");
    }
}
