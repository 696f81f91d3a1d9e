//! What fuzzbox parses from outside, as guests of itself: a harness for each parser, and `seeds/` with a folder of inputs for each.
//!
//! ```text
//! target/debug/xtask guests parsers
//! fuzzbox run target/guests/parsers.wasm --warm-up --entry source_map --corpus tests/guests/parsers/seeds/source_map
//! ```
//!
//! The parsers are those of the command: their files are part of this crate, in modules that are named as there, because the crate that
//! they belong to does not compile to wasm. Overflow and debug assertions are checked here. Beside that nothing panics, each harness says
//! what must hold of what was parsed.

#![allow(
    dead_code,
    unfulfilled_lint_expectations,
    unreachable_pub,
    unused_imports,
    reason = "not all of the files is of use here"
)]

#[path = "../../../../host/src/engine/dictionary/mod.rs"]
mod dictionary;
#[path = "../../../../host/src/failure/mod.rs"]
mod failure;
#[path = "../../../../host/src/grammar/mod.rs"]
mod grammar;
#[path = "../../../../host/src/id.rs"]
mod id;
mod lines;
mod modules;
#[path = "../../../../host/src/outcome/mod.rs"]
mod outcome;
#[path = "../../../../host/src/packed.rs"]
mod packed;
#[path = "../../../../host/src/said.rs"]
mod said;
mod store;
#[path = "../../../../host/src/stream/mod.rs"]
mod stream;
mod streams;
#[path = "../../../../host/src/symbols/mod.rs"]
mod symbols;
#[path = "../../../../host/src/text.rs"]
mod text;
mod texts;

/// Makes a C function of a harness.
macro_rules! harness {
    ($($(#[$doc:meta])* $name:ident => $harness:path;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// `data` has `size` bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(data: *const u8, size: usize) -> i32 {
            // SAFETY: as said above.
            let data = if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, size) } };
            if data.is_empty() {
                modules::warm_up();
            }
            $harness(data);
            0
        }
    )*};
}

harness! {
    /// A component, as bytes or as text.
    component => modules::component;
    /// A dictionary in AFL's format.
    dictionary => token_list;
    /// The debug sections of a module: for each a byte that says which, two that are its length, and that many bytes.
    dwarf => lines::dwarf;
    /// A finding's record, with its checksum or without.
    finding => store::finding;
    /// A grammar; behind a zero byte a text that may be one of its.
    grammar => texts::grammar;
    /// A module, as bytes.
    module => modules::module;
    /// The name of a function; also a name section.
    names => lines::names;
    /// A source map.
    source_map => lines::source_map;
    /// What is drawn, and a stream that it is drawn from.
    stream => streams::stream;
    /// A trace of key frames.
    trace => texts::trace;
    /// A module as text.
    wat => modules::text;
}

fn token_list(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(parsed) = dictionary::Dictionary::parse(text) else { return };
    let tokens = parsed.tokens();
    assert!(tokens.is_sorted_by(|a, b| a < b), "tokens are in order, each once");
    assert!(tokens.iter().all(|token| (1..=dictionary::Dictionary::TOKEN_BYTES_MAX).contains(&token.len())));
    // Written in the one form that has no exceptions, they are the same.
    let hex = |token: &Vec<u8>| token.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let again: String = tokens.iter().map(|token| format!("\"{}\"\n", hex(token))).collect();
    assert_eq!(dictionary::Dictionary::parse(&again).expect("it is well-formed").tokens(), tokens);
}
