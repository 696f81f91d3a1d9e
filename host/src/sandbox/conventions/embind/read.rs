//! Runs a program's constructors, which tell JavaScript of its functions, and listens.
//!
//! They run in an interpreter: what has to be known before anything is compiled must not take a compiler, and what an
//! untrusted module does here is bounded in steps and bytes.

use crate::sandbox::conventions::embind::{Function, Type};
use std::collections::BTreeMap;
use wasmi::{
    Caller, CompilationMode, Config, Engine, Extern, ExternType, Linker, Module, Nullable, Ref, Store, StoreLimits,
    StoreLimitsBuilder, Val,
};

pub(super) const FUNCTION: &str = "_embind_register_function";
pub(super) const METHOD: &str = "_embind_register_class_function";

/// Steps of the interpreter; constructors of large programs take a hundredth.
const FUEL: u64 = 200_000_000;
const MEMORY_BYTES_MAX: usize = 1 << 30;
const ELEMENTS_MAX: usize = 1 << 22;
const NESTED_MAX: u32 = 100;
/// More functions are not listened to.
const FUNCTIONS_MAX: usize = 10_000;
/// Longer names are cut, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// Functions with more parameters are left out.
const PARAMETERS_MAX: u32 = 32;

/// What calls constructors, in the order in which JavaScript calls it.
const CONSTRUCTORS: [&str; 4] =
    ["_initialize", "__wasm_call_ctors", "_embind_initialize_bindings", "__embind_initialize_bindings"];

/// A call of a registering function: its name and its arguments.
type Call = (String, Vec<u32>);

/// What was heard, with bytes of the memory that have to be read at once.
#[derive(Default)]
struct Heard {
    limits: StoreLimits,
    nested: u32,
    calls: Vec<Call>,
    texts: BTreeMap<u32, String>,
    lists: BTreeMap<(u32, u32), Vec<u32>>,
}

/// The functions that a module gives JavaScript, in the order in which it does. As many as were heard of if its
/// constructors don't return.
pub(super) fn functions(wasm: &[u8]) -> Vec<Function> {
    heard(wasm).map_or_else(|_| Vec::new(), |heard| heard.functions())
}

fn heard(wasm: &[u8]) -> Result<Heard, wasmi::Error> {
    let mut config = Config::default();
    config.consume_fuel(true).compilation_mode(CompilationMode::LazyTranslation);
    let engine = Engine::new(&config);
    let module = Module::new(&engine, wasm)?;
    let limits = StoreLimitsBuilder::new().memory_size(MEMORY_BYTES_MAX).table_elements(ELEMENTS_MAX).build();
    let mut store = Store::new(&engine, Heard { limits, ..Heard::default() });
    store.limiter(|heard| &mut heard.limits);
    store.set_fuel(FUEL)?;
    let mut linker = Linker::new(&engine);
    for import in module.imports() {
        let ExternType::Func(ty) = import.ty() else { continue };
        let name = import.name().to_owned();
        let zeros: Vec<Val> = ty.results().iter().map(|&ty| Val::default_for_ty(ty)).collect();
        linker.func_new(import.module(), import.name(), ty.clone(), move |mut caller, params, results| {
            results.clone_from_slice(&zeros);
            if name.starts_with("invoke_") {
                return invoke(&mut caller, params, results);
            }
            if let Some(kind) = name.strip_prefix("_embind_register_") {
                listen(&mut caller, kind, params);
            }
            Ok(())
        })?;
    }
    // What does not come to its end has told something before.
    let Ok(instance) = linker.instantiate_and_start(&mut store, &module) else { return Ok(store.into_data()) };
    for name in CONSTRUCTORS {
        let Ok(constructors) = instance.get_typed_func::<(), ()>(&store, name) else { continue };
        if constructors.call(&mut store, ()).is_err() {
            break;
        }
    }
    Ok(store.into_data())
}

/// Calls an element of the table, in the place of JavaScript that would catch what it throws.
fn invoke(caller: &mut Caller<'_, Heard>, params: &[Val], results: &mut [Val]) -> Result<(), wasmi::Error> {
    let table = caller.get_export("__indirect_function_table").and_then(Extern::into_table);
    let index = params.first().and_then(Val::i32).unwrap_or(0).cast_unsigned();
    let element = table.and_then(|table| table.get(&*caller, index.into()));
    let Some(Ref::Func(Nullable::Val(function))) = element else { return Ok(()) };
    // Each of these has frames of ours on the stack.
    if caller.data().nested >= NESTED_MAX {
        return Err(wasmi::Error::new("too many calls inside of each other"));
    }
    caller.data_mut().nested += 1;
    let called = function.call(&mut *caller, params.get(1..).unwrap_or_default(), results);
    caller.data_mut().nested -= 1;
    called
}

