//! What a guest said in an execution, for people.
//!
//! ```text
//! message    index out of bounds: the len is 3 but the index is 7, at src/lib.rs:12:5
//! stderr     the end of what it wrote
//! stdout
//! ```
//!
//! The guest's words are kept as they are, and made printable where they are printed.

use crate::said::{self, Written};
use crate::stream::Decoded;
use crate::text::printable;
use serde::{Deserialize, Serialize};

/// Lines of it that are shown with a finding of a campaign.
const SUMMARY_LINES: usize = 3;

/// What the line begins or goes on with that says why a program ends. What comes before it is the program's own
/// business, and behind it are the calls.
const REASONS: [&str; 6] =
    ["panicked at ", "panic: ", "Assertion failed", "fatal error: ", "terminating ", "Uncaught "];

/// What a guest said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The message that it gave to what fails: a panic's, an assertion's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Source file, as the message has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Source line, 1-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Source column, 1-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The end of its standard error, up to 4 KiB. What is not UTF-8 is replaced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// There was more standard error before that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stderr_cut: bool,
    /// The end of its standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// There was more standard output before that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stdout_cut: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Said {
    /// `None` if it said nothing.
    pub fn new(said: &said::Said) -> Option<Self> {
        let said::Said { message, stdout, stderr } = said;
        let message = message.clone().unwrap_or_default();
        let said = Self {
            message: Some(message.text).filter(|text| !text.is_empty()),
            file: message.file,
            line: message.line,
            column: message.column,
            stderr: text(stderr),
            stderr_cut: stderr.cut,
            stdout: text(stdout),
            stdout_cut: stdout.cut,
        };
        (said != Self::default()).then_some(said)
    }

    /// Where it says that it failed: `src/lib.rs:12:5`.
    pub fn place(&self) -> Option<String> {
        let mut place = self.file.clone()?;
        for number in [self.line, self.line.and(self.column)].into_iter().flatten() {
            place.push_str(&format!(":{number}"));
        }
        Some(place)
    }

    /// Where a call of `function` stands in the trace of calls that Go writes: its name, what it was given, and a line
    /// below the file.
    pub fn place_in_trace(&self, function: &str) -> Option<String> {
        let called = |line: &str| line.strip_prefix(function).is_some_and(|rest| rest.starts_with('('));
        let below = self.stderr.lines().skip_while(|line| !called(line)).nth(1)?;
        let place = below.strip_prefix('\t')?;
        Some(place.split(" +0x").next().unwrap_or(place).to_owned())
    }

    /// All of it, printable, each part under its title. Of what `decoded` shows already, nothing.
    pub fn lines(&self, decoded: Option<&Decoded>) -> Vec<String> {
        let title = |name: &str, cut| if cut { format!("{name} (its last 4 KiB)") } else { name.to_owned() };
        let parts = [
            ("message".to_owned(), self.reason(decoded)),
            (title("stderr", self.stderr_cut), lines_of(&self.stderr)),
            (title("stdout", self.stdout_cut), lines_of(&self.stdout)),
        ];
        let parts = parts.into_iter().filter(|(_, lines)| !lines.is_empty());
        parts
            .flat_map(|(title, lines)| [title].into_iter().chain(lines.into_iter().map(|line| format!("  {line}"))))
            .collect()
    }

    /// The few lines of it that say most, printable: the message, else what it wrote to say why it ends, else what it
    /// wrote last.
    pub fn summary(&self, decoded: Option<&Decoded>) -> Vec<String> {
        let mut lines = self.reason(decoded);
        if self.message.is_none() {
            lines.extend(
                [&self.stderr, &self.stdout]
                    .into_iter()
                    .map(|text| ending(text))
                    .find(|text| !text.is_empty())
                    .unwrap_or_default(),
            );
        }
        lines.truncate(SUMMARY_LINES);
        lines
    }

    /// The message and its place.
    fn reason(&self, decoded: Option<&Decoded>) -> Vec<String> {
        let Some(message) = &self.message else {
            return self.place().iter().map(|place| format!("at {}", printable(place))).collect();
        };
        if decoded.is_some_and(|decoded| decoded.notes.iter().any(|note| note.contains(message.trim()))) {
            return Vec::new();
        }
        let mut lines = lines_of(message);
        if let (Some(last), Some(place)) = (lines.last_mut(), self.place()) {
            last.push_str(&format!(", at {}", printable(&place)));
        }
        lines
    }
}

