//! Runs scripts whose modules use legacy exceptions, and checks what they expect.

use std::collections::BTreeMap;

use fuzzbox_instrument::{Options, instrument, translate_legacy_exceptions};
use wasmtime::*;
use wast::core::{WastArgCore, WastRetCore};
use wast::{QuoteWat, Wast, WastArg, WastDirective, WastExecute, WastInvoke, WastRet};

use crate::execution::{Offsets, Origins};
use crate::legacy::unfold::unfold;

/// What a script is run with.
#[derive(Clone)]
pub(crate) enum Variant {
    Translated,
    Instrumented(Options),
}

/// How many directives were carried out, and what was not as expected.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) directives: usize,
    pub(crate) wrong: Vec<String>,
}

/// Runs a script. What it says about traps besides the assertions is in the outcomes, which are the same for all variants.
pub(crate) fn run(engine: &Engine, name: &str, text: &str, variant: Variant, report: &mut Report) -> Vec<String> {
    let text = unfold(text);
    let buffer = wast::parser::ParseBuffer::new(&text).unwrap();
    let script = wast::parser::parse::<Wast<'_>>(&buffer).unwrap();
    let mut this = Script {
        variant,
        store: Store::new(engine, ()),
        linker: Linker::new(engine),
        origins: Origins::new(Offsets::All),
        instances: BTreeMap::new(),
    };
    let mut outcomes = Vec::new();
    for (number, directive) in (1..).zip(script.directives) {
        let (expected, outcome) = this.directive(directive);
        report.directives += 1;
        if !outcome.starts_with(&expected) {
            report.wrong.push(format!("{name}, directive {number}: expected {expected}, found {outcome}"));
        }
        outcomes.push(outcome);
    }
    outcomes
}

struct Script {
    variant: Variant,
    store: Store<()>,
    linker: Linker<()>,
    origins: Origins,
    instances: BTreeMap<Option<String>, Instance>,
}

impl Script {
    /// Carries out a directive; gives how its outcome should start, and the outcome.
    fn directive(&mut self, directive: WastDirective<'_>) -> (String, String) {
        match directive {
            WastDirective::Module(module) => ("instantiated".to_owned(), self.module(module)),
            WastDirective::AssertInvalid { module, .. } | WastDirective::AssertMalformed { module, .. } => {
                ("refused".to_owned(), self.module(module))
            }
            WastDirective::Register { name, module, .. } => {
                let instance = self.instances[&module.map(|id| id.name().to_owned())];
                self.linker.instance(&mut self.store, name, instance).unwrap();
                ("registered".to_owned(), "registered".to_owned())
            }
            WastDirective::Invoke(call) => ("returned".to_owned(), self.invoke(&call)),
            WastDirective::AssertReturn { exec: WastExecute::Invoke(call), results, .. } => {
                let results: Vec<_> = results.iter().map(expected).collect();
                (format!("returned {}", results.join(" ")), self.invoke(&call) + " ")
            }
            WastDirective::AssertTrap { exec: WastExecute::Invoke(call), .. } => {
                ("trap ".to_owned(), self.invoke(&call))
            }
            WastDirective::AssertException { exec: WastExecute::Invoke(call), .. } => {
                ("exception".to_owned(), self.invoke(&call))
            }
            _ => panic!("a directive that this runner doesn't know"),
        }
    }

    fn module(&mut self, mut module: QuoteWat<'_>) -> String {
        let name = module.name().map(|id| id.name().to_owned());
        let Ok(wasm) = module.encode() else { return "refused as text".to_owned() };
        let made = match &self.variant {
            Variant::Translated => translate_legacy_exceptions(&wasm).map(|new| (new.wasm, new.offsets)),
            Variant::Instrumented(options) => instrument(&wasm, options).map(|new| (new.wasm, new.offsets)),
        };
        let (wasm, offsets) = match made {
            Ok(made) => made,
            Err(error) => return format!("refused: {error:#}"),
        };
        let module = Module::new(self.store.engine(), &wasm).unwrap();
        self.origins.add(module.clone(), offsets);
        match self.linker.instantiate(&mut self.store, &module) {
            Ok(instance) => {
                self.instances.insert(None, instance);
                self.instances.insert(name, instance);
                "instantiated".to_owned()
            }
            Err(error) => self.failure(&error),
        }
    }

    fn invoke(&mut self, call: &WastInvoke<'_>) -> String {
        let instance = self.instances[&call.module.map(|id| id.name().to_owned())];
        let Some(function) = instance.get_func(&mut self.store, call.name) else {
            return format!("no function {}", call.name);
        };
        let arguments: Vec<_> = call.args.iter().map(argument).collect();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        match function.call(&mut self.store, &arguments, &mut results) {
            Ok(()) => {
                let results: Vec<_> = results.iter().map(number).collect();
                format!("returned {}", results.join(" "))
            }
            Err(error) => self.failure(&error),
        }
    }

    fn failure(&mut self, error: &Error) -> String {
        self.store.take_pending_exception();
        self.origins.failure(error)
    }
}

fn argument(argument: &WastArg<'_>) -> Val {
    match argument {
        WastArg::Core(WastArgCore::I32(value)) => Val::I32(*value),
        WastArg::Core(WastArgCore::I64(value)) => Val::I64(*value),
        WastArg::Core(WastArgCore::F32(value)) => Val::F32(value.bits),
        WastArg::Core(WastArgCore::F64(value)) => Val::F64(value.bits),
        other => panic!("an argument that this runner doesn't know: {other:?}"),
    }
}

fn expected(result: &WastRet<'_>) -> String {
    use wast::core::NanPattern::Value;
    match result {
        WastRet::Core(WastRetCore::I32(value)) => number(&Val::I32(*value)),
        WastRet::Core(WastRetCore::I64(value)) => number(&Val::I64(*value)),
        WastRet::Core(WastRetCore::F32(Value(value))) => number(&Val::F32(value.bits)),
        WastRet::Core(WastRetCore::F64(Value(value))) => number(&Val::F64(value.bits)),
        other => panic!("a result that this runner doesn't know: {other:?}"),
    }
}

fn number(value: &Val) -> String {
    match value {
        Val::I32(bits) => format!("i32:{bits:x}"),
        Val::I64(bits) => format!("i64:{bits:x}"),
        Val::F32(bits) => format!("f32:{bits:x}"),
        Val::F64(bits) => format!("f64:{bits:x}"),
        other => panic!("a value that this runner doesn't know: {other:?}"),
    }
}