/// Notes a call, and what its arguments point to.
fn listen(caller: &mut Caller<'_, Heard>, kind: &str, params: &[Val]) {
    let numbers: Vec<u32> = params.iter().map(|value| value.i32().unwrap_or(0).cast_unsigned()).collect();
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else { return };
    let (data, heard) = memory.data_and_store_mut(&mut *caller);
    if heard.calls.len() >= FUNCTIONS_MAX {
        return;
    }
    for &at in &numbers {
        let bytes = data.get(at as usize..).unwrap_or_default();
        let end = bytes.iter().take(NAME_BYTES_MAX).position(|&byte| byte == 0);
        if let Some(text) = end.and_then(|end| std::str::from_utf8(&bytes[..end]).ok()) {
            heard.texts.entry(at).or_insert_with(|| text.to_owned());
        }
    }
    for pair in numbers.windows(2).filter(|pair| pair[0] <= PARAMETERS_MAX) {
        let words = |at: u32| {
            let bytes = data.get(at as usize..)?.get(..4 * pair[0] as usize)?;
            Some(bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
        };
        if let Some(list) = words(pair[1]) {
            heard.lists.entry((pair[1], pair[0])).or_insert(list);
        }
    }
    heard.calls.push((kind.to_owned(), numbers));
}

impl Heard {
    fn functions(&self) -> Vec<Function> {
        let types = self.types();
        self.calls.iter().filter_map(|(kind, numbers)| self.function(kind, numbers, &types)).collect()
    }

    fn text(&self, at: u32) -> &str {
        self.texts.get(&at).map_or("", |text| text)
    }

    /// A name as one word, in a list of them.
    fn name(&self, at: u32) -> String {
        self.text(at).replace(", ", ",").replace(['`', '(', ')', '[', ']', '#', '\n'], "_")
    }

    /// Types by their numbers. Classes are those numbers that are objects of them, or pointers to these.
    fn types(&self) -> BTreeMap<u32, Type> {
        let mut types = BTreeMap::new();
        for (kind, numbers) in &self.calls {
            let name = |index: usize| numbers.get(index).map_or_else(String::new, |&at| self.name(at));
            let Some(&number) = numbers.first() else { continue };
            let ty = match (kind.as_str(), numbers.len()) {
                ("std_string", 2..) => Type::Text,
                ("std_wstring", 3..) => Type::Wide(numbers[1]),
                ("emval" | "memory_view" | "user_type" | "optional", _) => Type::Value,
                ("bool" | "integer" | "bigint" | "float" | "enum", 2..) => Type::Number(name(1)),
                ("value_object" | "value_array", 4..) => Type::Made(name(1), numbers[3]),
                ("class", 11..) => {
                    for &pointer in &numbers[1..3] {
                        types.insert(pointer, Type::Object(name(10)));
                    }
                    Type::Object(name(10))
                }
                _ => continue,
            };
            types.insert(number, ty);
        }
        types
    }

    fn function(&self, kind: &str, numbers: &[u32], types: &BTreeMap<u32, Type>) -> Option<Function> {
        // Where in a call the name, the number of types, the signature, the invoker and what it is given are.
        let (class, name, count, is_method) = match kind {
            "function" => (None, Some(0), 1, false),
            "class_constructor" => (Some(0), None, 1, false),
            "class_function" => (Some(0), Some(1), 2, true),
            "class_class_function" => (Some(0), Some(1), 2, false),
            _ => return None,
        };
        let at = |index: usize| numbers.get(index).copied();
        let class = match class {
            Some(index) => match types.get(&at(index)?)? {
                Type::Object(class) => Some(class),
                _ => return None,
            },
            None => None,
        };
        let name = match (name, class) {
            (None, Some(class)) => format!("new {class}"),
            (Some(name), Some(class)) if is_method => format!("{class}#{}", self.name(at(name)?)),
            (Some(name), Some(class)) => format!("{class}.{}", self.name(at(name)?)),
            (Some(name), None) => self.name(at(name)?),
            (None, None) => return None,
        };
        let signature = self.text(at(count + 2)?).to_owned();
        let list = self.lists.get(&(at(count + 1)?, at(count)?))?;
        let known = |number: &u32| types.get(number).cloned().unwrap_or_else(|| Type::Number("?".to_owned()));
        let params = list.get(1 + usize::from(is_method)..)?.iter().map(known).collect();
        Some(Function { name, is_method, params, signature, invoker: at(count + 3)?, context: at(count + 4)? })
    }
}
