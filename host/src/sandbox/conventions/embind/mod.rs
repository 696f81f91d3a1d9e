//! What C++ gives JavaScript by Emscripten's *embind*: functions and classes that no export has. Constructors of the
//! program tell JavaScript of each: its name, what it takes, and where in the table a function is (the *invoker*) that
//! calls it.
//!
//! ```text
//! _embind_register_function("decode", [val, std::string], "iii", invoker, f)
//! _embind_register_class_function(Decoder, "read", [void, this, std::string], "viii", invoker, context)
//! ```
//!
//! `read` runs the constructors, in an interpreter, and listens. Of each function an export is made that is linked to
//! the module, so all else sees it as any export. What it throws JavaScript is told; its name says what it takes:
//!
//! ```text
//! decode(string, bool)          a text is an address and a length
//! new Decoder(int)              returns the object
//! Decoder#read(string)          is given the object first
//! encode(string, [Options])     what is in brackets is not given: a value that is made there, or one of JavaScript
//! ```

mod read;
mod wrap;

use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::{Proposal, allocates, rank};
use crate::sandbox::source::interface::{Import, Interface};
use anyhow::Result;
use fuzzbox_instrument::{NamedModule, link_modules};

pub(super) const NAME: &str = "embind";

/// A text in a function's name.
const TEXT: &str = "string";
/// A text of wide characters.
const WIDE: &str = "wstring";
/// The export that tells where the memory is that JavaScript was given a view of last.
const VIEW: &str = "the last memory_view()";

/// What a parameter is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    Number(String),
    Text,
    /// Characters of so many bytes.
    Wide(u32),
    /// An object of a class.
    Object(String),
    /// A value that this element of the table makes.
    Made(String, u32),
    /// A value of JavaScript.
    Value,
}

/// A function that C++ gives JavaScript.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Function {
    /// As JavaScript calls it, with its class.
    name: String,
    /// Whether an object comes first.
    is_method: bool,
    /// What it takes beside that.
    params: Vec<Type>,
    /// Types of the invoker: result, what it is given first, the object if there is one, the parameters.
    signature: String,
    invoker: u32,
    /// What the invoker is given first.
    context: u32,
}

/// The module with what it gives JavaScript as exports; `None` if that is nothing.
pub(super) fn linked(wasm: &[u8], interface: &Interface) -> Result<Option<Vec<u8>>> {
    let registers = |name: &str| name == read::FUNCTION || name == read::METHOD;
    let needed = ["memory", "__indirect_function_table"];
    if !interface.imports.iter().any(|import| import.module == "env" && registers(&import.name))
        || needed.iter().any(|name| interface.export(name).is_none())
    {
        return Ok(None);
    }
    let Some(malloc) = ["malloc", "_malloc"].into_iter().find(|name| interface.function(name).is_some()) else {
        return Ok(None);
    };
    let functions = read::functions(wasm);
    let takes = |import: &Import| {
        import.name == wrap::TAKES && interface.function_type(import.ty).is_some_and(|ty| allocates(ty, 2))
    };
    let takes_view = interface.imports.iter().any(takes);
    let Some(text) = wrap::module(&functions, malloc, takes_view) else { return Ok(None) };
    let wrapped = wat::parse_str(&text)?;
    let views = wat::parse_str(wrap::VIEWS)?;
    let mut modules = vec![NamedModule { name: "the module", wasm, is_hidden: false }];
    modules.push(NamedModule { name: "what embind gives", wasm: &wrapped, is_hidden: false });
    if takes_view {
        modules.push(NamedModule { name: "views of its memory", wasm: &views, is_hidden: true });
    }
    link_modules(&modules).map(Some)
}

/// Whether an export is what embind gives that needs an object, or makes one: not by its type can it be called.
pub(super) fn is_of_a_class(export: &str) -> bool {
    Told::of(export).is_some_and(|told| told.class.is_some() || told.name.starts_with("new ")) || export == VIEW
}

/// A function as its export's name tells.
struct Told<'a> {
    export: &'a str,
    /// Without its class.
    name: &'a str,
    class: Option<&'a str>,
    params: Vec<&'a str>,
}

impl<'a> Told<'a> {
    fn of(export: &'a str) -> Option<Self> {
        let (name, params) = export.strip_suffix(')')?.split_once('(')?;
        let (class, name) = name.split_once('#').map_or((None, name), |(class, name)| (Some(class), name));
        let params = if params.is_empty() { Vec::new() } else { params.split(", ").collect() };
        Some(Self { export, name, class, params })
    }

