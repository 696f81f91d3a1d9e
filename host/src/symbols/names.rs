//! Names that people read: demangled, and reduced to what stays when code is recompiled.

use std::fmt::{self, Write};

/// Longer mangled names are shown as they are: demangling is for people, and nobody reads this much.
const MANGLED_BYTES_MAX: usize = 4096;
/// A demangled name is cut here. Mangling schemes have back references, so that a short name can stand for an endless
/// one.
const DEMANGLED_BYTES_MAX: usize = 2048;
/// A simplified name is cut here.
const SIMPLE_BYTES_MAX: usize = 120;
/// `<<<T as A>::X as B>::Y as C>::f` deeper than this loses what is inside.
const NESTING_MAX: u32 = 8;

/// Demangles a Rust or C++ symbol, without hashes, parameters and return types; anything else stays as it is.
///
/// ```
/// use fuzzbox::symbols::demangle;
/// assert_eq!(demangle("_ZN4core9panicking5panic17h0123456789abcdefE"), "core::panicking::panic");
/// assert_eq!(demangle("_ZN4json5parseEPKc"), "json::parse");
/// assert_eq!(demangle("main.parse"), "main.parse");
/// ```
pub fn demangle(name: &str) -> String {
    let is_short = name.len() <= MANGLED_BYTES_MAX;
    if is_short && let Some(demangled) = demangle_rust(name).or_else(|| demangle_cpp(name)) {
        return demangled;
    }
    let mut plain = Bounded::default();
    let _ = plain.write_str(name);
    plain.text
}

fn demangle_rust(name: &str) -> Option<String> {
    let symbol = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded::default();
    let _ = write!(out, "{symbol:#}");
    Some(out.text).filter(|text| !text.is_empty())
}

fn demangle_cpp(name: &str) -> Option<String> {
    if !["_Z", "__Z", "___Z"].iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let parsing = cpp_demangle::ParseOptions::default().recursion_limit(96);
    let printing = cpp_demangle::DemangleOptions::new().no_params().no_return_type().recursion_limit(96);
    let symbol = cpp_demangle::Symbol::new_with_options(name, &parsing).ok()?;
    let mut out = Bounded::default();
    let complete = symbol.structured_demangle(&mut out, &printing).is_ok();
    (complete || out.full).then_some(out.text).filter(|text| !text.is_empty())
}

/// Takes text up to [`DEMANGLED_BYTES_MAX`], then fails, which makes a demangler stop.
#[derive(Default)]
struct Bounded {
    text: String,
    full: bool,
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = DEMANGLED_BYTES_MAX - self.text.len();
        if text.len() > room {
            self.full = true;
            self.text.push_str(&text[..text.floor_char_boundary(room)]);
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// Reduces a demangled name to what stays the same when the code around it is recompiled: no template or generic
/// arguments, no parameters, no hashes, no numbers of closures, no suffixes of compilers.
///
/// ```
/// use fuzzbox::symbols::simplify;
/// assert_eq!(simplify("std::__2::vector<int, std::__2::allocator<int>>::at(unsigned long) const"), "std::vector::at");
/// assert_eq!(simplify("<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"), "alloc::vec::Vec::drop");
/// assert_eq!(simplify("json::parse::{{closure}}::h0123456789abcdef"), "json::parse::{closure}");
/// ```
pub fn simplify(name: &str) -> String {
    let mut simple = Simplifier::run(name, 0);
    if simple.is_empty() {
        simple = name.to_owned();
    }
    if simple.len() > SIMPLE_BYTES_MAX {
        simple.truncate(simple.floor_char_boundary(SIMPLE_BYTES_MAX));
        simple.push('…');
    }
    simple
}

/// What compilers append to the names of parts and copies of a function; the ones that end in a dot have a number.
const SUFFIXES: [&str; 6] = [".llvm.", ".isra.", ".constprop.", ".part.", ".cold", ".command_export"];

/// Cuts off the first of [`SUFFIXES`], and all after it.
fn without_suffix(name: &str) -> &str {
    let name = name.split(" [clone").next().unwrap_or(name);
    let begins = SUFFIXES.iter().filter_map(|suffix| {
        let at = name.find(suffix).filter(|at| *at > 0)?;
        let next = name[at + suffix.len()..].chars().next();
        let ends = if suffix.ends_with('.') {
            next.is_some_and(|next| next.is_ascii_digit())
        } else {
            next.is_none_or(|next| next == '.')
        };
        ends.then_some(at)
    });
    begins.min().map_or(name, |at| &name[..at])
}

/// Copies a name from left to right and leaves out what [`simplify`] leaves out.
struct Simplifier<'a> {
    rest: &'a str,
    out: String,
    /// A parameter list was left out, so the name is C++'s and may begin with a return type.
    had_parameters: bool,
    nesting: u32,
}

impl<'a> Simplifier<'a> {
    fn run(name: &'a str, nesting: u32) -> String {
        let mut this = Self { rest: without_suffix(name), out: String::new(), had_parameters: false, nesting };
        while let Some(next) = this.rest.chars().next() {
            if !this.step(next) {
                break;
            }
        }
        let name = if this.had_parameters { without_return_type(&this.out) } else { &this.out };
        let segments = name.split("::").filter(|segment| !matches!(*segment, "__1" | "__2" | "__ndk1" | "__cxx11"));
        let mut kept: Vec<&str> = segments.collect();
        if kept.len() > 1 && kept.last().is_some_and(|last| is_hash(last)) {
            kept.pop();
        }
        kept.join("::")
    }

