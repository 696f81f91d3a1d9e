//! What a module's code compares with, as the bytes that an input would have in its place.
//!
//! A constant right before a comparison is an operand of it: compilers put constants last. So most constants, which are
//! addresses, offsets and masks, are left out, and small numbers need not be. Of an inequality the next numbers are
//! taken as well, since compilers make `x < 100` of `x <= 99`, and of `x + C < N` also `-C`, which is how they look for
//! a range. A number becomes 2, 4 and 8 bytes in both orders, as far as its type goes and it fits.
//!
//! Beside these, literals: where a constant address in the data is followed by a constant length, as in calls of
//! `memcmp`, the bytes there; else those up to the next zero, if they are no text, which the dictionary has in any
//! case.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use wasmparser::{DataKind, Operator, Payload};

/// No more than so many are found.
const FIELDS_MAX: usize = 2048;
/// Lengths of literals, in bytes.
const LITERAL_BYTES: RangeInclusive<usize> = 3..=32;
/// A literal that ends at a zero byte is no longer than this: what is longer is a table.
const TERMINATED_BYTES_MAX: usize = 16;

/// A constant that was on the stack's top.
#[derive(Clone, Copy, Debug)]
enum Constant {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
}

/// All of them, each once.
pub(super) fn fields(module: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut found = Constants { fields: BTreeSet::new(), data: segments(module) };
    let payloads = wasmparser::Parser::new(0).parse_all(module).map_while(Result::ok);
    for payload in payloads {
        let Payload::CodeSectionEntry(body) = payload else { continue };
        let operators = body.get_operators_reader().map(|operators| operators.into_iter());
        // The last two operators, as far as they are constants, and the constant that was added before them.
        let (mut last, mut before, mut added) = (None, None, None);
        for operator in operators.into_iter().flatten().map_while(Result::ok) {
            if found.fields.len() == FIELDS_MAX {
                return found.fields;
            }
            let constant = match operator {
                Operator::I32Const { value } => Some(Constant::I32(value)),
                Operator::I64Const { value } => Some(Constant::I64(value)),
                Operator::F32Const { value } => Some(Constant::F32(value.bits())),
                Operator::F64Const { value } => Some(Constant::F64(value.bits())),
                _ => None,
            };
            if let (Some(Constant::I32(address)), Some(Constant::I32(length))) = (last, constant) {
                found.literal(address, Some(length));
            }
            if let (Some(Constant::I32(address)), None) = (last, constant)
                && !matches!(before, Some(Constant::I32(_)))
            {
                found.literal(address, None);
            }
            if let (Some(constant), Some(is_inequality)) = (last, comparison(&operator)) {
                found.compared(constant, is_inequality);
                if let (Some(added), true) = (added, is_inequality) {
                    found.compared(added, true);
                }
            }
            added = match (&operator, last) {
                (Operator::I32Add, Some(Constant::I32(value))) => Some(Constant::I32(value.wrapping_neg())),
                (Operator::I64Add, Some(Constant::I64(value))) => Some(Constant::I64(value.wrapping_neg())),
                // What is added stays known while the other operand is pushed.
                (Operator::I32Const { .. } | Operator::I64Const { .. } | Operator::LocalTee { .. }, _) => added,
                _ => None,
            };
            (before, last) = (last, constant);
        }
    }
    found.fields
}

/// Whether an operator compares numbers, and if so whether for more than equality. What is combined by `xor` is mostly
/// compared: so compilers compare what is longer than a number.
fn comparison(operator: &Operator<'_>) -> Option<bool> {
    use Operator as O;
    match operator {
        O::I32Eq | O::I32Ne | O::I64Eq | O::I64Ne | O::F32Eq | O::F32Ne | O::F64Eq | O::F64Ne => Some(false),
        O::I32Xor | O::I64Xor => Some(false),
        O::I32LtS | O::I32LtU | O::I32GtS | O::I32GtU | O::I32LeS | O::I32LeU | O::I32GeS | O::I32GeU => Some(true),
        O::I64LtS | O::I64LtU | O::I64GtS | O::I64GtU | O::I64LeS | O::I64LeU | O::I64GeS | O::I64GeU => Some(true),
        O::F32Lt | O::F32Gt | O::F32Le | O::F32Ge | O::F64Lt | O::F64Gt | O::F64Le | O::F64Ge => Some(true),
        _ => None,
    }
}

/// The data of a module that has a fixed place in its first memory: address and bytes, in the order of addresses. Some
/// modules have a hundred thousand segments.
fn segments(module: &[u8]) -> Vec<(u64, &[u8])> {
    let mut segments = Vec::new();
    let payloads = wasmparser::Parser::new(0).parse_all(module).map_while(Result::ok);
    for payload in payloads {
        let Payload::DataSection(section) = payload else { continue };
        for segment in section.into_iter().map_while(Result::ok) {
            let DataKind::Active { memory_index: 0, offset_expr } = segment.kind else { continue };
            match offset_expr.get_operators_reader().read() {
                Ok(Operator::I32Const { value }) => segments.push((value.cast_unsigned().into(), segment.data)),
                Ok(Operator::I64Const { value }) => segments.push((value.cast_unsigned(), segment.data)),
                _ => {}
            }
        }
    }
    segments.sort_by_key(|&(start, _)| start);
    segments
}

struct Constants<'m> {
    fields: BTreeSet<Vec<u8>>,
    data: Vec<(u64, &'m [u8])>,
}

