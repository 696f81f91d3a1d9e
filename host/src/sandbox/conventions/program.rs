//! `main` of programs that JavaScript starts: it is given a name and arguments. What a program wants nobody knows: a
//! file, and where to write another, or `-` for standard input, or a text of its own language, of which a point is one
//! in many. The input is on standard input, and in the file `/input` where that is named.
//!
//! ```text
//! a = stackAlloc(32); write(a + 16, "main\0-\0");
//! write32(a, a + 16); write32(a + 4, a + 21); write32(a + 8, 0); main(2, a)
//! ```

use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::{Proposal, allocates};

pub(super) const NAME: &str = "program";

/// Stands for the input itself, in arguments: programs in a language of their own, patterns, expressions.
const INPUT: &str = "<input>";

/// Arguments, the likeliest first.
const ARGUMENTS: [&[&str]; 9] = [
    &["-"],
    &["/input"],
    &["."],
    &["/input", "/output"],
    &["/input", "/output", "/more"],
    &[".", "/input"],
    &[INPUT],
    &["-e", INPUT],
    &[],
];

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    let ways = ARGUMENTS.iter().zip(0..).filter_map(|(arguments, number)| {
        let (main, call) = main_with(library, arguments)?;
        Some(Proposal {
            export: main.to_owned(),
            call,
            convention: NAME,
            guessed: true,
            tried: None,
            score: 30 - number,
        })
    });
    ways.collect()
}

/// The function that a program begins with, and statements that call it with arguments.
pub(super) fn main_with<'i>(library: &Library<'i>, arguments: &[&str]) -> Option<(&'i str, String)> {
    let has = |params| move |name: &&str| library.function(name).is_some_and(|ty| allocates(ty, params));
    let main = ["main", "__main_argc_argv", "_main"].into_iter().find(has(2))?;
    let allocators = ["_emscripten_stack_alloc", "stackAlloc", "malloc", "_malloc"];
    let allocator = allocators.into_iter().find(has(1))?;
    Some((main, call(main, allocator, arguments)))
}

/// Addresses of texts, then the texts; the input is a text of its own.
fn call(main: &str, allocator: &str, arguments: &[&str]) -> String {
    let texts: Vec<&str> = std::iter::once("main").chain(arguments.iter().copied()).collect();
    let addresses = (4 * (texts.len() + 1)).next_multiple_of(16);
    let own = || texts.iter().filter(|text| **text != INPUT);
    let bytes = (addresses + own().map(|text| text.len() + 1).sum::<usize>()).next_multiple_of(16);
    let all: String = own().map(|text| format!("{text}\\0")).collect();
    let (mut at, mut stores) = (addresses, String::new());
    for (number, text) in texts.iter().enumerate() {
        let to = if number == 0 { "a".to_owned() } else { format!("a + {}", 4 * number) };
        if *text == INPUT {
            stores.push_str(&format!("write32({to}, p); "));
            continue;
        }
        stores.push_str(&format!("write32({to}, a + {at}); "));
        at += text.len() + 1;
    }
    let input = match texts.contains(&INPUT) {
        true => format!("p = {allocator}(len + 1); write(p, input); write8(p + len, 0); "),
        false => String::new(),
    };
    format!(
        "{input}a = {allocator}({bytes}); write(a + {addresses}, \"{all}\"); {stores}write32(a + {}, 0); {main}({}, a)",
        4 * texts.len(),
        texts.len()
    )
}
