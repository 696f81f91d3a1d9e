//! Mutations that know what a module is made of: most of what they make is valid.

use std::borrow::Cow;
use std::rc::Rc;

use wasm_encoder::{BlockType, Encode, Instruction, ValType};

use super::neutral::{Neutral, label_types};
use super::random::Random;
use super::shape::{Body, Op, Shape, Signature};

/// The most operators that are put in at a time, and the most functions.
const ADDED_MAX: usize = 600;

/// Changes a module in one place, or in many ways at one place.
pub(crate) fn mutate<'a>(shape: &mut Shape<'a>, other: &Shape<'a>, random: &mut Random) {
    if shape.functions.is_empty() {
        return;
    }
    let function = random.below(shape.functions.len());
    match random.below(20) {
        0..=7 => insert(shape, function, random),
        8 | 9 => wrap(shape, function, random),
        10 => wrap_all(shape, function, random),
        11 => repeat_block(shape, function, random),
        12 | 13 => change_constant(body(shape, function), random),
        14 | 15 => change_operator(body(shape, function), random),
        16 => swap_bodies(shape, function, random),
        17 => multiply(shape, function, random),
        18 => graft(shape, other, random),
        _ => add_locals(body(shape, function), random),
    }
}

fn body<'s, 'a>(shape: &'s mut Shape<'a>, function: usize) -> &'s mut Body<'a> {
    Rc::make_mut(&mut shape.functions[function].1)
}

/// Puts code somewhere that needs nothing and leaves nothing, at times very often.
fn insert(shape: &mut Shape<'_>, function: usize, random: &mut Random) {
    let at = random.below(shape.functions[function].1.code.len());
    let times = if random.once_in(50) { random.size(ADDED_MAX) } else { 1 };
    let (ty, old) = shape.functions[function].clone();
    let Some(signature) = shape.signature(ty).cloned() else { return };
    let labels = label_types(shape, &signature, &old.code[..at]);
    if labels.is_empty() {
        return; // an operator that was doubled or taken away left no block here
    }
    let mut neutral = Neutral::new(shape, random, signature, &old, labels);
    neutral.code(3);
    let code = neutral.finish();
    if code.len() * times <= 4 * ADDED_MAX {
        let all = std::iter::repeat_n(code, times).flatten();
        body(shape, function).code.splice(at..at, all);
    }
}

/// The place of some block, with its first operator and its end.
fn some_block(body: &Body<'_>, random: &mut Random) -> Option<std::ops::Range<usize>> {
    let starts: Vec<_> = (0..body.code.len()).filter(|&at| body.code[at].opens()).collect();
    let start = *random.choose(&starts)?;
    let mut depth = 0;
    for at in start..body.code.len() {
        depth += usize::from(body.code[at].opens());
        depth -= usize::from(body.code[at].closes());
        if depth == 0 {
            return Some(start..at + 1);
        }
    }
    None
}

/// Puts a block of the same type around a block, so that what leaves it goes one level further.
fn wrap(shape: &mut Shape<'_>, function: usize, random: &mut Random) {
    let body = body(shape, function);
    let Some(range) = some_block(body, random) else { return };
    let first = &body.code[range.start];
    let Some(ty) = first.block_type().filter(|_| !matches!(first, Op::Control(Instruction::If(_)))) else { return };
    move_labels(&mut body.code[range.clone()]);
    let around = match random.below(4) {
        0 => Instruction::Loop(ty),
        1 => Instruction::TryTable(ty, Cow::Borrowed(&[])),
        _ => Instruction::Block(ty),
    };
    body.code.insert(range.end, Op::Control(Instruction::End));
    body.code.insert(range.start, Op::Control(around));
}

