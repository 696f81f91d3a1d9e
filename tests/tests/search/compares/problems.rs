//! Problems with random constants, widths, encodings and places: so that what is solved is a class, and not an example of it.
//!
//! Each is a module that traps on inputs of one kind alone. `FUZZBOX_COMPARES_PROBLEMS` is the number of the first problem: the campaigns of the test
//! were tuned on none from 1,000 on.

use super::{campaign, search, target};
use fuzzbox::stream::Tail;
use rand_core::Rng;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Problems, of all kinds in turn.
const PROBLEMS: u64 = 60;
/// Executions in which one is to be solved.
const EXECS: u64 = 60_000;
/// The same of those with long inputs: they become long when nothing was found for a while.
const LONG_EXECS: u64 = 400_000;
/// How many of them are.
const SOLVED_MIN: usize = 58;

/// What makes a problem.
struct Maker {
    random: Box<dyn Rng>,
    /// Conditions, each an `i32`, in the order in which they are tested.
    conditions: Vec<String>,
    /// Bytes of the input that are used.
    len: u64,
    /// Bytes at address 0.
    table: Vec<u8>,
    /// Functions that conditions call.
    functions: String,
}

type Kind = (&'static str, fn(&mut Maker));

const KINDS: [Kind; 20] = [
    ("bytes", Maker::bytes),
    ("word", Maker::word),
    ("decimal", Maker::decimal),
    ("check digit", Maker::check_digit),
    ("hexadecimal", Maker::hexadecimal),
    ("base64", Maker::base64),
    ("table", Maker::lookups),
    ("case", Maker::folded),
    ("checksum", Maker::checksum),
    ("length", Maker::length),
    ("float", Maker::float),
    ("utf16", Maker::utf16),
    ("wide", Maker::wide),
    ("count", Maker::count),
    ("depth", Maker::depth),
    ("offset", Maker::offset),
    ("flags", Maker::flags),
    ("sized", Maker::sized),
    ("remainder", Maker::remainder),
    ("rolling", Maker::rolling),
];

fn byte(at: u64) -> String {
    format!("(i32.load8_u offset={at} (local.get $data))")
}

fn digit(at: u64) -> String {
    format!("(i32.sub {} (i32.const 48))", byte(at))
}

/// The number in so many bytes, in one order.
fn number(at: u64, bytes: u64, big_endian: bool) -> String {
    (0..bytes).fold("(i32.const 0)".to_owned(), |number, index| {
        let at = if big_endian { at + index } else { at + bytes - 1 - index };
        format!("(i32.or (i32.shl {number} (i32.const 8)) {})", byte(at))
    })
}

impl Maker {
    fn new(number: u64) -> Self {
        let mut random = Box::new(Tail::random(number));
        let len = random.next_u64() % 12;
        Self { random, conditions: Vec::new(), len, table: Vec::new(), functions: String::new() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    /// Places for so many bytes.
    fn take(&mut self, bytes: u64) -> u64 {
        let at = self.len;
        self.len += bytes + self.below(3);
        at
    }

    fn wants(&mut self, condition: String) {
        self.conditions.push(condition);
    }

    fn letter(&mut self) -> u64 {
        u64::from(b'a') + self.below(26)
    }

    /// Each byte is compared by itself, behind an operation.
    fn bytes(&mut self) {
        let count = 3 + self.below(6);
        let at = self.take(count);
        let operation = ["add", "sub", "xor", "mul"][self.below(4) as usize];
        for at in at..at + count {
            let (with, value) = (self.below(256) | 1, self.below(256));
            self.wants(format!(
                "(i32.eq (i32.and (i32.{operation} {} (i32.const {with})) (i32.const 255)) (i32.const {value}))",
                byte(at)
            ));
        }
    }

    /// A number of some width and byte order, behind an operation.
    fn word(&mut self) {
        let bytes = [2, 4, 8][self.below(3) as usize];
        let at = self.take(bytes);
        let big_endian = self.below(2) == 0;
        let mut number = "(i64.const 0)".to_owned();
        for index in 0..bytes {
            let at = if big_endian { at + index } else { at + bytes - 1 - index };
            number = format!("(i64.or (i64.shl {number} (i64.const 8)) (i64.load8_u offset={at} (local.get $data)))");
        }
        let (operation, with) = [
            ("add", self.below(1 << 40)),
            ("sub", self.below(1 << 14)),
            ("xor", self.below(1 << 40)),
            ("mul", 3 + 2 * self.below(1000)),
            ("rotl", 1 + self.below(30)),
        ][self.below(5) as usize];
        let reached = self.below(u64::MAX) >> (64 - 8 * bytes) | 1;
        let value = match operation {
            "add" => reached.wrapping_add(with),
            "sub" => reached.wrapping_sub(with),
            "xor" => reached ^ with,
            "mul" => reached.wrapping_mul(with),
            _ => reached.rotate_left(with as u32),
        };
        self.wants(format!(
            "(i64.eq (i64.{operation} {number} (i64.const {with})) (i64.const {}))",
            value.cast_signed()
        ));
    }

    /// Digits, and the number that they are.
    fn digits(&mut self, count: u64) -> (u64, String) {
        let at = self.take(count);
        let mut number = "(i32.const 0)".to_owned();
        for at in at..at + count {
            self.wants(format!("(i32.lt_u {} (i32.const 10))", digit(at)));
            number = format!("(i32.add (i32.mul {number} (i32.const 10)) {})", digit(at));
        }
        (at, number)
    }

    /// A decimal number in an interval.
    fn decimal(&mut self) {
        let count = 5 + self.below(5);
        let (_, number) = self.digits(count);
        let first = self.below(9 * 10_u64.pow(count as u32 - 1));
        let few = 1 + self.below(100);
        self.wants(format!("(i32.lt_u (i32.sub {number} (i32.const {first})) (i32.const {few}))"));
    }

    /// The same with a digit that the others give.
    fn check_digit(&mut self) {
        let count = 6 + self.below(4);
        let (at, number) = self.digits(count);
        let first = self.below(9 * 10_u64.pow(count as u32 - 1));
        self.wants(format!("(i32.lt_u (i32.sub {number} (i32.const {first})) (i32.const 1000000))"));
        let modulus = 10 + self.below(2);
        let factor = 1 + 2 * self.below(4);
        let mut sum = "(i32.const 0)".to_owned();
        for index in 0..count - 1 {
            let weight = if modulus == 10 { 1 + 2 * (index % 2) } else { index + 2 };
            sum = format!("(i32.add {sum} (i32.mul {} (i32.const {weight})))", digit(at + index));
        }
        let rest = format!("(i32.rem_u (i32.mul {sum} (i32.const {factor})) (i32.const {modulus}))");
        let last = digit(at + count - 1);
        let is_plain = self.below(2) == 0;
        self.wants(if is_plain {
            format!("(i32.eq {rest} {last})")
        } else {
            format!("(i32.eqz (i32.rem_u (i32.add {rest} {last}) (i32.const {modulus})))")
        });
    }

    /// A word in hexadecimal, as digits whose values are in a table.
    fn hexadecimal(&mut self) {
        let upper = self.below(2) == 0;
        let alphabet: &[u8] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
        let count = [4, 8][self.below(2) as usize];
        self.in_base(alphabet, 4, count);
    }

    /// Three bytes in four digits, once or twice.
    fn base64(&mut self) {
        let mut alphabet: Vec<u8> = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').collect();
        alphabet.extend(if self.below(2) == 0 { b"+/" } else { b"-_" });
        for _ in 0..1 + self.below(2) {
            self.in_base(&alphabet, 6, 4);
        }
    }

    fn in_base(&mut self, alphabet: &[u8], bits: u64, count: u64) {
        self.table = vec![255; 256];
        (0..).zip(alphabet).for_each(|(value, &digit)| self.table[usize::from(digit)] = value);
        let at = self.take(count);
        let mut number = "(i32.const 0)".to_owned();
        for at in at..at + count {
            let value = format!("(i32.load8_u {})", byte(at));
            self.wants(format!("(i32.lt_u {value} (i32.const 64))"));
            number = format!("(i32.or (i32.shl {number} (i32.const {bits})) {value})");
        }
        let value = self.below(1 << (bits * count)) as u32;
        self.wants(format!("(i32.eq {number} (i32.const {value}))"));
    }

    /// Four bytes, each of which becomes another one.
    fn lookups(&mut self) {
        self.table = (0..=255).collect();
        for index in (1..256).rev() {
            let other = self.below(index as u64 + 1) as usize;
            self.table.swap(index, other);
        }
        let at = self.take(4);
        let mut number = "(i32.const 0)".to_owned();
        for at in at..at + 4 {
            number = format!("(i32.or (i32.shl {number} (i32.const 8)) (i32.load8_u {}))", byte(at));
        }
        let value = self.below(1 << 32) as u32;
        self.wants(format!("(i32.eq {number} (i32.const {value}))"));
    }

    /// A keyword in capitals, which are folded.
    fn folded(&mut self) {
        let count = 4 + self.below(5);
        let at = self.take(count);
        for at in at..at + count {
            self.wants(format!("(i32.lt_u (i32.sub {} (i32.const 65)) (i32.const 26))", byte(at)));
            let letter = self.letter();
            self.wants(format!("(i32.eq (i32.add {} (i32.const 32)) (i32.const {letter}))", byte(at)));
        }
    }

    /// A checksum of all that follows it, and a word and bytes in what it covers.
    fn checksum(&mut self) {
        let at = self.take(4);
        let (kind, swapped) = (self.below(3), self.below(2) == 0);
        self.len = self.len.max(at + 4);
        let stored =
            if swapped { number(at, 4, true) } else { format!("(i32.load offset={at} align=1 (local.get $data))") };
        self.wants(format!("(i32.eq {stored} (call $sum{kind} (i32.add (local.get $data) (i32.const {})) (i32.add (local.get $data) (local.get $size))))", at + 4));
        self.word();
        self.bytes();
    }

    /// The length of what follows, and bytes in that.
    fn length(&mut self) {
        let at = self.take(2);
        let (low, high) = if self.below(2) == 0 { (at, at + 1) } else { (at + 1, at) };
        let field = format!("(i32.or {} (i32.shl {} (i32.const 8)))", byte(low), byte(high));
        let more = at + 2 + self.below(3);
        self.wants(format!("(i32.eq {field} (i32.sub (local.get $size) (i32.const {more})))"));
        self.bytes();
        let last = self.below(256);
        self.wants(format!("(i32.eq (i32.load8_u (i32.sub (i32.add (local.get $data) (local.get $size)) (i32.const 1))) (i32.const {last}))"));
    }

    /// A float in an interval, behind a linear function.
    fn float(&mut self) {
        let (ty, bytes) = [("f32", 4), ("f64", 8)][self.below(2) as usize];
        let at = self.take(bytes);
        let (factor, more) = (1 + self.below(8), self.below(1000));
        let number = format!(
            "({ty}.add ({ty}.mul ({ty}.load offset={at} align=1 (local.get $data)) ({ty}.const {factor})) ({ty}.const {more}.5))"
        );
        let (low, high) = (self.below(100_000), 1 + self.below(20));
        self.wants(format!("({ty}.ge {number} ({ty}.const {low}.25))"));
        self.wants(format!("({ty}.lt {number} ({ty}.const {}.25))", low + high));
    }

    /// A keyword of units of two bytes.
    fn utf16(&mut self) {
        let count = 4 + self.below(5);
        let at = self.take(2 * count);
        for index in 0..count {
            let unit = if self.below(4) == 0 { self.below(1 << 16) } else { self.letter() };
            self.wants(format!(
                "(i32.eq (i32.load16_u offset={} align=1 (local.get $data)) (i32.const {unit}))",
                at + 2 * index
            ));
        }
    }

    /// Bytes that differ nowhere from others, as compilers ask for it: the differences of numbers, put together.
    fn equal(&mut self, from: &str, count: u64) -> String {
        let (mut at, mut all) = (0, String::new());
        while at < count {
            let width = [4, 2, 1].into_iter().find(|width| *width <= count - at).expect("a byte always fits");
            let load = ["i32.load8_u", "i32.load16_u", "", "i32.load"][width as usize - 1];
            let value = (0..width).fold(0, |value, _| value << 8 | self.letter()) as u32;
            let part = format!("(i32.xor ({load} offset={at} align=1 {from}) (i32.const {value}))");
            all = if all.is_empty() { part } else { format!("(i32.or {all} {part})") };
            at += width;
        }
        let mask = if count == 3 { 0xffff } else { u32::MAX };
        format!("(i32.eqz (i32.and {all} (i32.const {mask})))")
    }

    /// Some texts one after the other, which are compared so.
    fn wide(&mut self) {
        for _ in 0..2 + self.below(3) {
            let count = [3, 5, 6, 7, 11][self.below(5) as usize];
            let at = self.take(count);
            let condition = self.equal(&format!("(i32.add (local.get $data) (i32.const {at}))"), count);
            self.wants(condition);
        }
    }

    /// So many times the same text, counted without a branch.
    fn count(&mut self) {
        let (length, many) = (3, 6 + self.below(7));
        let (step, is_equal) = ([1, length][self.below(2) as usize], self.equal("(local.get $at)", length));
        write!(
            self.functions,
            "(func $count (param $at i32) (param $end i32) (result i32) (local $count i32)
                (loop $next (if (i32.le_u (i32.add (local.get $at) (i32.const {length})) (local.get $end)) (then
                    (local.set $count (i32.add (local.get $count) {is_equal}))
                    (local.set $at (i32.add (local.get $at) (i32.const {step})))
                    (br $next))))
                (local.get $count))"
        )
        .unwrap();
        self.wants(format!("(i32.ge_u (call $count (local.get $data) (i32.add (local.get $data) (local.get $size))) (i32.const {many}))"));
    }

    /// Letters in turn, as many as nobody tells apart who counts how often something is executed.
    fn depth(&mut self) {
        let (first, letters, depth) = (self.below(200), 3 + self.below(8), 100 + self.below(60));
        write!(
            self.functions,
            "(func $deep (param $at i32) (param $end i32) (param $depth i32) (result i32)
                (if (i32.gt_u (local.get $depth) (i32.const {depth})) (then (return (i32.const 1))))
                (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const 0))))
                (if (i32.ne (i32.load8_u (local.get $at))
                        (i32.add (i32.rem_u (local.get $depth) (i32.const {letters})) (i32.const {first})))
                    (then (return (i32.const 0))))
                (call $deep (i32.add (local.get $at) (i32.const 1)) (local.get $end)
                    (i32.add (local.get $depth) (i32.const 1))))"
        )
        .unwrap();
        self.wants("(call $deep (local.get $data) (i32.add (local.get $data) (local.get $size)) (i32.const 0))".into());
    }

    /// So many bytes, each compared by itself, and the number in those behind them.
    fn field_behind(&mut self, at: u64, bytes: u64) -> String {
        for at in 0..at {
            let value = self.below(256);
            self.wants(format!("(i32.eq {} (i32.const {value}))", byte(at)));
        }
        number(at, bytes, self.below(2) == 0)
    }

    /// Bytes, where another word lies, which is not on them, and that.
    fn offset(&mut self) {
        self.len = 0;
        let (bytes, at) = ([1, 2, 4][self.below(3) as usize], 4 + self.below(8));
        let from = self.below(2) * at;
        let field = self.field_behind(at, bytes);
        self.len = at + bytes;
        self.wants(format!("(i32.ne {field} (i32.const 0))"));
        self.wants(format!("(i32.lt_u {field} (i32.const 0x10000))"));
        self.wants(format!("(i32.le_u (i32.add {field} (i32.const {})) (local.get $size))", from + 4));
        let value = self.below(1 << 32) as u32;
        let there = format!("(i32.add (local.get $data) {field})");
        self.wants(format!("(i32.eq (i32.load offset={from} align=1 {there}) (i32.const {value}))"));
    }

    /// How long a part is that ends before a checksum of it, or a byte, which is looked at first.
    fn sized(&mut self) {
        self.len = 0;
        let (bytes, at) = ([1, 2, 4][self.below(3) as usize], 2 + self.below(5));
        let field = self.field_behind(at, bytes);
        let (kind, start, covered) = (self.below(4), at + bytes, self.below(2) * bytes);
        let tail = if kind < 3 { 4 } else { 1 };
        self.len = start + tail;
        self.wants(format!("(i32.le_u {field} (i32.sub (local.get $size) (i32.const {})))", self.len));
        let from = format!("(i32.add (local.get $data) (i32.const {}))", start - covered);
        let end = format!("(i32.add (local.get $data) (i32.add {field} (i32.const {start})))");
        let last = self.below(256);
        self.wants(match kind {
            3 => format!("(i32.eq (i32.load8_u {end}) (i32.const {last}))"),
            _ => format!("(i32.eq (i32.load align=1 {end}) (call $sum{kind} {from} {end}))"),
        });
        let (length, value) = (5 + self.below(60), self.below(1 << 32) as u32);
        self.wants(format!("(i32.eq {field} (i32.const {length}))"));
        self.wants(format!("(i32.eq (i32.load offset={start} align=1 (local.get $data)) (i32.const {value}))"));
    }

    /// Fields of which all are looked at, and what is wrong is noted, before it is said.
    fn flags(&mut self) {
        let (branches, mut wrong) = (self.below(2) == 0, Vec::new());
        for _ in 0..3 + self.below(5) {
            let at = self.take(2);
            let word = format!("(i32.load16_u offset={at} align=1 (local.get $data))");
            wrong.push(match self.below(4) {
                0 => format!("(i32.ne {} (i32.const {}))", byte(at), self.below(256)),
                1 => format!("(i32.ge_u {} (i32.const {}))", byte(at), 1 + self.below(8)),
                2 => format!("(i32.gt_u (i32.sub {word} (i32.const 1)) (i32.const {}))", self.below(2000)),
                _ => {
                    let (one, other) = (self.below(256), self.below(256));
                    let is_none = |value| format!("(i32.ne {} (i32.const {value}))", byte(at));
                    format!("(i32.and {} {})", is_none(one), is_none(other))
                }
            });
        }
        let note = |wrong: &String| {
            if branches {
                format!("(if {wrong} (then (local.set $wrong (i32.const 1))))")
            } else {
                format!("(local.set $wrong (i32.or (local.get $wrong) {wrong}))")
            }
        };
        let notes: String = wrong.iter().map(note).collect();
        write!(
            self.functions,
            "(func $flags (param $data i32) (result i32) (local $wrong i32) {notes} (i32.eqz (local.get $wrong)))"
        )
        .unwrap();
        self.wants("(call $flags (local.get $data))".into());
    }

    /// What is left of a number that is divided, and then the rest of it.
    fn remainder(&mut self) {
        let bytes = 2 + 2 * self.below(2);
        let (at, big_endian) = (self.take(bytes), self.below(2) == 0);
        let by = 3 + self.below(if bytes == 2 { 1 << 7 } else { 1 << 16 }) as u32;
        let (value, field) = (self.below(1 << (8 * bytes)) as u32, number(at, bytes, big_endian));
        self.wants(format!("(i32.eq (i32.rem_u {field} (i32.const {by})) (i32.const {}))", value % by));
        let multiple = value / by;
        let as_compilers_do = self.below(2) == 0;
        self.wants(if as_compilers_do {
            format!("(i32.lt_u (i32.sub {field} (i32.const {})) (i32.const {by}))", multiple * by)
        } else {
            format!("(i32.eq (i32.div_u {field} (i32.const {by})) (i32.const {multiple}))")
        });
    }

    /// A word of which each byte was combined with a key that follows from those before it.
    fn rolling(&mut self) {
        let (at, key, more) = (self.take(4), self.below(256), self.below(256));
        let (by, is_swapped) = (1 + self.below(7), self.below(2) == 0);
        write!(
            self.functions,
            "(func $roll (param $at i32) (result i32) (local $key i32) (local $byte i32) (local $word i32)
                (local $left i32)
                (local.set $key (i32.const {key})) (local.set $left (i32.const 4))
                (loop $next
                    (local.set $byte (i32.load8_u (local.get $at)))
                    (local.set $word (i32.or (i32.shl (local.get $word) (i32.const 8))
                        (i32.and (i32.xor (local.get $byte) (local.get $key)) (i32.const 255))))
                    (local.set $key (i32.and (i32.const 255) (i32.add (i32.add (local.get $byte) (i32.const {more}))
                        (i32.or (i32.shl (local.get $key) (i32.const {by}))
                            (i32.shr_u (local.get $key) (i32.const {}))))))
                    (local.set $at (i32.add (local.get $at) (i32.const 1)))
                    (br_if $next (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
                (local.get $word))",
            8 - by
        )
        .unwrap();
        let word = format!("(call $roll (i32.add (local.get $data) (i32.const {at})))");
        // In the other order, too.
        let swapped = (0..4).fold("(i32.const 0)".to_owned(), |swapped, byte| {
            let part = format!("(i32.and (i32.shr_u {word} (i32.const {})) (i32.const 255))", 8 * byte);
            format!("(i32.or (i32.shl {swapped} (i32.const 8)) {part})")
        });
        let word = if is_swapped { swapped } else { word };
        let value = self.below(1 << 32) as u32;
        self.wants(format!("(i32.eq {word} (i32.const {value}))"));
    }

    fn module(&self) -> String {
        let mut text = String::from(r#"(module (memory (export "memory") 1) (data (i32.const 0) ""#);
        self.table.iter().for_each(|byte| write!(text, "\\{byte:02x}").unwrap());
        text.push_str(SUMS);
        write!(text, "(if (i32.lt_u (local.get $size) (i32.const {})) (then (return (i32.const 0))))", self.len)
            .unwrap();
        for condition in &self.conditions {
            writeln!(text, "(if (i32.eqz {condition}) (then (return (i32.const 0))))").unwrap();
        }
        format!("{text} unreachable) {})", self.functions)
    }
}

/// A CRC-32, a sum of bytes with a sum of sums (Fletcher), and a hash that multiplies.
const SUMS: &str = r#"")
    (func $sum0 (param $at i32) (param $end i32) (result i32) (local $sum i32) (local $bit i32)
        (local.set $sum (i32.const -1))
        (loop $next (if (i32.lt_u (local.get $at) (local.get $end)) (then
            (local.set $sum (i32.xor (local.get $sum) (i32.load8_u (local.get $at))))
            (local.set $bit (i32.const 8))
            (loop $bits
                (local.set $sum (i32.xor (i32.shr_u (local.get $sum) (i32.const 1))
                    (i32.and (i32.const 0xedb88320) (i32.sub (i32.const 0) (i32.and (local.get $sum) (i32.const 1))))))
                (br_if $bits (local.tee $bit (i32.sub (local.get $bit) (i32.const 1)))))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br $next))))
        (i32.xor (local.get $sum) (i32.const -1)))
    (func $sum1 (param $at i32) (param $end i32) (result i32) (local $sum i32) (local $sums i32)
        (loop $next (if (i32.lt_u (local.get $at) (local.get $end)) (then
            (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get $at))))
            (local.set $sums (i32.add (local.get $sums) (local.get $sum)))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br $next))))
        (i32.or (i32.shl (local.get $sums) (i32.const 16)) (i32.and (local.get $sum) (i32.const 0xffff))))
    (func $sum2 (param $at i32) (param $end i32) (result i32) (local $sum i32)
        (local.set $sum (i32.const 0x811c9dc5))
        (loop $next (if (i32.lt_u (local.get $at) (local.get $end)) (then
            (local.set $sum (i32.mul (i32.xor (local.get $sum) (i32.load8_u (local.get $at))) (i32.const 0x1000193)))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br $next))))
        (local.get $sum))
    (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
"#;

#[test]
fn problems_of_all_kinds_are_solved() {
    let number = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let first = number("FUZZBOX_COMPARES_PROBLEMS", 0);
    let (mut missed, mut execs) = (BTreeMap::<_, Vec<_>>::new(), 0);
    for problem in first..first + PROBLEMS {
        let (kind, make) = KINDS[(problem % KINDS.len() as u64) as usize];
        let mut maker = Maker::new(problem);
        make(&mut maker);
        let module = wat::parse_str(maker.module()).unwrap();
        let execs_max = if kind == "depth" { LONG_EXECS } else { EXECS };
        let found = search(campaign(&target(&module), 1), 1, execs_max, true);
        execs += found.totals().execs;
        if found.failures().len() == 0 {
            missed.entry(kind).or_default().push(problem);
        }
    }
    let solved = PROBLEMS as usize - missed.values().map(Vec::len).sum::<usize>();
    println!("{solved} of {PROBLEMS} from {first} on in {execs} executions; missed: {missed:?}");
    assert!(solved >= SOLVED_MIN, "{missed:?}");
}
