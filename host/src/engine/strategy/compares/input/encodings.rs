//! How a number may be written in an input: as an integer or a float of some width in either byte order, as text, or in
//! as many bytes as it needs.

use super::super::seen::number::Number;
use super::super::seen::observed::Operands;
use super::once;

/// The ways to write a number in so many bytes, 8 at most, that keep its value; each once.
pub(in crate::engine::strategy::compares) fn fields(ty: Number, bits: u64, width: usize) -> Vec<Vec<u8>> {
    let mut fields = Vec::new();
    for bytes in values(ty, bits, width) {
        let bytes = &bytes[..width.min(8)];
        for field in [bytes.to_vec(), bytes.iter().rev().copied().collect()] {
            once::add(&mut fields, field);
        }
    }
    fields
}

/// The first of [`fields`], in the first of so many bytes.
pub(in crate::engine::strategy::compares) fn field(ty: Number, bits: u64, width: usize) -> Option<[u8; 8]> {
    values(ty, bits, width).next()
}

/// What a number may stand for, in the first of so many bytes, the lowest first.
fn values(ty: Number, bits: u64, width: usize) -> impl Iterator<Item = [u8; 8]> {
    let mut float = None;
    let integers = if ty.is_float() {
        let value = ty.float(bits);
        float = match width {
            4 => Some(u64::from((value as f32).to_bits()).to_le_bytes()),
            8 => Some(value.to_le_bytes()),
            _ => None,
        };
        // It may have been converted.
        let integers = [value.floor(), value.ceil()].map(|value| i128::from(value as i64));
        (value.abs() < 9e18).then_some(integers)
    } else {
        Some([i128::from(bits & ty.mask()), i128::from(ty.signed(bits))])
    };
    let fitting = integers.into_iter().flatten().filter(move |&value| fits(value, width));
    float.into_iter().chain(fitting.map(|value| (value as u64).to_le_bytes()))
}

/// Whether so many bytes hold a number, signed or not.
pub(in crate::engine::strategy::compares) fn fits(value: i128, width: usize) -> bool {
    let bits = 8 * width as u32;
    (-(1_i128 << (bits - 1))..1_i128 << bits).contains(&value)
}

/// The first of [`texts`].
pub(in crate::engine::strategy::compares) fn text(ty: Number, bits: u64) -> Option<Vec<u8>> {
    if ty.is_float() {
        return texts(ty, bits).into_iter().next();
    }
    Some((bits & ty.mask()).to_string().into_bytes())
}

/// A number as text.
pub(in crate::engine::strategy::compares) fn texts(ty: Number, bits: u64) -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut add = |text: String| once::add(&mut texts, text.into_bytes());
    if ty.is_float() {
        let value = ty.float(bits);
        if value.is_finite() {
            if ty == Number::F32 {
                add(format!("{}", value as f32));
            }
            add(format!("{value}"));
            add(format!("{value:e}"));
        }
    } else {
        let (unsigned, signed) = (bits & ty.mask(), ty.signed(bits));
        add(unsigned.to_string());
        add(signed.to_string());
        add(format!("{unsigned:x}"));
        add(format!("{unsigned:X}"));
        add(format!("{unsigned:o}"));
    }
    texts.retain(|text| text.len() <= 40);
    if !ty.is_float() {
        texts.extend(variable(ty, bits));
    }
    texts
}

/// A number that needs more than seven bits, in ways that need more bytes the larger it is: a character as UTF-8, and
/// LEB128, of the number and of what zigzag makes of it (as Protocol Buffers have signed numbers).
fn variable(ty: Number, bits: u64) -> Vec<Vec<u8>> {
    let (unsigned, signed) = (bits & ty.mask(), ty.signed(bits));
    if unsigned < 0x80 {
        return Vec::new();
    }
    let character = u32::try_from(unsigned).ok().and_then(char::from_u32).map(|character| character.to_string());
    let zigzag = ((signed << 1) ^ (signed >> 63)).cast_unsigned();
    character.map(String::into_bytes).into_iter().chain([unsigned, zigzag].map(leb128)).collect()
}