/// As text. A character that was cut in two at the start goes.
fn text(written: &Written) -> String {
    let continues = |byte: &u8| *byte & 0xc0 == 0x80;
    let torn = if written.cut { written.bytes.iter().take(3).take_while(|byte| continues(byte)).count() } else { 0 };
    String::from_utf8_lossy(&written.bytes[torn..]).into_owned()
}

/// The lines of a text, printable, without those that are empty.
fn lines_of(text: &str) -> Vec<String> {
    text.lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .map(|line| printable(&line.replace('\t', "    ")))
        .collect()
}

/// What a program wrote to say why it ends, else the last that it wrote.
fn ending(text: &str) -> Vec<String> {
    let lines = lines_of(text);
    let reason = lines.iter().position(|line| REASONS.iter().any(|reason| line.contains(reason)));
    match reason {
        // Rust writes the message on a line of its own.
        Some(at) if lines[at].contains(REASONS[0]) => lines[at..].iter().take(2).cloned().collect(),
        Some(at) => vec![lines[at].clone()],
        None => lines[lines.len().saturating_sub(SUMMARY_LINES)..].to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::said::Message;

    fn said(message: Option<Message>, stderr: &[u8], stdout: &[u8], cut: bool) -> Said {
        let written = |bytes: &[u8]| Written { bytes: bytes.to_vec(), cut };
        Said::new(&said::Said { message, stdout: written(stdout), stderr: written(stderr) }).unwrap()
    }

    #[test]
    fn the_lines_that_say_why_are_shown_and_nothing_steers_the_terminal() {
        let go = said(
            None,
            b"reading\npanic: boom\x1b[2J\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:5 +0x3\n",
            b"x",
            false,
        );
        assert_eq!(go.summary(None), ["panic: boom\\u{1b}[2J"]);
        assert_eq!(go.place_in_trace("main.main").as_deref(), Some("/a.go:5"));
        assert_eq!(go.place_in_trace("main"), None);
        let rust =
            said(None, b"\nthread 'main' panicked at a.rs:3:5:\nit\nnote: run with `RUST_BACKTRACE=1`\n", b"", false);
        assert_eq!(rust.summary(None), ["thread 'main' panicked at a.rs:3:5:", "it"]);
        let c = said(None, b"", b"1\n2\n3\nfatal: got an A\n", false);
        assert_eq!(c.summary(None), ["2", "3", "fatal: got an A"]);
        assert_eq!(c.lines(None), ["stdout", "  1", "  2", "  3", "  fatal: got an A"]);
    }

    #[test]
    fn a_message_has_its_place_and_is_not_repeated() {
        let message = Message { text: "a\nb".into(), file: Some("s.rs".into()), line: Some(3), column: None };
        let said = said(Some(message), b"\x80\x80b\xff\n", b"", true);
        assert_eq!(said.summary(None), ["a", "b, at s.rs:3"]);
        assert_eq!(said.stderr, "b\u{fffd}\n");
        assert_eq!(said.lines(None), ["message", "  a", "  b, at s.rs:3", "stderr (its last 4 KiB)", "  b\u{fffd}"]);
        let noted = Decoded { notes: vec!["panic: a\nb, at s.rs:3".into()], ..Decoded::default() };
        assert_eq!(said.summary(Some(&noted)), [""; 0]);
        let json = serde_json::to_string(&said).unwrap();
        assert_eq!(serde_json::from_str::<Said>(&json).unwrap(), said);
        assert_eq!(serde_json::from_str::<Said>("{}").unwrap(), Said::default());
    }

    #[test]
    fn who_says_nothing_leaves_nothing() {
        assert_eq!(Said::new(&said::Said::default()), None);
    }
}
