//! What a module's code compares with, as the bytes that an input would have in its place.
//!
//! A constant right before a comparison is an operand of it: compilers put constants last. So most constants, which
//! are addresses, offsets and masks, are left out, and small numbers need not be. Of an inequality the next numbers
//! are taken as well, since compilers make `x < 100` of `x <= 99`, and of `x + C < N` also `-C`, which is how they
//! look for a range; and the cases of a `br_table` over `x + C`, each less `C`, also where the sum was turned to the
//! left first, as compilers do where names differ in their first letter. A number becomes 2, 4 and 8 bytes in both
//! orders, as far as its type goes and it fits.
//!
//! What was taken away from a number, and how it was turned, is told by operators' offsets, too.
//!
//! Beside these, literals: where a constant address in the data is followed by a constant length, as in calls of
//! `memcmp`, the bytes there; else those up to the next zero, if they are no text, which the dictionary has in any
//! case.

use super::Base;
use super::switches::{Locals, Switches};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use wasmparser::{BrTable, DataKind, Operator, Payload};

/// No more than so many are found, and no more cases of a `br_table` are looked at.
const FIELDS_MAX: usize = 2048;
const CASES_MAX: usize = 64;
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

/// What is found in a module.
pub(super) struct Found {
    /// Constants and literals, each once.
    pub(super) fields: BTreeSet<Vec<u8>>,
    /// What was done with a number before an operator compared it, or chose by it, by the operator's offset in the
    /// module.
    pub(super) bases: BTreeMap<u32, Base>,
    pub(super) switches: Switches,
}

/// What is found in `module`.
pub(super) fn found(module: &[u8]) -> Found {
    let found = Found { fields: BTreeSet::new(), bases: BTreeMap::new(), switches: Switches::default() };
    let mut constants = Constants { found, data: segments(module) };
    let payloads = wasmparser::Parser::new(0).parse_all(module).map_while(Result::ok);
    for payload in payloads {
        let Payload::CodeSectionEntry(body) = payload else { continue };
        let operators = body.get_operators_reader().map(|operators| operators.into_iter_with_offsets());
        let (mut last, mut locals) = (Last::default(), Locals::default());
        for (operator, at) in operators.into_iter().flatten().map_while(Result::ok) {
            constants.meet(&operator, at, &last);
            chooses(&operator, at, &last, &mut locals);
            last.follow(&operator);
        }
        constants.found.switches.add(locals);
    }
    constants.found
}

/// What the last operators of a function left.
#[derive(Default)]
struct Last {
    /// The constants of the last two operators, as far as they are some, the last one first.
    constants: [Option<Constant>; 2],
    /// What was done with the number below those, and in which local it was before.
    base: Option<Base>,
    local: Option<u32>,
    /// The same of locals, as the code stands there, wherever it comes from.
    bases: BTreeMap<u32, Base>,
    locals: BTreeMap<u32, u32>,
}