/// A number in as many bytes as it needs, seven bits in each, the lowest first.
pub(in crate::engine::strategy::compares) fn leb128(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Values that let an operand and the other, which has `bits`, turn out otherwise: the same, and those next to it.
pub(in crate::engine::strategy::compares) fn near(ty: Number, bits: u64) -> Vec<u64> {
    match ty {
        Number::I32 | Number::I64 => [0, 1, u64::MAX].map(|by: u64| bits.wrapping_add(by) & ty.mask()).to_vec(),
        Number::F32 => {
            let value = f32::from_bits(bits as u32);
            let near = [value, value.next_up(), value.next_down(), value + 1.0, value - 1.0];
            near.map(|value| value.to_bits().into()).to_vec()
        }
        Number::F64 => {
            let value = f64::from_bits(bits);
            let near = [value, value.next_up(), value.next_down(), value + 1.0, value - 1.0];
            near.map(f64::to_bits).to_vec()
        }
    }
}

/// The first number [`near`] the other one with which a side lets a comparison turn out otherwise.
pub(in crate::engine::strategy::compares) fn turning(operands: &Operands, side: usize) -> Option<u64> {
    let Operands::Numbers { ty, sides, .. } = *operands else { return None };
    near(ty, sides[1 - side]).into_iter().find(|&number| operands.turns(side, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_where_they_fit_in_both_orders() {
        assert_eq!(fields(Number::I32, 0x1234, 2), [b"\x34\x12", b"\x12\x34"]);
        assert_eq!(fields(Number::I32, 0x1234, 3), [b"\x34\x12\0", b"\0\x12\x34"]);
        assert!(fields(Number::I32, 0x12345, 2).is_empty());
        // -2 as a signed byte, and as wide as it is.
        assert_eq!(fields(Number::I32, 0xffff_fffe, 1), [b"\xfe"]);
        assert_eq!(fields(Number::I32, 0xffff_fffe, 8)[0], b"\xfe\xff\xff\xff\0\0\0\0");
        assert_eq!(fields(Number::I32, 0xffff_fffe, 8)[2], b"\xfe\xff\xff\xff\xff\xff\xff\xff");
        let float = fields(Number::F64, 2.5_f64.to_bits(), 4);
        assert_eq!(float[0], 2.5_f32.to_le_bytes());
        assert!(float.contains(&b"\x03\0\0\0".to_vec()), "an integer that was converted");
    }

    #[test]
    fn the_first_way_is_the_first_of_all() {
        let numbers = [0, 7, 0x80, 0xff, 0x1234, 0x12345, 0xffff_fffe, u64::MAX, i64::MIN.cast_unsigned()];
        let floats = [0.0, 2.5, -1e6, 1e19, 1e300, f64::NAN, f64::NEG_INFINITY].map(f64::to_bits);
        let singles = [0.1_f32, -3.0, 3e38].map(|value| u64::from(value.to_bits()));
        let all =
            [(Number::I32, &numbers[..]), (Number::I64, &numbers), (Number::F64, &floats), (Number::F32, &singles)];
        for (ty, bits) in all.into_iter().flat_map(|(ty, all)| all.iter().map(move |&bits| (ty, bits))) {
            assert_eq!(text(ty, bits), texts(ty, bits).into_iter().next(), "{ty:?} {bits:x}");
            for width in 1..=8 {
                let first = field(ty, bits, width).map(|bytes| bytes[..width].to_vec());
                assert_eq!(first, fields(ty, bits, width).into_iter().next(), "{ty:?} {bits:x} {width}");
            }
        }
    }

    #[test]
    fn numbers_are_texts() {
        let found = texts(Number::I32, 0xffff_fffe);
        for text in ["4294967294", "-2", "fffffffe", "FFFFFFFE"] {
            assert!(found.contains(&text.as_bytes().to_vec()), "{text}");
        }
        assert_eq!(texts(Number::F32, 0.1_f32.to_bits().into())[0], b"0.1");
        let found = texts(Number::I32, 0x41f);
        for bytes in [[0xd0, 0x9f], [0x9f, 0x08], [0xbe, 0x10]] {
            assert!(found.contains(&bytes.to_vec()), "{bytes:x?}");
        }
        assert!(texts(Number::I64, u64::MAX - 63).contains(&b"\x7f".to_vec()), "-64 by zigzag");
        assert!(texts(Number::I32, 0x7f).iter().all(|text| text.is_ascii()), "no other than a byte is");
    }
}