    /// What is written for its parameters, if all are known: text is the input, numbers are 0.
    fn arguments(&self, all: &[Told<'_>], made: &mut String) -> Option<Vec<String>> {
        let mut arguments = Vec::new();
        let class = self.class.map(|class| format!("{class}&"));
        for param in class.as_deref().iter().chain(&self.params) {
            match *param {
                TEXT => arguments.push("input, len".to_owned()),
                WIDE => arguments.push("utf16, len".to_owned()),
                "bool" => arguments.push("draw(0..2)".to_owned()),
                param if param.starts_with('[') => {}
                param => match param.strip_suffix('&') {
                    Some(class) => {
                        let object = format!("o{}", arguments.len());
                        made.push_str(&format!("{object} = {}; ", construction(class, all)?));
                        arguments.push(object);
                    }
                    None => arguments.push("0".to_owned()),
                },
            }
        }
        Some(arguments)
    }
}

/// How an object is made without another one, and without the input.
fn construction(class: &str, all: &[Told<'_>]) -> Option<String> {
    let of = all.iter().filter(|told| told.name.strip_prefix("new ") == Some(class));
    let plain = of.filter(|told| !told.params.iter().any(|param| [TEXT, WIDE].contains(param) || param.ends_with('&')));
    let least = plain.min_by_key(|told| told.params.len())?;
    let zeros = least.params.iter().filter(|param| !param.starts_with('[')).map(|_| "0");
    Some(format!("`{}`({})", least.export, zeros.collect::<Vec<_>>().join(", ")))
}

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    let all: Vec<Told<'_>> = library.functions().filter_map(|(name, _)| Told::of(name)).collect();
    let mut proposals = Vec::new();
    for told in &all {
        let mut call = String::new();
        let Some(arguments) = told.arguments(&all, &mut call) else { continue };
        let texts = told.params.iter().filter(|param| [TEXT, WIDE].contains(param)).count();
        let interest = rank::interest(told.name);
        let filled = if texts == 0 { filled(told, &all) } else { None };
        if texts == 0 && filled.is_none() {
            continue;
        }
        call.push_str(&filled.unwrap_or_default());
        call.push_str(&format!("`{}`({})", told.export, arguments.join(", ")));
        // Numbers beside a text may have to be its size.
        let is_sure = told.params.iter().all(|param| [TEXT, WIDE, "bool"].contains(param) || param.starts_with('['));
        let guessed = texts == 0 || !is_sure;
        let score = 60 + interest - if guessed { 20 } else { 0 };
        proposals.push(Proposal {
            export: told.export.to_owned(),
            call,
            convention: NAME,
            guessed,
            tried: None,
            score,
        });
    }
    proposals
}

/// For a method without parameters: fills the memory of which another method of the object gives a view, when it is
/// asked for so many bytes.
fn filled(told: &Told<'_>, all: &[Told<'_>]) -> Option<String> {
    if told.class.is_none() || !told.params.is_empty() || rank::interest(told.name) <= 0 {
        return None;
    }
    let is_view = |other: &&Told<'_>| {
        let name = other.name.to_lowercase();
        other.class == told.class
            && other.params.len() == 1
            && ["buffer", "input", "source", "data", "bytes"].iter().any(|word| name.contains(word))
            && other.params.iter().all(|param| param.contains("int") || param.contains("long"))
    };
    let mut views: Vec<&Told<'_>> = all.iter().filter(is_view).collect();
    // What is to be read, not what was made of it.
    views
        .sort_by_key(|view| ["decoded", "output", "result"].iter().any(|word| view.name.to_lowercase().contains(word)));
    let view = views.first()?;
    Some(format!("`{}`(o0, len); p = `{VIEW}`(); if p == 0 reject; copy(p, input, len); ", view.export))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::conventions::{completed, recipe};

    /// What Emscripten makes of a program with a function over a text, a class with a method, a function over wide
    /// characters and a value, and one that gives a view of memory that is to be filled. All add up the bytes.
    const MODULE: &str = r#"(module
        (import "env" "_embind_register_std_string" (func $string (param i32 i32)))
        (import "env" "_embind_register_std_wstring" (func $wide (param i32 i32 i32)))
        (import "env" "_embind_register_integer" (func $integer (param i32 i32 i32 i32 i32)))
        (import "env" "_embind_register_emval" (func $emval (param i32)))
        (import "env" "_embind_register_value_object" (func $value (param i32 i32 i32 i32 i32 i32)))
        (import "env" "_embind_register_function" (func $function (param i32 i32 i32 i32 i32 i32 i32)))
        (import "env" "_embind_register_class"
            (func $class (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
        (import "env" "_embind_register_class_constructor" (func $constructor (param i32 i32 i32 i32 i32 i32)))
        (import "env" "_embind_register_class_function" (func $method (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))
        (import "env" "_emval_take_value" (func $take (param i32 i32) (result i32)))
        (import "env" "emscripten_resize_heap" (func (param i32) (result i32)))
        (memory (export "memory") 1) (global $heap (mut i32) (i32.const 4096))
        (table (export "__indirect_function_table") 16 funcref)
        (elem (i32.const 1) $sum $sum_wide $make $method_sum $buffer $decode $option)
        (data (i32.const 16) "decode\00\00wide\00\00\00\00C\00\00\00\00\00\00\00read\00\00\00\00")
        (data (i32.const 64) "iii\00iiiii\00iii\00ii\00iiii\00\00std::string\00int\00")
        (data (i32.const 112) "getBuffer\00" "parse\00" "Options\00" "iiii\00")
        (data (i32.const 256) "\01\00\00\00\02\00\00\00" "\01\00\00\00\03\00\00\00\04\00\00\00\05\00\00\00"
            "\06\00\00\00" "\01\00\00\00\07\00\00\00\02\00\00\00" "\05\00\00\00\07\00\00\00\01\00\00\00")
        (func (export "malloc") (param i32) (result i32)
            (global.get $heap)
            (global.set $heap (i32.add (global.get $heap) (i32.and (i32.add (local.get 0) (i32.const 15)) (i32.const -16)))))
        (func (export "__wasm_call_ctors")
            (call $integer (i32.const 1) (i32.const 99) (i32.const 4) (i32.const 0) (i32.const 0))
            (call $string (i32.const 2) (i32.const 87)) (call $wide (i32.const 3) (i32.const 2) (i32.const 87))
            (call $emval (i32.const 5))
            (call $value (i32.const 4) (i32.const 128) (i32.const 83) (i32.const 7) (i32.const 83) (i32.const 0))
            (call $class (i32.const 6) (i32.const 7) (i32.const 8) (i32.const 0) (i32.const 64) (i32.const 0)
                (i32.const 64) (i32.const 0) (i32.const 64) (i32.const 0) (i32.const 32) (i32.const 64) (i32.const 0))
            (call $function (i32.const 16) (i32.const 2) (i32.const 256) (i32.const 64) (i32.const 1) (i32.const 90)
                (i32.const 0))
            (call $function (i32.const 24) (i32.const 4) (i32.const 264) (i32.const 68) (i32.const 2) (i32.const 0)
                (i32.const 0))
            (call $constructor (i32.const 6) (i32.const 1) (i32.const 280) (i32.const 78) (i32.const 3) (i32.const 77))
            (call $method (i32.const 6) (i32.const 40) (i32.const 3) (i32.const 284) (i32.const 136) (i32.const 4)
                (i32.const 0) (i32.const 0) (i32.const 0))
            (call $method (i32.const 6) (i32.const 112) (i32.const 3) (i32.const 296) (i32.const 136) (i32.const 5)
                (i32.const 0) (i32.const 0) (i32.const 0))
            (call $method (i32.const 6) (i32.const 122) (i32.const 2) (i32.const 284) (i32.const 64) (i32.const 6)
                (i32.const 0) (i32.const 0) (i32.const 0)))
        (func $total (param $at i32) (param $len i32) (result i32) (local $sum i32)
            (block $end (loop $more
                (br_if $end (i32.eqz (local.get $len)))
                (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get $at))))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (local.set $len (i32.sub (local.get $len) (i32.const 1)))
                (br $more)))
            (local.get $sum))
        (func $sum (param $context i32) (param $text i32) (result i32)
            (i32.add (local.get $context)
                (call $total (i32.add (local.get $text) (i32.const 4)) (i32.load (local.get $text)))))
        (func $sum_wide (param i32) (param $text i32) (param $options i32) (param $value i32) (result i32)
            (i32.add (i32.load (local.get $options))
                (call $total (i32.add (local.get $text) (i32.const 4))
                    (i32.mul (i32.const 2) (i32.load (local.get $text))))))
        (func $option (result i32) (i32.store (i32.const 3000) (i32.const 1000)) (i32.const 3000))
        (func $make (param $context i32) (result i32)
            (i32.store (i32.const 2000) (local.get $context)) (i32.const 2000))
        (func $method_sum (param i32) (param $this i32) (param $text i32) (result i32)
            (call $sum (i32.load (local.get $this)) (local.get $text)))
        (func $buffer (param i32) (param $this i32) (param $len i32) (result i32)
            (i32.store (i32.const 2100) (local.get $len)) (i32.store (i32.const 2104) (i32.const 2200))
            (drop (call $take (i32.const 9) (i32.const 2100)))
            (i32.const 0))
        (func $decode (param i32) (param $this i32) (result i32)
            (call $total (i32.const 2200) (i32.load (i32.const 2100)))))"#;

    #[test]
    fn functions_that_only_javascript_has_are_exports() {
        let wasm = completed(&wat::parse_str(MODULE).unwrap(), "").unwrap().unwrap();
        let interface = Interface::of(&wasm).unwrap();
        let given: Vec<_> = interface.functions().map(|(name, _)| name).filter(|name| name.contains('(')).collect();
        let names = [
            "decode(string)",
            "wide(wstring, [Options], [val])",
            "new C()",
            "C#read(string)",
            "C#getBuffer(int)",
            "C#parse()",
            VIEW,
        ];
        assert_eq!(given, names);
        let call = |typed: &str| recipe(typed, &interface, "").unwrap();
        assert_eq!(call("decode"), "`decode(string)`(input, len)");
        assert_eq!(call("wide"), "`wide(wstring, [Options], [val])`(utf16, len)");
        assert_eq!(call("embind:C#read"), "o0 = `new C()`(); `C#read(string)`(o0, input, len)");
        assert_eq!(
            call("C#parse"),
            "o0 = `new C()`(); `C#getBuffer(int)`(o0, len); p = `the last memory_view()`(); if p == 0 reject; copy(p, \
             input, len); `C#parse()`(o0)"
        );
        let engine = wasmtime::Engine::default();
        let module = wasmtime::Module::new(&engine, &wasm).unwrap();
        let mut store = wasmtime::Store::new(&engine, ());
        let mut linker = wasmtime::Linker::new(&engine);
        linker.define_unknown_imports_as_default_values(&mut store, &module).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        memory.write(&mut store, 1024, &[1, 0, 30, 0]).unwrap();
        let mut called = |name: &str, params: &[i32]| {
            let function = instance.get_func(&mut store, name).unwrap();
            let params: Vec<_> = params.iter().map(|&param| wasmtime::Val::I32(param)).collect();
            let mut results = [wasmtime::Val::I32(0)];
            function.call(&mut store, &params, &mut results).unwrap();
            results[0].unwrap_i32()
        };
        assert_eq!(called("decode(string)", &[1024, 4]), 90 + 31);
        assert_eq!(called("wide(wstring, [Options], [val])", &[1024, 4]), 1000 + 31);
        let object = called("new C()", &[]);
        assert_eq!(called("C#read(string)", &[object, 1024, 3]), 77 + 31);
        assert_eq!((called("C#getBuffer(int)", &[object, 4]), called(VIEW, &[])), (0, 2200));
        assert!(
            interface.imports.iter().any(|import| import.name == "emscripten_throw_number"),
            "what is thrown is told"
        );
    }

    #[test]
    fn programs_whose_constructors_never_end_give_what_they_said_before() {
        let text = MODULE.replace(
            "(call $method (i32.const 6) (i32.const 112)",
            "(loop (br 0)) (call $method (i32.const 6) (i32.const 112)",
        );
        let functions = read::functions(&wat::parse_str(text).unwrap());
        let names: Vec<_> = functions.iter().map(|function| &*function.name).collect();
        assert_eq!(names, ["decode", "wide", "new C", "C#read"]);
        assert_eq!(read::functions(b"no module"), []);
        let hostile = [
            "(table 4000000000 funcref)",
            "(memory 65536)",
            "(func $f (call $f)) (start $f)",
            r#"(import "env" "invoke_v" (func $i (param i32))) (table (export "__indirect_function_table") 1 funcref)
               (elem (i32.const 0) $f) (func $f (export "_initialize") (call $i (i32.const 0)))"#,
            r#"(import "a" "b" (global i32)) (import "a" "c" (func (param externref) (result externref)))"#,
            r#"(import "env" "_embind_register_function" (func $f (param i32 i32 i32 i32))) (memory (export "memory") 1)
               (func (export "_initialize") (call $f (i32.const -1) (i32.const 32) (i32.const -4) (i32.const 70000)))"#,
        ];
        for text in hostile {
            assert_eq!(read::functions(&wat::parse_str(format!("(module {text})")).unwrap()), [], "{text}");
        }
    }
}
