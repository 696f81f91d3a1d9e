//! What makes two failures the same one: the kind of trap and the calls around it.

use super::machinery::{calls_hook, is_failure_machinery, is_startup};
use crate::outcome::{FailureKind, Frame, Outcome, Trap, TrapKind};
use crate::symbols::{StableCall, Symbols};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Frames that a signature names.
const FRAMES_MAX: usize = 4;
/// Calls that have a place, at most.
const PLACES_MAX: usize = 8;
/// Frames that a hang's signature names.
const HANG_FRAMES_MAX: usize = 3;
/// Functions of a recursion that a signature names.
const RECURSION_NAMES_MAX: usize = 8;

/// What a failure is called: the same for failures with the same cause, in this build of the target and the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// As it is shown.
    pub name: String,
    /// The same without debug information, if that is something else.
    pub lineless: Option<String>,
}

impl Signature {
    /// Whether two failures are the same, as far as both are known: by lines if both have these.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.lineless, &other.lineless) {
            (Some(plain), None) => *plain == other.name,
            (None, Some(plain)) => *plain == self.name,
            _ => self.name == other.name,
        }
    }

    /// Whether two failures of different builds are the same. Where a function was `edited` that is called in both, its
    /// places are others; where none was, its instructions are where they were, though lines may have moved.
    pub fn is_same_in_another_build(&self, other: &Self, edited: bool) -> bool {
        let in_place = self.lineless.is_some() && self.lineless == other.lineless;
        self.is_same(other) || in_place || edited && self.has_same_calls(other)
    }

    /// Whether two failures are of one kind and in the same calls, wherever in these: what stays of a failure's name
    /// when one of its functions was edited. Where a call is inlined in one of the builds its name has no path there.
    fn has_same_calls(&self, other: &Self) -> bool {
        let parts = |signature: &Self| -> Vec<String> {
            let (kind, calls) = signature.name.split_once(": ").unwrap_or(("", &signature.name));
            let calls = calls.split(" < ").map(|call| without_path(without_place(call)).to_owned());
            std::iter::once(kind.to_owned()).chain(calls).collect()
        };
        parts(self) == parts(other)
    }
}

/// A call without the line or the instruction behind it: `f:+14` and `f@42` are `f`.
fn without_place(call: &str) -> &str {
    let digits = call.trim_end_matches(|c: char| c.is_ascii_digit());
    let place = digits.strip_suffix('@').or_else(|| digits.strip_suffix(":+").or_else(|| digits.strip_suffix(":-")));
    place.filter(|_| digits.len() < call.len()).unwrap_or(call)
}

/// A call without the modules or classes that its function is in: `a::b` is `b`.
fn without_path(call: &str) -> &str {
    call.rsplit_once("::").map_or(call, |(_, name)| name)
}

/// Names a failure.
///
/// | failure | signature |
/// | --- | --- |
/// | crash | `unreachable: parse_value:+14 < parse_array < LLVMFuzzerTestOneInput` |
/// | failed assertion | `unreachable: check_depth:+3 < parse_value < LLVMFuzzerTestOneInput` |
/// | without debug information | `unreachable: check_depth@42 < parse_value < LLVMFuzzerTestOneInput` |
/// | `fuzzbox_v1.fail` | `failed: not sorted`, what the guest says |
/// | out of memory | `oom: read_table:+8 < load < LLVMFuzzerTestOneInput` |
/// | recursion without end | `stack-overflow: parse_array, parse_value` |
/// | hang | `hang: skip_spaces < parse_value < LLVMFuzzerTestOneInput` |
/// | another build's output | `difference: stdout: letter -> digit`, the old one's and the new one's |
/// | it fails, another build doesn't | `difference: outcome: ok -> unreachable: f:+4 < LLVMFuzzerTestOneInput` |
///
/// Innermost calls come first, with those that were inlined, as debug information has them. From the top go the frames
/// of the machinery by which programs fail (`abort`, `__assert_fail`, panics, throwing), which are the same for every
/// failure. Names are simplified: no hashes, no template or generic arguments, no numbers of closures. Cycles of
/// recursion are written once, because how deep it went depends on the input and not on the bug. At most 4 calls
/// remain, unless places need more.
///
/// Calls have their place in the function from the top through the first that is not a library's: so two failures in
/// one function stay apart, also two calls of `Option::unwrap`. A place is a line, counted from the function's own
/// first one, else the instruction's number in the function: nothing that changes when something is added elsewhere. A
/// function without a name is told by a fingerprint of its code for the same reason.
///
/// A stack overflow happens at whatever call comes last, so it is named by the *set* of functions that occur more than
/// once, sorted.
///
/// A hang is noticed where the fuel happens to end, anywhere below the loop that does not end: its innermost frames are
/// arbitrary, and so is any place, and any function that was inlined there. What lies outside of the loop is the same
/// each time, so a hang is named by its outermost 3 frames, without the runtime's startup code. A hang in the fourth
/// frame or deeper can share its name with another one; that is the lesser evil than a new finding for each point at
/// which the fuel can end.
pub fn signature(kind: FailureKind, trap: &Trap, symbols: &Symbols) -> Signature {
    let plain = describe(kind, trap, symbols, false);
    let name = describe(kind, trap, symbols, true);
    Signature { lineless: Some(plain).filter(|plain| *plain != name), name }
}