/// Makes labels go one level further which leave the code.
fn move_labels(code: &mut [Op<'_>]) {
    let mut depth = 0_u32;
    for op in code {
        depth = depth.saturating_sub(u32::from(op.closes()));
        op.change_labels(|label| if label >= depth { label + 1 } else { label });
        depth += u32::from(op.opens());
    }
}

/// Puts a block around all that a function does.
fn wrap_all(shape: &mut Shape<'_>, function: usize, random: &mut Random) {
    let Some(Signature { results, .. }) = shape.signature(shape.functions[function].0).cloned() else { return };
    let ty = match &results[..] {
        [] => BlockType::Empty,
        &[ty] => BlockType::Result(ty),
        _ => BlockType::FunctionType(shape.add_type(Signature { params: Vec::new(), results })),
    };
    let body = body(shape, function);
    let Some(end) = body.code.len().checked_sub(1) else { return };
    if random.once_in(2) {
        move_labels(&mut body.code[..end]);
    }
    body.code.insert(end, Op::Control(Instruction::End));
    let block = if random.once_in(3) { Instruction::TryTable(ty, Cow::Borrowed(&[])) } else { Instruction::Block(ty) };
    body.code.insert(0, Op::Control(block));
}

/// Repeats a block that needs nothing and leaves nothing.
fn repeat_block(shape: &mut Shape<'_>, function: usize, random: &mut Random) {
    let body = body(shape, function);
    let Some(range) = some_block(body, random) else { return };
    let first = &body.code[range.start];
    if !matches!(first.block_type(), Some(BlockType::Empty)) || matches!(first, Op::Control(Instruction::If(_))) {
        return;
    }
    let block = body.code[range.clone()].to_vec();
    let times = random.size((ADDED_MAX / block.len()).max(1));
    body.code.splice(range.end..range.end, std::iter::repeat_n(block, times).flatten());
}

fn change_constant(body: &mut Body<'_>, random: &mut Random) {
    let plain = body.code.iter_mut().filter_map(|op| match op {
        Op::Plain(bytes) if matches!(bytes[0], 0x41..=0x44) => Some(bytes),
        _ => None,
    });
    let mut constants: Vec<_> = plain.collect();
    let chosen = random.below(constants.len());
    let Some(bytes) = constants.get_mut(chosen) else { return };
    let value = random.interesting();
    let mut new = vec![bytes[0]];
    match bytes[0] {
        0x41 => (value as i32).encode(&mut new),
        0x42 => value.encode(&mut new),
        0x43 => new.extend((value as u32).to_le_bytes()),
        _ => new.extend(value.to_le_bytes()),
    }
    **bytes = Cow::Owned(new);
}

/// Operators of one byte with the same operands and results.
const SAME: [std::ops::RangeInclusive<u8>; 18] = [
    0x46..=0x4f,
    0x51..=0x5a,
    0x5b..=0x60,
    0x61..=0x66,
    0x67..=0x69,
    0x6a..=0x78,
    0x79..=0x7b,
    0x7c..=0x8a,
    0x8b..=0x91,
    0x92..=0x98,
    0x99..=0x9f,
    0xa0..=0xa6,
    0xa8..=0xa9,
    0xaa..=0xab,
    0xac..=0xad,
    0xae..=0xaf,
    0xb0..=0xb1,
    0xc2..=0xc4,
];

/// Puts another operator with the same signature for one, takes one away, or doubles it.
fn change_operator(body: &mut Body<'_>, random: &mut Random) {
    if body.code.is_empty() {
        return;
    }
    let at = random.below(body.code.len());
    match random.below(8) {
        0 => drop(body.code.remove(at)),
        1 => {
            let op = body.code[at].clone();
            body.code.insert(at, op);
        }
        _ => {
            let same = |op: &Op<'_>| match op {
                Op::Plain(bytes) if bytes.len() == 1 => SAME.iter().find(|same| same.contains(&bytes[0])),
                _ => None,
            };
            let found = body.code.iter().enumerate().skip(at).find_map(|(at, op)| Some((at, same(op)?)));
            if let Some((at, same)) = found {
                let byte = same.start() + random.below(same.len()) as u8;
                body.code[at] = Op::Plain(Cow::Owned(vec![byte]));
            }
        }
    }
}

/// Lets a function do what another one of its type does.
fn swap_bodies(shape: &mut Shape<'_>, function: usize, random: &mut Random) {
    let ty = shape.functions[function].0;
    let same: Vec<_> = (0..shape.functions.len()).filter(|&other| shape.functions[other].0 == ty).collect();
    let other = same[random.below(same.len())];
    let swapped = shape.functions[other].1.clone();
    shape.functions[other].1 = std::mem::replace(&mut shape.functions[function].1, swapped);
}

/// Appends copies of a function.
fn multiply(shape: &mut Shape<'_>, function: usize, random: &mut Random) {
    let copy = shape.functions[function].clone();
    let times = random.size_or(4, ADDED_MAX);
    if times * copy.1.code.len() <= 4 * ADDED_MAX {
        shape.functions.extend(std::iter::repeat_n(copy, times));
    }
}

/// Appends a function of another module.
fn graft<'a>(shape: &mut Shape<'a>, other: &Shape<'a>, random: &mut Random) {
    let Some((ty, body)) = random.choose(&other.functions) else { return };
    let Some(signature) = other.signature(*ty).cloned() else { return };
    let ty = shape.add_type(signature);
    shape.functions.push((ty, body.clone()));
}

fn add_locals(body: &mut Body<'_>, random: &mut Random) {
    let all = [ValType::I32, ValType::I64, ValType::F64, ValType::V128, ValType::FUNCREF, ValType::EXTERNREF];
    for _ in 0..=random.below(4) {
        let count = random.size_or(20, 50_000) as u32;
        body.locals.push((count, all[random.below(all.len())]));
    }
}