    /// Handles what begins at `next`; false at the end of the name proper.
    fn step(&mut self, next: char) -> bool {
        match next {
            'o' if self.at_operator() => self.copy_operator(),
            '<' => self.angle(),
            '(' => return self.parenthesis(),
            '{' => self.brace(),
            '[' if ["[abi:", "[go.", "[..."].iter().any(|group| self.rest.starts_with(group)) => {
                self.take_group('[', ']');
            }
            '_' if self.at_number_of_zig() => {}
            _ => self.copy(next.len_utf8()),
        }
        true
    }

    fn copy(&mut self, bytes: usize) {
        let (text, rest) = self.rest.split_at(bytes);
        self.out.push_str(text);
        self.rest = rest;
    }

    /// Whether a path segment begins here.
    fn at_segment(&self) -> bool {
        self.out.is_empty() || self.out.ends_with("::")
    }

    fn at_operator(&self) -> bool {
        let starts = self.out.is_empty() || self.out.ends_with([':', ' ']);
        starts && self.rest.strip_prefix("operator").is_some_and(|rest| rest.starts_with(|c: char| !is_word(c)))
    }

    /// Copies `operator<<`, whose brackets are not those of a template, and `operator()`.
    fn copy_operator(&mut self) {
        self.copy("operator".len());
        const TOKENS: [&str; 13] = ["()", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">", "[]"];
        if let Some(token) = TOKENS.iter().find(|token| self.rest.starts_with(**token)) {
            self.copy(token.len());
        }
    }

    /// `<A as B>::f` becomes `A::f`, `<impl A for B>::f` becomes `B::f`; any other `<...>` goes.
    fn angle(&mut self) {
        let at_segment = self.at_segment();
        let inner = self.take_group('<', '>');
        if !at_segment {
            return;
        }
        let qualified = self.out.is_empty() || inner.starts_with("impl ");
        if !qualified {
            // `parse::<u32>`
            self.out.truncate(self.out.len() - "::".len());
            return;
        }
        let of = match inner.strip_prefix("impl ") {
            Some(inner) => last_part(inner, " for "),
            None => first_part(inner, " as "),
        };
        if self.nesting < NESTING_MAX {
            let of = of.trim_start_matches(['&', '*']).trim_start_matches("mut ").trim_start_matches("const ");
            let of = Self::run(of.trim_start_matches("dyn "), self.nesting + 1);
            self.out.push_str(&of);
        }
    }

    /// Leaves out `__anon_1234`, with which Zig numbers the instances of a generic function.
    fn at_number_of_zig(&mut self) -> bool {
        let Some(rest) = self.rest.strip_prefix("__anon_") else { return false };
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = after.len() < rest.len() && !self.out.is_empty();
        if is_number {
            self.rest = after;
        }
        is_number
    }

    /// Leaves out a parameter list; keeps `(anonymous namespace)` and Go's `(*Parser)`. False if nothing of the name
    /// follows.
    fn parenthesis(&mut self) -> bool {
        const ANONYMOUS: &str = "(anonymous namespace)";
        if self.rest.starts_with(ANONYMOUS) {
            self.copy(ANONYMOUS.len());
            return true;
        }
        if self.out.ends_with('.') {
            self.copy(1);
            return true;
        }
        let at_segment = self.at_segment();
        self.take_group('(', ')');
        if at_segment {
            self.out.push_str("()");
            return true;
        }
        self.had_parameters = true;
        // `decltype(auto) f(int)`, `f(int)::g`, and Zig's `ArrayList(u8).append`.
        self.out.ends_with("decltype") || self.rest.starts_with("::") || self.rest.starts_with('.')
    }

