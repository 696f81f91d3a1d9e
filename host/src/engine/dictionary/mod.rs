//! What mutators insert: tokens, given by the user and found in the module's own data, numbers that are in its code and
//! data, and what its code compares with, as bytes.

mod constants;
mod switches;

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use switches::Switches;
use wasmparser::{Operator, Payload};

/// Tokens and numbers, sorted, each once.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    tokens: Vec<Vec<u8>>,
    numbers: Vec<i64>,
    fields: Vec<Vec<u8>>,
    bases: BTreeMap<u32, Base>,
    switches: Switches,
}

/// What code did with a number before it compared what was left, or chose by that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// This was taken away.
    pub taken: u64,
    /// Then the rest was turned to the left by so many bits.
    pub turned: u32,
}

impl Base {
    /// The number of which that was left, both of so many bits: 32 or 64.
    pub fn number(self, left: u64, bits: u32) -> u64 {
        if bits == u32::BITS {
            return (left as u32).rotate_right(self.turned).wrapping_add(self.taken as u32).into();
        }
        left.rotate_right(self.turned).wrapping_add(self.taken)
    }
}

impl Dictionary {
    /// Longer tokens are not used, in bytes.
    pub const TOKEN_BYTES_MAX: usize = 128;
    /// Strings found in a module beyond this many are not used.
    const FOUND_MAX: usize = 2048;
    /// Numbers in a module's code beyond this many are not used.
    const CODE_NUMBERS_MAX: usize = 4096;
    /// Numbers in its data beyond this many are not used: most data is something else.
    const DATA_NUMBERS_MAX: usize = 512;
    /// Of numbers up to this distance from 0 there is nothing to be learned: they are drawn anyway.
    const SMALL: u64 = 16;
    /// Cases of switches from here on are kept: what one byte has is found without help.
    pub const CASE_MIN: u64 = 256;
    /// Strings in a module's data from this length on are tokens.
    const FOUND_BYTES: std::ops::RangeInclusive<usize> = 2..=32;

    /// The tokens.
    pub fn tokens(&self) -> &[Vec<u8>] {
        &self.tokens
    }

    /// Numbers that draws of integers are likely to be compared with.
    pub fn numbers(&self) -> &[i64] {
        &self.numbers
    }

    /// Numbers that the module's code compares with, and literals that it points to, as bytes of the width that they
    /// have there.
    pub fn fields(&self) -> &[Vec<u8>] {
        &self.fields
    }

    /// What the module's code did with a number before the operator at an offset compared it, or chose by it.
    pub fn base(&self, offset: u32) -> Option<Base> {
        self.bases.get(&offset).copied()
    }

    /// All numbers that are told from others where the operator at an offset of the module's code compares a number, or
    /// chooses by it, as they are before what [`Dictionary::base`] says; with which switch that is.
    pub fn switch(&self, offset: u32) -> Option<(u32, &[u64])> {
        self.switches.get(offset)
    }

    /// Parses the dictionary format of AFL and libFuzzer: lines `name="value"` or `"value"` with `\\`, `\"` and
    /// `\xNN`; `#` begins a comment line.
    ///
    /// # Errors
    ///
    /// Names the line that can't be parsed.
    pub fn parse(text: &str) -> Result<Self> {
        let mut tokens = BTreeSet::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let token = parse_line(line).with_context(|| format!("line {number} of the dictionary"))?;
            tokens.insert(token);
        }
        Ok(Self { tokens: tokens.into_iter().collect(), ..Self::default() })
    }

    /// Adds what `module` compares its input with, maybe: its strings and its numbers.
    pub fn with_constants_of(self, module: &[u8]) -> Self {
        self.with_strings_of(module).with_numbers_of(module).with_fields_of(module)
    }

    /// Adds what is compared in the code of `module`.
    fn with_fields_of(mut self, module: &[u8]) -> Self {
        let mut found = constants::found(module);
        found.fields.extend(self.fields);
        self.fields = found.fields.into_iter().collect();
        // What is executed comes first, and what it is compared with has other offsets.
        if self.bases.is_empty() && self.switches.is_empty() {
            (self.bases, self.switches) = (found.bases, found.switches);
        }
        self
    }

    /// Adds the constants in the code of `module`, and the tables of 4-byte and 8-byte integers that its data may be.
    fn with_numbers_of(mut self, module: &[u8]) -> Self {
        let (mut numbers, mut in_data) = (BTreeSet::new(), BTreeSet::new());
        let add = |to: &mut BTreeSet<i64>, limit, number: i64| {
            if number.unsigned_abs() > Self::SMALL && to.len() < limit {
                to.insert(number);
            }
        };
        let payloads = wasmparser::Parser::new(0).parse_all(module).map_while(Result::ok);
        for payload in payloads {
            match payload {
                Payload::CodeSectionEntry(body) => {
                    let operators = body.get_operators_reader().map(|operators| operators.into_iter());
                    for operator in operators.into_iter().flatten().map_while(Result::ok) {
                        match operator {
                            Operator::I32Const { value } => add(&mut numbers, Self::CODE_NUMBERS_MAX, value.into()),
                            Operator::I64Const { value } => add(&mut numbers, Self::CODE_NUMBERS_MAX, value),
                            _ => {}
                        }
                    }
                }
                Payload::DataSection(section) => {
                    for data in section.into_iter().map_while(Result::ok).map(|segment| segment.data) {
                        let narrow = data.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes).into());
                        let wide = data.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes));
                        narrow.chain(wide).for_each(|number| add(&mut in_data, Self::DATA_NUMBERS_MAX, number));
                    }
                }
                _ => {}
            }
        }
        numbers.append(&mut in_data);
        numbers.extend(self.numbers);
        self.numbers = numbers.into_iter().collect();
        self
    }

    /// Adds the zero-terminated printable strings in the data segments of `module`: keywords that a parser compares
    /// with are among them.
    fn with_strings_of(mut self, module: &[u8]) -> Self {
        let mut tokens: BTreeSet<_> = std::mem::take(&mut self.tokens).into_iter().collect();
        let mut found = 0;
        let payloads = wasmparser::Parser::new(0).parse_all(module).map_while(Result::ok);
        for payload in payloads {
            let Payload::DataSection(section) = payload else { continue };
            for segment in section.into_iter().map_while(Result::ok) {
                for string in segment.data.split(|&byte| byte == 0) {
                    let printable = string.iter().all(|byte| (b' '..=b'~').contains(byte));
                    if found < Self::FOUND_MAX && Self::FOUND_BYTES.contains(&string.len()) && printable {
                        found += usize::from(tokens.insert(string.to_vec()));
                    }
                }
            }
        }
        Self { tokens: tokens.into_iter().collect(), ..self }
    }
}