impl Constants<'_> {
    fn add(&mut self, field: &[u8]) {
        if self.fields.len() < FIELDS_MAX {
            self.fields.insert(field.to_vec());
        }
    }

    fn compared(&mut self, constant: Constant, is_inequality: bool) {
        let deltas: &[i64] = if is_inequality { &[0, 1, -1] } else { &[0] };
        match constant {
            Constant::I32(value) => deltas.iter().for_each(|&delta| self.number((i64::from(value)) + delta, 4)),
            Constant::I64(value) => deltas.iter().for_each(|&delta| self.number(value.wrapping_add(delta), 8)),
            Constant::F32(bits) if bits << 1 != 0 => self.both_orders(&bits.to_le_bytes()),
            Constant::F64(bits) if bits << 1 != 0 => {
                self.both_orders(&bits.to_le_bytes());
                // Stored as narrow as it may be, or as an integer.
                let value = f64::from_bits(bits);
                if f64::from(value as f32) == value {
                    self.both_orders(&(value as f32).to_le_bytes());
                }
            }
            Constant::F32(_) | Constant::F64(_) => {}
        }
    }

    /// Adds a number that an operator of so many bytes compares. What one byte has is found without help.
    fn number(&mut self, value: i64, width: usize) {
        let magnitude = value.unsigned_abs();
        let is_mask = magnitude.is_power_of_two() || magnitude.wrapping_add(1).is_power_of_two();
        if magnitude < 256 || is_mask {
            return;
        }
        for narrow in [2, 4, 8] {
            let bits = 8 * narrow as u32;
            let fits = bits == 64 || (-(1_i128 << (bits - 1))..1 << bits).contains(&i128::from(value));
            if fits && narrow <= width {
                self.both_orders(&value.to_le_bytes()[..narrow]);
            }
        }
    }

    fn both_orders(&mut self, bytes: &[u8]) {
        self.add(bytes);
        let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
        self.add(&reversed);
    }

    /// Adds what lies at a constant that may be an address, so long or up to the next zero.
    fn literal(&mut self, address: i32, length: Option<i32>) {
        let address = u64::from(address.cast_unsigned());
        let behind = self.data.partition_point(|&(start, _)| start <= address);
        let Some(&(start, bytes)) = behind.checked_sub(1).and_then(|last| self.data.get(last)) else { return };
        let Some(bytes) = usize::try_from(address - start).ok().and_then(|offset| bytes.get(offset..)) else { return };
        let bytes = match length.map(usize::try_from) {
            Some(Ok(length)) if LITERAL_BYTES.contains(&length) => bytes.get(..length),
            Some(_) => None,
            None => {
                let length = bytes.iter().take(TERMINATED_BYTES_MAX + 1).position(|&byte| byte == 0);
                let length = length.filter(|length| length >= LITERAL_BYTES.start());
                let literal = length.map(|length| &bytes[..length]);
                literal.filter(|literal| !literal.iter().all(|byte| (b' '..=b'~').contains(byte)))
            }
        };
        if let Some(bytes) = bytes.map(<[u8]>::to_vec) {
            self.add(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<Vec<u8>> {
        let module = format!(
            r#"(module (memory 1) (data (i32.const 1024) "\89PNG\0d\0a\1a\0a........\ef\bb\bf\00text\00")
                (func (param i32 i64 f32 f64) (result i32) {code}))"#
        );
        fields(&wat::parse_str(module).unwrap()).into_iter().collect()
    }

    #[test]
    fn constants_are_those_that_are_compared() {
        assert_eq!(found("(i32.eq (local.get 0) (i32.const 0x12345678))"), [b"\x12\x34\x56\x78", b"\x78\x56\x34\x12"]);
        let narrow: [&[u8]; 4] = [b"\0\0\x12\x34", b"\x12\x34", b"\x34\x12", b"\x34\x12\0\0"];
        assert_eq!(found("(i32.ne (local.get 0) (i32.const 0x1234))"), narrow);
        let double = 1.5e300_f64;
        let mut both = [double.to_le_bytes().to_vec(), double.to_be_bytes().to_vec()];
        both.sort();
        assert_eq!(found("(f64.lt (local.get 3) (f64.const 1.5e300))"), both);
        // An offset, a mask, what a byte has.
        for none in ["(i32.add (local.get 0) (i32.const 0x12345678))", "(i32.eq (local.get 0) (i32.const 0xffff))"] {
            assert!(found(none).is_empty(), "{none}");
        }
        assert!(found("(i32.eq (local.get 0) (i32.const 99))").is_empty());
    }

    #[test]
    fn bounds_have_neighbours_and_ranges_their_start() {
        let bound = found("(i32.gt_u (local.get 0) (i32.const 100100))");
        for value in [100_099_u32, 100_100, 100_101] {
            assert!(bound.contains(&value.to_le_bytes().to_vec()), "{value}");
        }
        let range = found("(i32.lt_u (i32.add (local.get 0) (i32.const -5000)) (i32.const 10))");
        assert!(range.contains(&5000_u32.to_be_bytes().to_vec()), "{range:?}");
    }

    #[test]
    fn literals_are_as_long_as_the_code_says_or_end_at_a_zero() {
        let call = "(drop (local.get 0)) (drop (i32.const 1024)) (drop (i32.const 8)) (i32.const 0)";
        assert!(found(call).is_empty(), "the constants don't follow each other");
        let pushed = "(i32.const 1024) (i32.const 8) drop drop (i32.const 0)";
        assert_eq!(found(pushed), [b"\x89PNG\r\n\x1a\n"]);
        assert_eq!(found("(drop (i32.const 1040)) (i32.const 0)"), [b"\xef\xbb\xbf"]);
        assert!(found("(drop (i32.const 1044)) (i32.const 0)").is_empty(), "text is found without");
    }
}