    /// `{{closure}}`, `{closure#3}` and `{lambda(int)#1}` keep their kind only: their numbers change with the code
    /// before them.
    fn brace(&mut self) {
        let inner = self.take_group('{', '}').trim_start_matches('{');
        let kind = inner.split(|c: char| !is_word(c)).next().unwrap_or_default();
        self.out.push('{');
        self.out.push_str(kind);
        self.out.push('}');
    }

    /// Skips a bracketed group and gives what was inside; an unclosed one reaches to the end.
    fn take_group(&mut self, open: char, close: char) -> &'a str {
        let text = self.rest;
        let mut depth = 0_usize;
        let mut before = ' ';
        for (at, c) in text.char_indices() {
            if c == open {
                depth += 1;
            } else if c == close && !(close == '>' && before == '-') {
                depth -= 1;
                if depth == 0 {
                    self.rest = &text[at + close.len_utf8()..];
                    return &text[open.len_utf8()..at];
                }
            }
            before = c;
        }
        self.rest = "";
        &text[open.len_utf8()..]
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `h` and 16 hex digits: what rustc appends to each symbol.
fn is_hash(segment: &str) -> bool {
    segment.len() == 17 && segment.starts_with('h') && segment[1..].bytes().all(|b| b.is_ascii_hexdigit())
}

/// What stands before `separator` outside of brackets, or everything.
fn first_part<'a>(text: &'a str, separator: &str) -> &'a str {
    outside_brackets(text, separator).map_or(text, |at| &text[..at])
}

/// What stands after `separator` outside of brackets, or everything.
fn last_part<'a>(text: &'a str, separator: &str) -> &'a str {
    outside_brackets(text, separator).map_or(text, |at| &text[at + separator.len()..])
}

fn outside_brackets(text: &str, separator: &str) -> Option<usize> {
    let mut depth = 0_i64;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth -= 1,
            ' ' if depth == 0 && text[at..].starts_with(separator) => return Some(at),
            _ => {}
        }
        before = c;
    }
    None
}

