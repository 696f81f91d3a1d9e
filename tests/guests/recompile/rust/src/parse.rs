//! Words and numbers.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

#[derive(Debug)]
pub enum Error {
    NoSuchShape(String),
    NoSuchName(String),
    NotANumber(String),
    Missing(&'static str),
    TooLarge(i64),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoSuchShape(word) => write!(f, "there is no shape `{word}`"),
            Error::NoSuchName(word) => write!(f, "nothing is called `{word}`"),
            Error::NotANumber(word) => write!(f, "`{word}` is not a number"),
            Error::Missing(what) => write!(f, "{what} is missing"),
            Error::TooLarge(number) => write!(f, "{number} is too large"),
        }
    }
}

pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[inline(never)]
pub fn number(word: Option<&&str>, what: &'static str) -> Result<i64, Error> {
    let word = word.ok_or(Error::Missing(what))?;
    let number: i64 = word.parse().map_err(|_| Error::NotANumber(word.to_string()))?;
    if number > 1_000_000 {
        return Err(Error::TooLarge(number));
    }
    Ok(number)
}

/// Small enough to be inlined wherever it is used.
#[inline(always)]
pub fn scaled(value: i64) -> i64 {
    value.wrapping_mul(1_049_001).wrapping_add(7)
}
