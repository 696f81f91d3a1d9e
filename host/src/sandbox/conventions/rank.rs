//! Which names sound like code that reads what others wrote.

/// Words in names, and what they add.
const WORDS: [(&str, i32); 50] = [
    ("parse", 50),
    ("decode", 50),
    ("decompress", 50),
    ("inflate", 45),
    ("unpack", 45),
    ("deserialize", 45),
    ("demangle", 40),
    ("compile", 40),
    ("eval", 40),
    ("lint", 35),
    ("format", 35),
    ("validate", 35),
    ("verify", 35),
    ("tokenize", 35),
    ("render", 30),
    ("transform", 30),
    ("convert", 30),
    ("minify", 30),
    ("process", 25),
    ("load", 25),
    ("read", 25),
    ("open", 20),
    ("scan", 25),
    ("match", 20),
    ("query", 20),
    ("exec", 20),
    ("prepare", 20),
    ("run", 15),
    ("feed", 20),
    ("compress", 15),
    ("encode", 10),
    ("hash", 5),
    ("checksum", 5),
    ("crc", 5),
    ("digest", 5),
    ("next", -40),
    ("new", -5),
    ("get", -10),
    ("set", -10),
    ("length", -20),
    ("init", -30),
    ("version", -60),
    ("error", -50),
    ("stack", -100),
    ("alloc", -100),
    ("free", -100),
    ("delete", -100),
    ("destroy", -100),
    ("drop", -100),
    ("callback", -60),
];

/// Functions of C's library and of compilers, which are nobody's subject.
const LIBRARY: [&str; 21] = [
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "strlen",
    "strcmp",
    "strncmp",
    "strcpy",
    "strncpy",
    "strcat",
    "iswspace",
    "iswalnum",
    "iswalpha",
    "towlower",
    "towupper",
    "fflush",
    "setThrew",
    "saveSetjmp",
    "htons",
    "ntohs",
];

/// How much a function's name makes it worth to be fuzzed.
pub(super) fn interest(name: &str) -> i32 {
    let lower = name.to_lowercase();
    let words: i32 = WORDS.iter().filter(|(word, _)| lower.contains(word)).map(|(_, worth)| worth).sum();
    let hidden = ["__", "dynCall", "emscripten_", "_emscripten", "_initialize", "fflush"];
    let is_hidden =
        hidden.iter().any(|prefix| name.starts_with(prefix)) || LIBRARY.contains(&name.trim_start_matches('_'));
    words - if is_hidden { 150 } else { 0 }
}
