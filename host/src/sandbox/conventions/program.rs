//! `main` of programs that JavaScript starts: it is given a name and `-`, which many programs take for standard input,
//! where the input is.
//!
//! ```text
//! a = stackAlloc(32); write(a + 16, "main\0-\0");
//! write32(a, a + 16); write32(a + 4, a + 21); write32(a + 8, 0); main(2, a)
//! ```

use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::{Proposal, allocates};

pub(super) const NAME: &str = "program";

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    let has = |name: &str, params| library.function(name).is_some_and(|ty| allocates(ty, params));
    let main = ["main", "__main_argc_argv", "_main"].into_iter().find(|name| has(name, 2));
    let allocators = ["_emscripten_stack_alloc", "stackAlloc", "malloc", "_malloc"];
    let allocator = allocators.into_iter().find(|name| has(name, 1));
    let (Some(main), Some(allocator)) = (main, allocator) else { return Vec::new() };
    let call = format!(
        "a = {allocator}(32); write(a + 16, \"main\\0-\\0\"); write32(a, a + 16); write32(a + 4, a + 21); \
         write32(a + 8, 0); {main}(2, a)"
    );
    vec![Proposal { export: main.to_owned(), call, convention: NAME, guessed: true, score: 30 }]
}