impl Last {
    fn follow(&mut self, operator: &Operator<'_>) {
        use Operator as O;
        if let O::LocalTee { local_index } | O::LocalSet { local_index } = operator {
            match self.base {
                Some(base) => _ = self.bases.insert(*local_index, base),
                None => _ = self.bases.remove(local_index),
            }
            match self.local.filter(|local| local != local_index) {
                Some(local) => _ = self.locals.insert(*local_index, local),
                None => _ = self.locals.remove(local_index),
            }
        }
        let taken = |taken: i64| Some(Base { taken: taken.cast_unsigned(), turned: 0 });
        let turned = |turned: u32| self.base.filter(|base| base.turned == 0).map(|base| Base { turned, ..base });
        self.base = match (operator, self.constants[0]) {
            (O::I32Add, Some(Constant::I32(value))) => taken(value.wrapping_neg().into()),
            (O::I64Add, Some(Constant::I64(value))) => taken(value.wrapping_neg()),
            (O::I32Sub, Some(Constant::I32(value))) => taken(value.into()),
            (O::I64Sub, Some(Constant::I64(value))) => taken(value),
            (O::I32Rotl, Some(Constant::I32(by))) => turned(by.cast_unsigned() % u32::BITS),
            (O::I64Rotl, Some(Constant::I64(by))) => turned(by as u32 % u64::BITS),
            (O::LocalGet { local_index }, _) => self.bases.get(local_index).copied(),
            // What is below stays known while the other operand is pushed, and what is narrowed is what it was.
            (O::I32Const { .. } | O::I64Const { .. } | O::LocalTee { .. } | O::I32WrapI64, _) => self.base,
            _ => None,
        };
        self.local = match (operator, self.constants[0]) {
            (O::LocalGet { local_index }, _) => Some(self.locals.get(local_index).copied().unwrap_or(*local_index)),
            (O::LocalTee { local_index }, _) => self.local.or(Some(*local_index)),
            (O::I32Const { .. } | O::I64Const { .. } | O::I32WrapI64, _) => self.local,
            (O::I32Add | O::I64Add | O::I32Sub | O::I64Sub | O::I32Rotl | O::I64Rotl, Some(_)) => self.local,
            _ => None,
        };
        let constant = match *operator {
            O::I32Const { value } => Some(Constant::I32(value)),
            O::I64Const { value } => Some(Constant::I64(value)),
            O::F32Const { value } => Some(Constant::F32(value.bits())),
            O::F64Const { value } => Some(Constant::F64(value.bits())),
            _ => None,
        };
        self.constants = [constant, self.constants[0]];
    }
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

/// The numbers that a table tells from others.
fn cases(targets: &BrTable<'_>, base: Base) -> impl Iterator<Item = u64> {
    let cases = (0..).zip(targets.targets().map_while(Result::ok)).filter(|(_, to)| *to != targets.default());
    cases.take(CASES_MAX).map(move |(case, _)| base.number(case, u32::BITS))
}

/// Takes what an operator compares the number in a local with, if it does.
fn chooses(operator: &Operator<'_>, at: u64, last: &Last, locals: &mut Locals) {
    let Some(local) = last.local else { return };
    let base = last.base.unwrap_or_default();
    match (operator, last.constants[0], comparison(operator)) {
        (Operator::BrTable { targets }, ..) => {
            locals.compared(local, at, cases(targets, base));
        }
        (_, Some(Constant::I32(value)), Some(is_order)) => {
            let number = base.number(value.cast_unsigned().into(), u32::BITS);
            locals.compared(local, at, (!is_order).then_some(number));
        }
        (_, Some(Constant::I64(value)), Some(is_order)) => {
            let number = base.number(value.cast_unsigned(), u64::BITS);
            locals.compared(local, at, (!is_order).then_some(number));
        }
        _ => {}
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
    found: Found,
    data: Vec<(u64, &'m [u8])>,
}

impl Constants<'_> {
    /// Takes what an operator shows, with what was before it.
    fn meet(&mut self, operator: &Operator<'_>, at: u64, last: &Last) {
        let [constant, before] = last.constants;
        if let Some(Constant::I32(address)) = constant {
            match *operator {
                Operator::I32Const { value } => self.literal(address, Some(value)),
                Operator::I64Const { .. } | Operator::F32Const { .. } | Operator::F64Const { .. } => {}
                _ if matches!(before, Some(Constant::I32(_))) => {}
                _ => self.literal(address, None),
            }
        }
        let is_compared = comparison(operator);
        if let (Some(constant), Some(is_inequality)) = (constant, is_compared) {
            self.compared(constant, is_inequality);
            if let (Some(base), true) = (last.base, is_inequality) {
                let taken = base.taken.cast_signed();
                let is_wide = matches!(constant, Constant::I64(_));
                self.compared(if is_wide { Constant::I64(taken) } else { Constant::I32(taken as i32) }, true);
            }
        }
        let Some(base) = last.base else { return };
        if let Operator::BrTable { targets } = operator {
            cases(targets, base).for_each(|case| self.number((case as u32).cast_signed().into(), 4));
        } else if is_compared.is_none() || constant.is_none() {
            return;
        }
        if let Ok(at) = u32::try_from(at) {
            self.found.bases.insert(at, base);
        }
    }

    fn add(&mut self, field: &[u8]) {
        if self.found.fields.len() < FIELDS_MAX {
            self.found.fields.insert(field.to_vec());
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

    fn of(code: &str) -> Found {
        let module = format!(
            r#"(module (memory 1) (data (i32.const 1024) "\89PNG\0d\0a\1a\0a........\ef\bb\bf\00text\00")
                (func (param i32 i64 f32 f64) (result i32) (local i32) {code}))"#
        );
        super::found(&wat::parse_str(module).unwrap())
    }

    fn found(code: &str) -> Vec<Vec<u8>> {
        of(code).fields.into_iter().collect()
    }

    #[test]
    fn a_table_of_cases_has_a_base_and_its_cases_are_fields() {
        let table = "(block (block (block (br_table 0 2 1 2 (i32.add (local.get 0) (i32.const -0x41424331))))))
            (i32.const 0)";
        let Found { fields, bases, .. } = of(table);
        assert_eq!(fields.into_iter().collect::<Vec<_>>(), [b"1CBA", b"3CBA", b"ABC1", b"ABC3"]);
        assert_eq!(bases.into_values().collect::<Vec<_>>(), [Base { taken: 0x4142_4331, turned: 0 }]);
        let turned = "(block (block (br_table 0 1 0 1 (i32.rotl (i32.add (local.get 0) (i32.const -0x31434c52))
            (i32.const 8))))) (i32.const 0)";
        assert_eq!(found(turned), [b"1CLR", b"3CLR", b"RLC1", b"RLC3"]);
        assert!(found("(block (br_table 0 0 (i32.add (local.get 0) (i32.const -97)))) (i32.const 0)").is_empty());
    }

    #[test]
    fn what_was_taken_away_is_known_behind_locals() {
        let bases = |code: &str| of(code).bases.into_values().map(|base| base.taken).collect::<Vec<_>>();
        let range = "(i32.lt_u (i32.add (local.get 0) (i32.const -5000)) (i32.const 10))";
        assert_eq!(bases(range), [5000]);
        let kept = "(local.set 4 (i32.sub (local.get 0) (i32.const 7))) (drop (i32.eqz (local.get 0)))
            (i32.gt_s (local.get 4) (i32.const 3))";
        assert_eq!(bases(kept), [7]);
        let wide = "(i64.eq (i64.add (local.get 1) (i64.const 1)) (i64.const 9))";
        assert_eq!(bases(wide), [u64::MAX]);
        for other in [
            "(local.set 4 (i32.sub (local.get 0) (i32.const 7))) (local.set 4 (local.get 0))
                (i32.gt_s (local.get 4) (i32.const 3))",
            "(i32.lt_u (i32.mul (i32.add (local.get 0) (i32.const 5)) (i32.const 3)) (i32.const 10))",
            "(i32.lt_u (i32.add (local.get 0) (local.get 4)) (i32.const 10))",
        ] {
            assert!(bases(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn what_a_local_is_compared_with_are_the_cases_of_a_switch() {
        let switches = |code: &str| {
            let found = of(code).switches;
            (0..1000).filter_map(|at| found.get(at).map(|(switch, cases)| (switch, cases.to_vec()))).collect::<Vec<_>>()
        };
        let tree = "(block (block
            (br_if 0 (i32.gt_s (local.get 0) (i32.const 0x4c75761f)))
            (br_if 0 (i32.eq (local.get 0) (i32.const 0x47524159)))
            (br_if 0 (i32.eq (local.tee 4 (i32.sub (local.get 0) (i32.const 1000))) (i32.const 1)))
            (br_if 0 (i32.ne (local.get 4) (i32.const 7)))
            (br_if 0 (i32.eq (local.get 0) (i32.const 10)))
            (br_table 0 1 0 1 (i32.add (local.get 0) (i32.const -5000)))))
            (i32.const 0)";
        assert_eq!(switches(tree), vec![(0, vec![1001, 1007, 5000, 5002, 0x4752_4159]); 6]);
        let two = "(drop (i64.eq (local.get 1) (i64.const 300))) (drop (i64.eq (local.get 1) (i64.const 301)))
            (i32.eq (local.get 0) (i32.const 302))";
        assert!(switches(two).is_empty(), "too few of each");
        let others = "(local.set 4 (i32.mul (local.get 0) (i32.const 3)))
            (drop (i32.eq (local.get 4) (i32.const 300))) (drop (i32.eq (local.get 4) (i32.const 301)))
            (i32.eq (local.get 0) (i32.const 302))";
        assert!(switches(others).is_empty(), "a product is another number");
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
