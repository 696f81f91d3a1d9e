//! What the traced variant records, by running it: operands that are known beforehand, calls, and what agrees with the
//! counters.

mod agreement;
mod comparers;
mod operands;
mod spans;

use std::path::{Path, PathBuf};

use crate::execution::engine;
use fuzzbox_instrument::trace::{Event, Trace};
use fuzzbox_instrument::{Instrumented, Options, instrument, layout};
use wasmtime::*;

/// An instance of a traced module.
struct Traced {
    original: Vec<u8>,
    new: Instrumented,
    store: Store<StoreLimits>,
    instance: Instance,
}

impl Traced {
    fn new(original: &[u8], options: &Options) -> Traced {
        let new = instrument(original, options).unwrap();
        let engine = engine(OptLevel::Speed, |_| {});
        let module = Module::new(&engine, &new.wasm).unwrap();
        let mut store = store(&engine);
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_default_values(&mut store, &module).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        Traced { original: original.to_vec(), new, store, instance }
    }

    fn text(text: &str) -> Traced {
        Traced::new(&wat::parse_str(text).unwrap(), &Options::traced())
    }

    fn golden(name: &str) -> Traced {
        let folder = repository().join("instrument/tests/golden");
        Traced::text(&std::fs::read_to_string(folder.join(name).with_extension("wat")).unwrap())
    }

    /// A module of `tests/guests`.
    fn guest(name: &str) -> Traced {
        Traced::new(&std::fs::read(repository().join("tests/guests").join(name)).unwrap(), &Options::traced())
    }

    fn memory(&mut self) -> Memory {
        self.instance.get_memory(&mut self.store, &self.new.injected.memory_export).unwrap()
    }

    /// What was recorded since the cells were cleared.
    fn trace(&mut self) -> Trace {
        let memory = self.memory();
        self.new.trace(memory.data(&self.store))
    }

    fn clear(&mut self) {
        let cells = layout::TRACE_CELLS.start as usize..layout::TRACE_CELLS.end as usize;
        let memory = self.memory();
        memory.data_mut(&mut self.store)[cells].fill(0);
    }

    fn call(&mut self, name: &str, arguments: &[Val]) -> Result<Vec<Val>> {
        let function = self.instance.get_func(&mut self.store, name).unwrap();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        let called = function.call(&mut self.store, arguments, &mut results);
        self.store.take_pending_exception();
        called.map(|()| results)
    }

    /// Calls a function and gives what that call recorded.
    fn traced(&mut self, name: &str, arguments: &[Val]) -> Trace {
        self.clear();
        // How it ends is seen in the trace.
        let _ = self.call(name, arguments);
        self.trace()
    }

    /// The same, without calls, each event with the operator in the original.
    fn operands(&mut self, name: &str, arguments: &[Val]) -> Vec<(String, Event)> {
        let records = self.traced(name, arguments).records.into_iter();
        let operands = records
            .filter(|record| !matches!(record.event, Event::Enter { .. } | Event::Leave { .. } | Event::Caught { .. }));
        operands.map(|record| (self.operator(record.site), record.event)).collect()
    }

    /// The operator at an offset in the original, as text, without what comes after its name.
    fn operator(&self, site: u32) -> String {
        let mut storage = String::new();
        let config = wasmprinter::Config::new();
        let mut lines = config.offsets_and_lines(&self.original, &mut storage).unwrap();
        let line = lines.find(|(at, _)| *at == Some(site.into())).map_or("end", |(_, line)| line.trim());
        // The end of a function is its bracket.
        line.split(' ').next().unwrap().replace(')', "end")
    }
}

/// Guests that grow their memories and tables don't get far.
fn store(engine: &Engine) -> Store<StoreLimits> {
    let limits = StoreLimitsBuilder::new().memory_size(64 << 20).table_elements(20_000).instances(10).build();
    let mut store = Store::new(engine, limits);
    store.limiter(|limits| limits);
    store
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