/// `void json::parse` without `void`: the return type that C++ demanglers print for templates.
fn without_return_type(name: &str) -> &str {
    let head = match name.find("operator") {
        Some(at) => &name[..at],
        None => name,
    };
    let mut spaces = head.rmatch_indices(' ').map(|(at, _)| at);
    let start = spaces.find(|at| !head[..*at].ends_with("(anonymous")).map_or(0, |at| at + 1);
    name[start..].trim_start_matches(['*', '&'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_names_lose_hashes_and_generics() {
        for (mangled, demangled, simple) in [
            ("_ZN4json5parse17h0123456789abcdefE", "json::parse", "json::parse"),
            (
                "_ZN51_$LT$u8$u20$as$u20$core..convert..From$LT$T$GT$$GT$4from17h0123456789abcdefE",
                "<u8 as core::convert::From<T>>::from",
                "u8::from",
            ),
            ("_RNvCsdBezzDwma51_4json5parse", "json::parse", "json::parse"),
            ("_RINvCs1234_4json5parsehE", "json::parse::<u8>", "json::parse"),
        ] {
            assert_eq!(demangle(mangled), demangled);
            assert_eq!(simplify(demangled), simple);
        }
    }

    #[test]
    fn rust_paths_are_simplified() {
        for (name, simple) in [
            ("core::fmt::num::imp::<impl core::fmt::Display for u32>::fmt", "core::fmt::num::imp::u32::fmt"),
            ("<&mut T as core::iter::Iterator>::next", "T::next"),
            ("<<A as B>::C as D<E>>::f", "A::C::f"),
            ("core::ptr::drop_in_place<[(u8, alloc::string::String)]>", "core::ptr::drop_in_place"),
            ("json::parse::{{closure}}::{{closure}}", "json::parse::{closure}::{closure}"),
            ("json::parse::{closure#3}", "json::parse::{closure}"),
            ("<fn(u8) -> u16 as F>::call", "fn::call"),
            ("core::slice::<impl [T]>::copy_from_slice", "core::slice::[T]::copy_from_slice"),
        ] {
            assert_eq!(simplify(name), simple, "{name}");
        }
    }

    #[test]
    fn cpp_names_lose_template_arguments_parameters_and_return_types() {
        for (name, simple) in [
            ("json::parse(char const*, unsigned long)", "json::parse"),
            ("void json::each<int, std::__2::pair<int, int>>(int) const", "json::each"),
            (
                "std::__2::basic_string<char>::__throw_length_error[abi:v15000]() const",
                "std::basic_string::__throw_length_error",
            ),
            ("(anonymous namespace)::walk(Node*)", "(anonymous namespace)::walk"),
            ("int* (anonymous namespace)::make<int>()", "(anonymous namespace)::make"),
            ("json::(anonymous namespace)::walk(Node*)", "json::(anonymous namespace)::walk"),
            ("std::ostream& operator<< <char>(std::ostream&, char)", "operator<< "),
            ("a::operator<(a const&)", "a::operator<"),
            ("a::operator->() const", "a::operator->"),
            ("a::operator()(int) const", "a::operator()"),
            ("run(int)::{lambda(int)#1}::operator()(int) const", "run::{lambda}::operator()"),
            ("operator new(unsigned long)", "operator new"),
            ("parse_value.isra.0", "parse_value"),
            ("parse_value.llvm.12345", "parse_value"),
            ("parse(int) [clone .cold]", "parse"),
            ("parse.cold", "parse"),
            ("decltype(auto) visit<int>(int&&)", "visit"),
            ("non-virtual thunk to json::Node::walk()", "json::Node::walk"),
            ("std::function<void (int)>::operator()(int) const", "std::function::operator()"),
            ("operator delete[](void*)", "operator delete[]"),
            ("LLVMFuzzerTestOneInput.command_export", "LLVMFuzzerTestOneInput"),
        ] {
            assert_eq!(simplify(name).trim_end(), simple.trim_end(), "{name}");
        }
        assert_eq!(
            demangle("_ZNSt3__26vectorIiNS_9allocatorIiEEE2atEm"),
            "std::__2::vector<int, std::__2::allocator<int> >::at"
        );
    }

    #[test]
    fn names_of_other_languages_lose_their_generics_too() {
        for (name, simple) in [
            ("main.(*Parser).value", "main.(*Parser).value"),
            ("main.(*Stack[go.shape.int]).Push", "main.(*Stack).Push"),
            ("main.Map[...]", "main.Map"),
            ("main.coldStart", "main.coldStart"),
            ("array_list.ArrayListAligned(u8,null).append", "array_list.ArrayListAligned.append"),
            ("json.parse__anon_1234", "json.parse"),
            ("~lib/array/Array<i32>#push", "~lib/array/Array#push"),
            ("assembly/index/main~anonymous|0", "assembly/index/main~anonymous|0"),
        ] {
            assert_eq!(simplify(name), simple, "{name}");
        }
    }

    #[test]
    fn other_names_stay() {
        for name in ["main.parse", "runtime.gopanic", "~lib/builtins/abort", "LLVMFuzzerTestOneInput", "_Zebra", "_R"] {
            assert_eq!(demangle(name), name);
            assert_eq!(simplify(name), name);
        }
    }

    #[test]
    fn names_stay_short_whatever_they_stand_for() {
        // Each `S_`-style back reference doubles what is printed.
        let mut bomb = String::from("_Z1fIN1aE");
        for _ in 0..60 {
            bomb.push_str("St4pairIT_T_E");
        }
        bomb.push_str("Evv");
        assert!(demangle(&bomb).len() <= DEMANGLED_BYTES_MAX);
        let long = "a".repeat(1 << 20);
        assert!(demangle(&long).len() <= DEMANGLED_BYTES_MAX);
        assert!(simplify(&demangle(&long)).len() <= SIMPLE_BYTES_MAX + '…'.len_utf8());
    }

    #[test]
    fn unbalanced_brackets_end_with_the_name() {
        for name in [
            "a<b",
            "a>b",
            "a(b",
            "{",
            "<",
            "(",
            "a::<",
            "[abi:",
            "<<<<<<<<<<<<<<<<a",
            "operator",
            "operator<",
            "é<ü>::ö",
        ] {
            let _ = simplify(name);
        }
        assert_eq!(simplify(&"<".repeat(10_000)), "<".repeat(120) + "…");
    }
}