/// The signature of an outcome; empty for one that is no failure.
pub fn signature_of(outcome: &Outcome, symbols: &Symbols) -> Signature {
    let none = || Signature { name: String::new(), lineless: None };
    outcome.failure().map_or_else(none, |(kind, trap)| signature(kind, trap, symbols))
}

/// The failure in words, with what debug information says or without.
fn describe(kind: FailureKind, trap: &Trap, symbols: &Symbols, lines: bool) -> String {
    if kind == FailureKind::Hang || trap.kind == TrapKind::OutOfFuel {
        return hang(trap, symbols, lines);
    }
    if let (TrapKind::Failed | TrapKind::BadResult, Some(class)) =
        (trap.kind, trap.class.as_deref().filter(|class| !class.is_empty()))
    {
        return format!("{}: {}", trap.kind.name(), class.escape_debug());
    }
    if trap.kind == TrapKind::StackOverflow {
        return recursion(trap.kind.name(), names(&trap.frames, symbols, lines));
    }
    let kind: Cow<'_, str> = match (kind, trap.class.as_deref()) {
        (FailureKind::Crash, _) => trap.kind.name().into(),
        (FailureKind::Difference, Some(class)) => format!("{}: {}", kind.name(), class.escape_debug()).into(),
        _ => kind.name().into(),
    };
    let calls = symbols.stable_calls(&trap.frames, lines);
    let calls = without_failure_machinery(&calls);
    if calls.is_empty() {
        return kind.into_owned();
    }
    // All of them, if there are only libraries.
    let own = calls.iter().position(|call| !call.is_library).unwrap_or(0);
    let placed = (own + 1).min(PLACES_MAX);
    let place = |(depth, call): (usize, &StableCall)| Part {
        name: call.name.clone(),
        place: (depth < placed).then(|| symbols.stable_place(call)),
    };
    let mut parts: Vec<_> = calls.iter().enumerate().map(place).collect();
    collapse_cycles(&mut parts, Part::is_again);
    let has_place = parts.iter().rposition(|part| part.place.is_some()).map_or(0, |last| last + 1);
    parts.truncate(has_place.max(FRAMES_MAX));
    let parts: Vec<_> = parts.into_iter().map(|part| part.name + &part.place.unwrap_or_default()).collect();
    format!("{kind}: {}", parts.join(" < "))
}

/// A call in a signature.
struct Part {
    name: String,
    place: Option<String>,
}

impl Part {
    /// Whether `next`, further out, says nothing that this one does not.
    fn is_again(&self, next: &Self) -> bool {
        self.name == next.name && (next.place.is_none() || next.place == self.place)
    }
}

/// The functions of frames. What was inlined is none: where recursion or fuel ends, it is arbitrary.
fn names(frames: &[Frame], symbols: &Symbols, lines: bool) -> Vec<String> {
    // Lines of names that are known are not looked up: that takes long.
    let lines = lines && frames.iter().any(|frame| !symbols.has_name(frame.function));
    let calls = symbols.stable_calls(frames, lines).into_iter();
    calls.filter(|call| call.is_frame).map(|call| call.name).collect()
}

