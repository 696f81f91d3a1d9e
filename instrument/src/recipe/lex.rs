//! From text to tokens.

use crate::recipe::error::RecipeError;
use std::ops::Range;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// `` `any text` ``: always an export.
    Quoted(String),
    Integer(i128),
    Float(f64),
    Text(Vec<u8>),
    /// An operator, or a mark.
    Mark(&'static str),
    /// The end of a statement: `;` or a new line.
    End,
}

/// Operators and marks, the longer ones first.
const MARKS: [&str; 24] = [
    "<<", ">>", "<=", ">=", "==", "!=", "..", "(", ")", "{", "}", ",", "=", "<", ">", "+", "-", "*", "/", "%", "&",
    "^", "|", "!",
];

/// Reads the tokens of a text, each with its place.
pub(super) fn lex(text: &str) -> Result<Vec<(Token, Range<usize>)>, RecipeError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    // Inside of parentheses a new line ends nothing.
    let mut open = 0_u32;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (token, len) = match first {
            '\n' | ';' => (Some(Token::End).filter(|_| open == 0 || first == ';'), 1),
            _ if first.is_whitespace() => (None, first.len_utf8()),
            _ if rest.starts_with("//") => (None, rest.find('\n').unwrap_or(rest.len())),
            '0'..='9' => number(text, at)?,
            '"' => literal(text, at)?,
            '`' => quoted(text, at)?,
            _ if first.is_alphabetic() || first == '_' || first == '$' => {
                let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
                let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                (Some(Token::Name(rest[..len].to_owned())), len)
            }
            '~' => (Some(Token::Mark("~")), 1),
            _ => match MARKS.iter().find(|mark| rest.starts_with(**mark)) {
                Some(mark) => (Some(Token::Mark(mark)), mark.len()),
                None => {
                    let message = format!("`{}` means nothing here", first.escape_debug());
                    return Err(wrong(text, message, at..at + first.len_utf8()));
                }
            },
        };
        match token {
            Some(Token::Mark("(")) => open += 1,
            Some(Token::Mark(")")) => open = open.saturating_sub(1),
            _ => {}
        }
        tokens.extend(token.map(|token| (token, at..at + len)));
        at += len;
    }
    Ok(tokens)
}

pub(super) fn wrong(text: &str, message: impl Into<String>, at: Range<usize>) -> RecipeError {
    RecipeError { message: message.into(), at, unknown: None, text: text.to_owned() }
}

type Lexed = Result<(Option<Token>, usize), RecipeError>;

/// `10`, `0x1f`, `1_000`, `0.5`, `1e-3`.
fn number(text: &str, at: usize) -> Lexed {
    let rest = &text[at..];
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let is_hex = rest.starts_with("0x");
    // `1..5` are three tokens.
    if !is_hex && rest[len..].starts_with('.') && rest[len + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        len += 1;
        len += rest[len..].find(|c| !is_part(c)).unwrap_or(rest.len() - len);
    }
    if !is_hex && rest[..len].ends_with(['e', 'E']) && rest[len..].starts_with('-') {
        len += 1;
        len += rest[len..].find(|c| !is_part(c)).unwrap_or(rest.len() - len);
    }
    let digits: String = rest[..len].chars().filter(|&c| c != '_').collect();
    let integer = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    };
    let token = integer.map(Token::Integer).or_else(|| digits.parse().ok().map(Token::Float));
    let token = token.ok_or_else(|| wrong(text, format!("`{}` is no number", &rest[..len]), at..at + len))?;
    Ok((Some(token), len))
}

/// `"text\0"`, with the escapes of Rust's byte strings.
fn literal(text: &str, at: usize) -> Lexed {
    let mut bytes = Vec::new();
    let mut chars = text[at + 1..].char_indices();
    while let Some((offset, c)) = chars.next() {
        match c {
            '"' => return Ok((Some(Token::Text(bytes)), offset + 2)),
            '\\' => {
                let start = at + 1 + offset;
                let escaped = chars.next().map(|(_, c)| c);
                let simple = match escaped {
                    Some('n') => Some(b'\n'),
                    Some('r') => Some(b'\r'),
                    Some('t') => Some(b'\t'),
                    Some('0') => Some(0),
                    Some('\\') => Some(b'\\'),
                    Some('"') => Some(b'"'),
                    Some('x') => {
                        let digits: String = chars.by_ref().take(2).map(|(_, c)| c).collect();
                        let is_hex = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                        u8::from_str_radix(&digits, 16).ok().filter(|_| is_hex)
                    }
                    _ => None,
                };
                let end = start + 1 + escaped.map_or(0, char::len_utf8);
                let message = "unknown escape: there are \\n \\r \\t \\0 \\\\ \\\" and \\x with two digits";
                bytes.push(simple.ok_or_else(|| wrong(text, message, start..end))?);
            }
            _ => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Err(wrong(text, "a text without an end", at..at + 1))
}

fn quoted(text: &str, at: usize) -> Lexed {
    let name = text[at + 1..].split_once('`').map(|(name, _)| name);
    let name = name.ok_or_else(|| wrong(text, "a name without an end", at..at + 1))?;
    Ok((Some(Token::Quoted(name.to_owned())), name.len() + 2))
}
