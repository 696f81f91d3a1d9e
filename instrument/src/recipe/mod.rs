//! Call recipes: how a library's functions are called with an input, as a line of text that becomes a function of the
//! module.
//!
//! ```text
//! p = malloc(len); write(p, input); r = parse(p, len); free(p); if r < 0 reject
//! ```
//!
//! `len` is the input's length and `input` its address, where nobody else's memory is; `string` is the address of the
//! input as UTF-8, `utf16` as UTF-16. A recipe with none of them has the input on standard input. `NAME(...)` calls an
//! export. What else there is stands at [`link_recipe`].
//!
//! The function is appended to the module and exported as [`EXPORT`]: `(draws..., address, length) -> i32`, whose
//! result is -1 if the input was rejected, and else what the recipe returns, or 0. So a recipe is executed,
//! instrumented and restored as any other code of the module, and its steps are no calls of the host. No index of the
//! module changes.
//!
//! `lex` and `parse` read the text, `compile` gives types and makes code, `builtin` has the words that are no exports,
//! `append` puts the function into the module.

mod append;
mod builtin;
mod code;
mod compile;
mod error;
mod lex;
mod parse;
mod syntax;
#[cfg(test)]
mod tests;
mod view;

use anyhow::Result;
use append::Added;
use compile::Compiled;
use wasm_encoder::{Function, Instruction};
use wasmparser::ValType;

pub use append::Origin;
pub use error::RecipeError;
pub use parse::is_word;
pub use syntax::Encoding;

/// The name by which the function of a recipe is exported.
pub const EXPORT: &str = "--call";

/// The name by which the function is exported that grows the memory.
pub const GROWTH: &str = "--grow";

/// The name by which the function is exported that a recipe puts in the place of an import: `on NAME(...) { ... }`.
/// Whoever links the module gives it that function.
pub fn given_name(module: &str, import: &str) -> String {
    format!("{GIVEN}{module}.{import}")
}

/// How the names of such functions begin.
pub const GIVEN: &str = "--on ";

/// A module with the function of a recipe.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The module. Indices are those of the module that was given.
    pub wasm: Vec<u8>,
    /// What is drawn: the function's first parameters.
    pub draws: Vec<ValType>,
    /// As what it takes the input: its last two parameters, which are address and length. `None` if it has none.
    pub takes: Option<Encoding>,
    /// The export that is fuzzed, as far as that can be told: the first that is given the input's address, or what was
    /// made of it.
    pub subject: Option<String>,
}

/// Appends the function of the recipe `text` to a module; that of [`link_growth`] as well, if it is to have that.
///
/// ```text
/// recipe     = statement { (";" | newline) statement }
/// statement  = { name "," } name "=" expression | expression | "if" expression statement [ "else" statement ]
///            | "while" expression statement | "{" recipe "}" | "reject" | "fail" | "return" [ expression ]
///            | "on" name "(" [ name { "," name } ] ")" "{" recipe "}"
/// expression = numbers, names, calls, and as in C: - ! ~  * / %  + -  << >>  < <= > >= == !=  &  ^  |
/// ```
///
/// | call | is |
/// | --- | --- |
/// | `NAME(x, ...)`, `` `any name`(x) `` | a call of an export, or of the import `module.name` |
/// | `write(p, input)`, `string`, `utf16`, `"text\0"` | bytes copied to an address |
/// | `copy(to, from, bytes)` | bytes copied from an address to another |
/// | `on NAME(a, b) { ...; return x }` | what an import does, at the outermost level: it has variables of its own |
/// | `write8(p, x)` to `write64`, `writef32`, `writef64` | a number stored |
/// | `read8(p)` to `read64`, `readf32`, `readf64` | a number loaded |
/// | `draw(i32)`, `draw(LO..HI)` | a number from the input's first bytes |
/// | `i32(x)`, `i64(x)`, `f32(x)`, `f64(x)` | a number as another type |
///
/// # Errors
///
/// [`RecipeError`] if the text is wrong, or does not fit the module; another error if the module can't be read.
pub fn link_recipe(wasm: &[u8], text: &str, with_growth: bool) -> Result<Recipe> {
    let view = view::View::of(wasm)?;
    let parsed = parse::parse(text)?;
    let Compiled { draws, functions, globals } = compile::compile(&parsed, &view)?;
    let added: Vec<_> = growth(&view).filter(|_| with_growth).into_iter().chain(functions).collect();
    let wasm = append::append(wasm, &view, &added, globals)?;
    Ok(Recipe { wasm, draws, takes: parsed.takes, subject: parsed.subject() })
}

/// Appends a function `(pages) -> pages before, or -1` that grows the memory which pointers mean, exported as
/// [`GROWTH`]: for hosts that grow the memories of their guests.
///
/// # Errors
///
/// If the module can't be read.
pub fn link_growth(wasm: &[u8]) -> Result<Vec<u8>> {
    let view = view::View::of(wasm)?;
    let added: Vec<_> = growth(&view).into_iter().collect();
    if added.is_empty() { Ok(wasm.to_vec()) } else { append::append(wasm, &view, &added, None) }
}

fn growth(view: &view::View) -> Option<Added> {
    let (memory, _) = view.memory.filter(|(_, wide)| !wide && !view.exports.contains_key(GROWTH))?;
    let mut body = Function::new([]);
    body.instruction(&Instruction::LocalGet(0)).instruction(&Instruction::MemoryGrow(memory));
    body.instruction(&Instruction::End);
    Some(Added { name: GROWTH.into(), params: vec![ValType::I32], results: vec![ValType::I32], body })
}

/// Checks recipes against a module, without making functions of them.
#[derive(Debug)]
pub struct Checker(view::View);

impl Checker {
    /// For a module.
    ///
    /// # Errors
    ///
    /// If the module can't be read.
    pub fn of(wasm: &[u8]) -> Result<Self> {
        view::View::of(wasm).map(Self)
    }

    /// What is wrong with a recipe.
    ///
    /// # Errors
    ///
    /// That.
    pub fn check(&self, text: &str) -> Result<(), RecipeError> {
        compile::compile(&parse::parse(text)?, &self.0).map(drop)
    }
}

/// The export that a recipe is for, as far as its text tells. `None` if it is no recipe.
pub fn subject(text: &str) -> Option<String> {
    parse::parse(text).ok()?.subject()
}
