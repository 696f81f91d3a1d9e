//! An encoding that is short: what was written before is written as a number.
//!
//! ```text
//! 0 unit   1 no   2 yes   3 number   4 text   5 list   6 record
//! ```
//!
//! and then what belongs to it. Numbers are LEB128, signed ones zigzag. A text is its length plus one and its bytes;
//! or 0 and which of the texts that have been written whole it repeats. Texts of one byte and none are never repeated.

use crate::{Data, Field};

/// The bytes for data.
pub fn encode(data: &Data) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.data(data);
    encoder.bytes
}

/// The data for bytes; `None` if they are none.
pub fn decode(bytes: &[u8]) -> Option<Data> {
    let mut decoder = Decoder { bytes, texts: Vec::new() };
    let data = decoder.data()?;
    decoder.bytes.is_empty().then_some(data)
}

/// Texts shorter than this are not worth a number.
const REPEATED_LEN_MIN: usize = 2;

#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    texts: Vec<String>,
}

impl Encoder {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn text(&mut self, text: &str) {
        if let Some(at) = self.texts.iter().position(|known| known == text) {
            self.bytes.push(0);
            self.number(at as u64);
            return;
        }
        if text.len() >= REPEATED_LEN_MIN {
            self.texts.push(text.into());
        }
        self.number(text.len() as u64 + 1);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn data(&mut self, data: &Data) {
        match data {
            Data::Unit => self.bytes.push(0),
            Data::Flag(flag) => self.bytes.push(1 + u8::from(*flag)),
            Data::Number(number) => {
                self.bytes.push(3);
                self.number(((number << 1) ^ (number >> 63)) as u64);
            }
            Data::Text(text) => {
                self.bytes.push(4);
                self.text(text);
            }
            Data::List(list) => {
                self.bytes.push(5);
                self.number(list.len() as u64);
                list.iter().for_each(|data| self.data(data));
            }
            Data::Record(fields) => {
                self.bytes.push(6);
                self.number(fields.len() as u64);
                for field in fields {
                    self.text(&field.name);
                    self.data(&field.data);
                }
            }
        }
    }
}

struct Decoder<'a> {
    bytes: &'a [u8],
    texts: Vec<String>,
}

impl Decoder<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for at in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn whole_or_repeated(&mut self) -> Option<String> {
        let Some(len) = self.number()?.checked_sub(1) else {
            let at = usize::try_from(self.number()?).ok()?;
            return self.texts.get(at).cloned();
        };
        let (text, rest) = self.bytes.split_at_checked(len.try_into().ok()?)?;
        self.bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn text(&mut self) -> Option<String> {
        let is_repeated = self.bytes.first() == Some(&0);
        let text = self.whole_or_repeated()?;
        if !is_repeated && text.len() >= REPEATED_LEN_MIN {
            self.texts.push(text.clone());
        }
        Some(text)
    }

    fn data(&mut self) -> Option<Data> {
        Some(match self.byte()? {
            0 => Data::Unit,
            flag @ 1..=2 => Data::Flag(flag == 2),
            3 => {
                let number = self.number()?;
                Data::Number((number >> 1) as i64 ^ -((number & 1) as i64))
            }
            4 => Data::Text(self.text()?),
            5 => {
                let len = self.number()?;
                Data::List((0..len).map(|_| self.data()).collect::<Option<_>>()?)
            }
            6 => {
                let len = self.number()?;
                // The planted bug: names are repeated too, but nobody remembers them here.
                let field =
                    |decoder: &mut Self| Some(Field { name: decoder.whole_or_repeated()?, data: decoder.data()? });
                Data::Record((0..len).map(|_| field(self)).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }
}