fn parse_line(line: &str) -> Result<Vec<u8>> {
    let (Some(start), Some(end)) = (line.find('"'), line.rfind('"')) else { bail!("it has no quoted value") };
    if start == end || end != line.len() - 1 {
        bail!("its value does not end with a quote");
    }
    let mut bytes = line[start + 1..end].bytes();
    let mut token = Vec::new();
    while let Some(byte) = bytes.next() {
        token.push(match byte {
            b'\\' => match bytes.next() {
                Some(quoted @ (b'\\' | b'"')) => quoted,
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'x') => {
                    let digits = [bytes.next(), bytes.next()]
                        .map(|digit| digit.and_then(|digit| char::from(digit).to_digit(16)));
                    let [Some(high), Some(low)] = digits else { bail!("`\\x` is not followed by two hex digits") };
                    u8::try_from(high * 16 + low).expect("two hex digits are a byte")
                }
                _ => bail!("it has an unknown escape; known are \\\\ \\\" \\n \\r \\t \\xNN"),
            },
            byte => byte,
        });
    }
    if token.is_empty() || token.len() > Dictionary::TOKEN_BYTES_MAX {
        bail!("its value has {} bytes; 1 to {} are allowed", token.len(), Dictionary::TOKEN_BYTES_MAX);
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn afl_and_libfuzzer_lines_are_read() {
        let text = "# comment\n\nkw1=\"a\\x00\\\"b\"\n\"plain\"\nx@2=\"\\\\\"\n";
        let dictionary = Dictionary::parse(text).unwrap();
        assert_eq!(dictionary.tokens(), [b"\\".to_vec(), b"a\0\"b".to_vec(), b"plain".to_vec()]);
    }

    #[test]
    fn errors_name_the_line() {
        for bad in ["x", "\"", "\"a\" b", "\"\"", "\"\\q\"", "\"\\x1\""] {
            let error = Dictionary::parse(&format!("\"ok\"\n{bad}")).unwrap_err();
            assert!(error.to_string().contains("line 2"), "{bad}: {error}");
        }
    }

    #[test]
    fn strings_of_the_module_become_tokens() {
        let module =
            wat::parse_str(r#"(module (memory 1) (data (i32.const 0) "true\00x\00CDATA[\00\ff\fe\00"))"#).unwrap();
        let dictionary = Dictionary::default().with_strings_of(&module);
        assert_eq!(dictionary.tokens(), [b"CDATA[".to_vec(), b"true".to_vec()]);
        assert!(Dictionary::default().with_strings_of(b"\0asm junk").tokens().is_empty());
    }

    #[test]
    fn numbers_of_the_module_are_those_of_its_code_and_data() {
        let module = wat::parse_str(
            r#"(module (memory 1) (data (i32.const 0) "\10\27\00\00\00\00\00\00")
                (func (drop (i32.const -77)) (drop (i32.const 3)) (drop (i64.const 0x123456789ab))))"#,
        );
        let dictionary = Dictionary::default().with_constants_of(&module.unwrap());
        assert_eq!(dictionary.numbers(), [-77, 10_000, 0x123456789ab]);
        assert!(Dictionary::default().with_constants_of(b"\0asm junk").numbers().is_empty());
    }
}
