//! Mutations that know nothing, or just the framing: they break most modules, each in its own place.

use super::random::Random;
use super::shape::{Section, sections};

/// Changes some bytes somewhere behind the header.
pub(crate) fn mutate(wasm: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    wasm.resize(wasm.len().max(10), 0);
    let at = 8 + random.below(wasm.len() - 8);
    let length = random.size(32).min(wasm.len() - at);
    match random.below(12) {
        0 => wasm.truncate(at.max(9)),
        1 => wasm.insert(at, random.next() as u8),
        2 => drop(wasm.drain(at..at + length)),
        3 => wasm[at] = random.next() as u8,
        4 => wasm[at] = wasm[at].wrapping_add(1),
        5 => wasm[at] = wasm[at].wrapping_sub(1),
        6 => {
            let from = 8 + random.below(wasm.len() - 8);
            wasm[at] = wasm[from];
        }
        7 => {
            let piece = wasm[at..at + length].to_vec();
            let to = 8 + random.below(wasm.len() - 8);
            wasm.splice(to..to, piece);
        }
        8 => {
            let from = random.below(other.len());
            let piece = &other[from..(from + length).min(other.len())];
            wasm.splice(at..at, piece.iter().copied());
        }
        9 | 10 => number(wasm, at, random),
        _ => wasm[at] ^= 1 << random.below(8),
    }
}

/// Takes what is at `at` for a LEB128 number and writes another one, or the same one longer than it must be.
fn number(wasm: &mut Vec<u8>, at: usize, random: &mut Random) {
    let length = wasm[at..].iter().take(10).take_while(|&&byte| byte >= 0x80).count() + 1;
    let end = (at + length).min(wasm.len());
    let old: u64 = wasm[at..end].iter().rev().fold(0, |value, byte| (value << 7) | u64::from(byte & 0x7f));
    let new = match random.below(5) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1) & 0xffff_ffff,
        2 => old,
        3 => u64::from(u32::MAX) >> random.below(32),
        _ => random.interesting().cast_unsigned(),
    };
    let padding = if random.once_in(2) { random.below(5) } else { 0 };
    let mut bytes = Vec::new();
    leb(new, padding, &mut bytes);
    wasm.splice(at..end, bytes);
}

/// Writes a number with that many bytes more than it needs.
pub(crate) fn leb(mut value: u64, padding: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    if padding == 0 {
        return out.push(value as u8);
    }
    out.push(value as u8 | 0x80);
    out.extend(std::iter::repeat_n(0x80, padding - 1));
    out.push(0);
}

/// Drops, doubles, swaps, damages sections, or takes some of another module.
pub(crate) fn mutate_sections(wasm: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut own: Vec<(u8, Vec<u8>)> = sections(wasm).map(|Section { id, bytes }| (id, bytes.to_vec())).collect();
    let others: Vec<_> = sections(other).collect();
    let at = random.below(own.len());
    let choice = if own.is_empty() { 0 } else { random.below(8) };
    match choice {
        0 | 1 => {
            if let Some(section) = random.choose(&others) {
                let place = own.iter().position(|(id, _)| *id == section.id).filter(|_| choice == 1);
                match place {
                    Some(place) => own[place].1 = section.bytes.to_vec(),
                    None => own.insert(at, (section.id, section.bytes.to_vec())),
                }
            }
        }
        2 => drop(own.remove(at)),
        3 => own.insert(random.below(own.len() + 1), own[at].clone()),
        4 => {
            let with = random.below(own.len());
            own.swap(at, with);
        }
        5 => own[at].0 = random.below(15) as u8,
        6 => own.push((0, [&b"\x04name"[..], &own[at].1].concat())),
        _ => {
            // Its size stays right, whatever is in it.
            let mut framed = [&[0; 8], &own[at].1[..]].concat();
            mutate(&mut framed, other, random);
            own[at].1 = framed.split_off(8);
        }
    }
    let mut out = wasm.get(..8).unwrap_or_default().to_vec();
    for (id, bytes) in own {
        out.push(id);
        leb(bytes.len() as u64, if random.once_in(4) { random.below(3) } else { 0 }, &mut out);
        out.extend(bytes);
    }
    out
}
