//! Choice streams, and guests that draw from them: what is drawn is part of the input.

use crate::stream::{Choice, Node, Reference, Rule, Tail, Trace, decode, encode, items, resync};

/// Of the memory that a guest has.
const MEMORY_BYTES: usize = 512;
/// Instructions of a guest.
const STEPS_MAX: usize = 64;
/// Draws of an execution that is found again: each is laid beside those around it.
const DRAWS_MAX: usize = 256;

/// The first byte says how long the guest is, the next ones are the guest and then the stream.
pub(crate) fn stream(data: &[u8]) {
    let [length, how, rest @ ..] = data else { return };
    let (guest, stream) = rest.split_at(usize::from(*length).min(rest.len()));
    check_bytes(stream);
    let tail = match how % 4 {
        0 => Tail::Stop,
        1 => Tail::Random { seed: u64::from(*how), choices: u32::from(how >> 2) },
        _ => Tail::Zero,
    };
    let first = execute(guest, stream, Rule { tail, wrap: how & 0x80 != 0, close: false });
    let again = encode(&first.choices);
    let asked = first.entropy.is_some();
    let overrun = first.overrun;
    let canonical = first.clone().canonical();
    assert_eq!(canonical.choices.len(), canonical.draws.len());
    check_tree(&canonical);
    if asked || overrun {
        return;
    }
    // What was drawn is drawn again, whatever was given.
    let second = execute(guest, &again, Rule { tail: Tail::Stop, ..Rule::default() });
    assert_eq!((&second.choices, &second.draws, &second.spans), (&first.choices, &first.draws, &first.spans));
    assert_eq!(second.misaligned, None);
    if first.draws.len() > DRAWS_MAX {
        return;
    }
    let label = |span: &crate::stream::Span| Some(span.label);
    let found = resync(&first, label, label, |choices| Ok(execute(guest, &encode(choices), Rule::default())));
    let found = found.expect("nothing in it fails");
    let third = execute(guest, &encode(&found), Rule::default());
    assert!(third.choices.len() >= first.choices.len().min(found.len()));
}

fn check_bytes(stream: &[u8]) {
    let choices = decode(stream);
    let canonical = encode(&choices);
    assert!(canonical.len() <= stream.len() + 1, "{} of {}", canonical.len(), stream.len());
    assert_eq!(decode(&canonical), choices);
    assert_eq!(items(stream).count(), choices.len());
    if let Some(tree) = Node::unpack(&mut crate::packed::Packed::new(stream)) {
        let mut bytes = Vec::new();
        tree.pack(&mut bytes);
        assert!(bytes.len() <= stream.len());
    }
}

fn check_tree(trace: &Trace) {
    let tree = Node::of(trace);
    assert_eq!(tree.choices(), trace.choices);
    assert_eq!(tree.draws(), trace.draws.len());
    let mut bytes = Vec::new();
    tree.pack(&mut bytes);
    let again = Node::unpack(&mut crate::packed::Packed::new(&bytes)).expect("what was packed");
    assert_eq!(again.choices(), trace.choices);
    for number in 0..tree.draws().min(32) {
        let path = tree.path_to_draw(number);
        let (draw, choice) = tree.at(&path).as_draw().expect("the path leads to a draw");
        assert_eq!((draw, choice), (&trace.draws[number], &trace.choices[number]));
        if let Choice::Index(index) = choice {
            assert!(*index <= draw.max);
        }
        // Between any two draws.
        let other = &trace.draws[(number * 7 + 3) % trace.draws.len()];
        let nearest = other.reencode_nearest(draw, choice);
        if let Choice::Index(index) = &nearest {
            assert!(*index <= other.max);
        }
        if let Some(same) = other.reencode(draw, choice) {
            assert_eq!(same.index().is_some(), nearest.index().is_some());
        }
        other.simplest();
    }
}

/// Bytes of the guest, and zeros behind them.
struct Code<'a>(&'a [u8]);

impl Code<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number of some bytes, signed.
    fn number(&mut self) -> i64 {
        let length = self.byte() % 9;
        (0..length).fold(0, |number, _| number << 8 | i64::from(self.byte()))
    }
}

fn execute(guest: &[u8], stream: &[u8], rule: Rule) -> Trace {
    let mut reference = Reference::new(stream, rule);
    let (mut code, mut memory) = (Code(guest), vec![b'a'; MEMORY_BYTES]);
    for _ in 0..STEPS_MAX {
        if code.0.is_empty() || step(&mut code, &mut reference, &mut memory).is_none() {
            break;
        }
    }
    reference.trace().0
}

/// One instruction; `None` if it ends the execution.
fn step(code: &mut Code<'_>, reference: &mut Reference, memory: &mut [u8]) -> Option<()> {
    match code.byte() % 14 {
        0 => drop(reference.draw_int(code.number(), code.number(), code.number()).ok()?),
        1 => {
            let [lo, hi, towards] = [code.number(), code.number(), code.number()].map(i64::cast_unsigned);
            reference.draw_uint(lo, hi, towards).ok()?;
        }
        2 => drop(reference.draw_bool(code.number() as u32).ok()?),
        3 => drop(reference.draw_choice(memory, code.number() as i32, u32::from(code.byte())).ok()?),
        4 => drop(reference.draw_payload(code.number() as i32).ok()?),
        5 => {
            let [lo, hi] = [code.number(), code.number()].map(|bits| f64::from_bits(bits.cast_unsigned()));
            reference.draw_f64(lo, hi, u32::from(code.byte())).ok()?;
        }
        6 => drop(reference.draw_bytes(memory, code.number() as u32, code.number() as i32, code.number() as i32).ok()?),
        7 => {
            let (to, alphabet) = (u32::from(code.byte()), u32::from(code.byte()));
            let [room, min, most, ranges] = std::array::from_fn(|_| code.number() as i32);
            reference.draw_str(memory, to, room, min, most, alphabet, ranges).ok()?;
        }
        8 => reference.span_begin(code.number() as u32).ok()?,
        9 => reference.span_end(code.byte().into()),
        10 => {
            // A collection of numbers.
            let (min, most, average) = (code.byte().into(), code.number() as i32, code.number() as i32);
            let (lo, hi) = (code.number(), code.number());
            reference.span_begin(1).ok()?;
            while reference.draw_more(min, most, average).ok()? {
                reference.draw_int(lo, hi, 0).ok()?;
            }
            reference.span_end(0);
        }
        11 => drop(reference.remaining()),
        12 => reference.note(memory, code.number() as u32, code.number() as u32).ok()?,
        _ => {
            if code.byte() == 7 {
                reference.assume(0).ok()?;
            }
        }
    }
    Some(())
}