fn hang(trap: &Trap, symbols: &Symbols, lines: bool) -> String {
    let mut names = names(&trap.frames, symbols, lines);
    if trap.frames.len() >= Trap::FRAMES_MAX {
        // The outermost frames were not recorded: the loop is deep in a recursion.
        return recursion(FailureKind::Hang.name(), names);
    }
    let is_startup_only = names.iter().all(|name| is_startup(name));
    names.retain(|name| is_startup_only || !is_startup(name));
    collapse_cycles(&mut names, |a, b| a == b);
    let outermost = names.split_off(names.len().saturating_sub(HANG_FRAMES_MAX));
    let kind = FailureKind::Hang;
    if outermost.is_empty() { kind.to_string() } else { format!("{kind}: {}", outermost.join(" < ")) }
}

fn recursion(kind: &str, names: Vec<String>) -> String {
    let mut calls: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *calls.entry(name).or_default() += 1;
    }
    let repeats = calls.values().any(|calls| *calls > 1);
    let mut names: Vec<String> =
        calls.into_iter().filter(|(_, calls)| *calls > 1 || !repeats).map(|(name, _)| name).collect();
    if names.len() > RECURSION_NAMES_MAX {
        let more = names.len() - RECURSION_NAMES_MAX;
        names.truncate(RECURSION_NAMES_MAX);
        names.push(format!("{more} more"));
    }
    if names.is_empty() { kind.to_owned() } else { format!("{kind}: {}", names.join(", ")) }
}

/// Drops the calls that every failure of a language has on top, and what a program has put there to be told of its
/// failures; all of them only if nothing else is there.
fn without_failure_machinery(calls: &[StableCall]) -> &[StableCall] {
    // The outermost: a hook may fail in its turn.
    let hook = calls.iter().rposition(|call| calls_hook(&call.name)).unwrap_or(0);
    let machinery = hook + calls[hook..].iter().take_while(|call| is_failure_machinery(&call.name)).count();
    if machinery == calls.len() { calls } else { &calls[machinery..] }
}

/// Replaces each run of a repeated cycle (`a b a b a b`) by its first (`a b`), shortest cycles first.
fn collapse_cycles<T>(calls: &mut Vec<T>, is_again: impl Fn(&T, &T) -> bool) {
    for period in 1..=calls.len() / 2 {
        let mut at = 0;
        while at + 2 * period <= calls.len() {
            let (first, second) = calls[at..at + 2 * period].split_at(period);
            if first.iter().zip(second).all(|(first, second)| is_again(first, second)) {
                calls.drain(at + period..at + 2 * period);
            } else {
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module whose functions have the given names and bodies of 16 bytes, and a trap in them, innermost first.
    fn sign(failure: FailureKind, kind: TrapKind, stack: &[&str]) -> String {
        let mut names: Vec<&str> = stack.to_vec();
        names.sort_unstable();
        names.dedup();
        let body = "(func (drop (i64.const 0x7fffffffffffffff)))";
        let module = wat::parse_str(format!("(module {})", body.repeat(names.len()))).unwrap();
        let symbols = Symbols::new(module.clone(), |index| names.get(index as usize).map(|name| (*name).to_owned()));
        let first_body = module.windows(3).position(|bytes| bytes == [14, 0, 0x42]).unwrap_or(0) as u32 + 1;
        let frames = stack
            .iter()
            .map(|name| {
                let function = names.iter().position(|other| other == name).unwrap() as u32;
                Frame { function, offset: first_body + function * 15 + 5 }
            })
            .collect();
        let signature = signature(failure, &Trap { kind, class: None, frames }, &symbols);
        assert_eq!(signature.lineless, None, "there is no debug information");
        signature.name
    }

    fn crash(stack: &[&str]) -> String {
        sign(FailureKind::Crash, TrapKind::Unreachable, stack)
    }

    #[test]
    fn a_crash_is_named_by_its_top_four_frames() {
        assert_eq!(
            crash(&["parse_value", "parse_array", "parse", "LLVMFuzzerTestOneInput", "_start"]),
            "unreachable: parse_value@1 < parse_array < parse < LLVMFuzzerTestOneInput"
        );
        assert_eq!(crash(&[]), "unreachable");
    }

    #[test]
    fn how_a_program_fails_is_not_part_of_why() {
        assert_eq!(crash(&["abort", "__assert_fail", "check", "main"]), "unreachable: check@1 < main");
        assert_eq!(
            crash(&[
                "__rust_start_panic",
                "_ZN3std9panicking20rust_panic_with_hook17h0123456789abcdefE",
                "_RNvCs1234_7___rustc17rust_begin_unwind",
                "core::panicking::panic_fmt::h0123456789abcdef",
                "core::option::expect_failed::h0123456789abcdef",
                "json::value::h0123456789abcdef",
            ]),
            "unreachable: json::value@1"
        );
        assert_eq!(
            crash(&["__cxa_throw", "std::__2::__throw_length_error[abi:v15000](char const*)", "load(int)", "main"]),
            "unreachable: load@1 < main"
        );
        assert_eq!(crash(&["runtime.fatalpanic", "runtime.gopanic", "main.parse"]), "unreachable: main.parse@1");
    }

    #[test]
    fn a_panic_hook_is_not_part_of_why() {
        let panic = |hook: &[&str], place: &str| {
            let dispatch = ["std::panicking::panic_with_hook", "rust_begin_unwind", "core::panicking::panic_fmt"];
            crash(&[hook, &dispatch, &[place, "main"]].concat())
        };
        let hook = ["libfuzzer_sys::initialize::{closure#0}", "alloc::boxed::Box<F>::call"];
        assert_eq!(panic(&hook, "json::value"), "unreachable: json::value@1 < main");
        assert_eq!(panic(&hook, "json::list"), "unreachable: json::list@1 < main");
        assert_eq!(crash(&["on_terminate()", "std::__terminate(void (*)())", "load(int)"]), "unreachable: load@1");
        // A hook that panics.
        let nested = [&["core::panicking::panic_fmt", "my_hook"][..], &hook].concat();
        assert_eq!(panic(&nested, "json::value"), "unreachable: json::value@1 < main");
    }

    #[test]
    fn machinery_is_dropped_from_the_top_only_and_never_entirely() {
        assert_eq!(crash(&["free", "raise", "main"]), "unreachable: free@1 < raise@1 < main");
        assert_eq!(crash(&["abort", "raise"]), "unreachable: abort@1 < raise@1");
    }

    #[test]
    fn the_depth_of_a_recursion_does_not_matter() {
        let once = crash(&["leaf", "value", "array", "value", "array", "main"]);
        assert_eq!(once, "unreachable: leaf@1 < value < array < main");
        assert_eq!(once, crash(&["leaf", "value", "array", "value", "array", "value", "array", "main"]));
        assert_eq!(crash(&["a", "a", "a", "b"]), "unreachable: a@1 < b");
    }

    #[test]
    fn template_arguments_do_not_tell_failures_apart() {
        let sum = |ty: &str| crash(&[&format!("void sum<{ty}>({ty}*)"), "main"]);
        assert_eq!(sum("int"), sum("std::__2::vector<int>"));
    }

    #[test]
    fn a_stack_overflow_is_the_set_of_functions_that_recur() {
        let overflow = |stack: &[&str]| sign(FailureKind::Crash, TrapKind::StackOverflow, stack);
        assert_eq!(overflow(&["memcpy", "value", "array", "value", "array"]), "stack-overflow: array, value");
        assert_eq!(overflow(&["array", "value", "array", "value"]), "stack-overflow: array, value");
        assert_eq!(overflow(&["big_frame", "main"]), "stack-overflow: big_frame, main");
    }

    #[test]
    fn a_hang_is_named_by_its_outermost_frames() {
        let hang = |stack: &[&str]| sign(FailureKind::Hang, TrapKind::OutOfFuel, stack);
        let expected = "hang: value < parse < LLVMFuzzerTestOneInput";
        assert_eq!(hang(&["peek", "next", "value", "parse", "LLVMFuzzerTestOneInput"]), expected);
        assert_eq!(hang(&["next", "value", "parse", "LLVMFuzzerTestOneInput"]), expected);
        assert_eq!(hang(&["value", "value", "value", "parse", "LLVMFuzzerTestOneInput"]), expected);
        assert_eq!(hang(&["spin", "main", "__main_void", "_start"]), "hang: spin < main");
        assert_eq!(hang(&["_start"]), "hang: _start");
        assert_eq!(hang(&[]), "hang");
        assert_eq!(hang(&["f"; Trap::FRAMES_MAX]), "hang: f");
    }

    #[test]
    fn out_of_memory_is_its_own_kind() {
        assert_eq!(
            sign(FailureKind::OutOfMemory, TrapKind::Unreachable, &["abort", "grow", "main"]),
            "oom: grow@1 < main"
        );
    }

    /// The same, where debug information says more: `digit` and `number` are inlined in `parse_value`.
    #[test]
    fn lines_count_from_the_functions_own_and_inlined_calls_are_calls() {
        const LINES: &[u8] = include_bytes!("../../tests/data/lines.wasm");
        let names = ["parse_value", "parse_array", "LLVMFuzzerTestOneInput"];
        let symbols = Symbols::new(LINES, |index| names.get(index as usize).map(|name| (*name).to_owned()));
        let frames = [(0, 0xc8), (1, 0xd0), (2, 0xed)].map(|(function, offset)| Frame { function, offset }).to_vec();
        let sign = |kind, failure| signature(failure, &Trap { kind, class: None, frames: frames.clone() }, &symbols);
        let crash = sign(TrapKind::MemoryOutOfBounds, FailureKind::Crash);
        assert_eq!(crash.name, "memory-out-of-bounds: digit:+2 < number < parse_value < parse_array");
        let plain = "memory-out-of-bounds: parse_value@59 < parse_array < LLVMFuzzerTestOneInput";
        assert_eq!(crash.lineless.as_deref(), Some(plain));
        let hang = sign(TrapKind::OutOfFuel, FailureKind::Hang);
        assert_eq!(hang.name, "hang: parse_value < parse_array < LLVMFuzzerTestOneInput");
        assert_eq!(hang.lineless, None);

        let plain = Signature { name: plain.to_owned(), lineless: None };
        assert!(crash.is_same(&plain) && plain.is_same(&crash));
        let other = Signature { name: "other".to_owned(), ..crash.clone() };
        assert!(!crash.is_same(&other), "lines say more");
        assert!(
            !crash.is_same(&Signature { name: crash.name.clone(), lineless: None }),
            "it is no name of a build without lines"
        );
    }

    #[test]
    fn calls_of_libraries_have_the_place_that_they_were_called_from() {
        let unwrap = "core::option::Option<T>::unwrap";
        assert_eq!(
            crash(&["core::option::unwrap_failed", unwrap, "value", "main"]),
            "unreachable: core::option::Option::unwrap@1 < value@1 < main"
        );
        assert_eq!(crash(&["memcpy", "free"]), "unreachable: memcpy@1 < free", "all of them are");
    }

    /// A module of functions without names; those that are called are the last two.
    fn nameless(before: &str) -> Symbols {
        let module = wat::parse_str(format!(
            "(module (memory 1) {before}
                (func $first (result i32) (i32.load (i32.const 8)))
                (func (result i32) (i32.load (i32.const 8)))
                (func (param i32) (result i32) (i32.add (call $first) (i32.load (local.get 0)))))"
        ));
        let module = fuzzbox_instrument::strip_custom_sections(&module.unwrap()).unwrap();
        Symbols::new(module, |_| None)
    }

    #[test]
    fn functions_without_names_are_told_by_their_code() {
        /// What a failure in the last three functions is called, in the one place where each loads something.
        fn sign(symbols: &Symbols, first: u32) -> Vec<String> {
            let loads = symbols.module().windows(3).enumerate().filter(|(_, bytes)| *bytes == [0x28, 2, 0]);
            let offsets: Vec<_> = loads.map(|(offset, _)| offset as u32).collect();
            let frames = (first..).zip(offsets).map(|(function, offset)| Frame { function, offset });
            let trap = |frame| Trap { kind: TrapKind::MemoryOutOfBounds, class: None, frames: vec![frame] };
            frames.map(|frame| signature(FailureKind::Crash, &trap(frame), symbols).name).collect()
        }
        let (old, new) = (sign(&nameless(""), 0), sign(&nameless("(func (param i64))"), 1));
        assert_eq!((old.len(), &old), (3, &new), "a function in front changes nothing");
        assert!(old.iter().all(|name| name.starts_with("memory-out-of-bounds: func[")), "{old:?}");
        assert!(old[0].ends_with("]@1") && old[1] == old[0].replace(']', ".1]") && old[2].ends_with("]@2"), "{old:?}");
    }
}
