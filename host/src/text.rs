//! Figures and foreign text as people read them.

use std::fmt::Write as _;

/// Columns of a preview that fits under a finding on a terminal of 80 columns.
pub(crate) const PREVIEW_COLUMNS: usize = 60;

/// A count with three significant digits: `812`, `43.1 k`, `1.20 M`.
pub(crate) fn count(n: u64) -> String {
    if n < 1000 {
        return n.to_string();
    }
    scaled(n as f64)
}

/// A rate per second: `43.1 k/s`. What is not a number is `0/s`.
pub(crate) fn rate(per_second: f64) -> String {
    let per_second = if per_second.is_finite() { per_second.max(0.0) } else { 0.0 };
    if per_second < 99.95 {
        let text = format!("{per_second:.1}");
        return format!("{}/s", text.strip_suffix(".0").unwrap_or(&text));
    }
    if per_second < 999.5 {
        return format!("{per_second:.0}/s");
    }
    format!("{}/s", scaled(per_second))
}

fn scaled(mut n: f64) -> String {
    const UNITS: [&str; 6] = [" k", " M", " G", " T", " P", " E"];
    let mut unit = "";
    for next in UNITS {
        if n < 999.5 {
            break;
        }
        n /= 1000.0;
        unit = next;
    }
    let digits = if n < 9.995 {
        2
    } else if n < 99.95 {
        1
    } else {
        0
    };
    format!("{n:.digits$}{unit}")
}

/// All digits, in groups: `1,234,567`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count and its noun: `1 edge`, `12 edges`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A size, exactly: `10 bytes`, `64 KiB`, `1 MiB`. The unit is the largest that it is a multiple of.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u32, &str); 3] = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fits = |(shift, _): &&(u32, &str)| bytes > 0 && bytes.trailing_zeros() >= *shift;
    match UNITS.iter().find(fits) {
        Some((shift, unit)) => format!("{} {unit}", grouped(bytes >> shift)),
        None => counted(bytes, "byte"),
    }
}

/// A span of time: `0.4 s`, `12.0 s`, `2 m 13 s`, `3 h 05 m`.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3600, seconds / 60 % 60),
    }
}

/// The size of a file: `14.0 MB`.
pub(crate) fn megabytes(bytes: u64) -> String {
    bytesize::ByteSize(bytes).display().si().to_string()
}

/// A share of a whole: `33 %`; the whole is reached only at the very end, and nothing only at 0.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let share = (u128::from(part) * 100 / u128::from(whole)) as u64;
    if part > 0 && share == 0 { "<1 %".to_owned() } else { format!("{share} %") }
}

/// Text that came from a module or a file, safe to print: what could move a cursor, end a line or turn the reading
/// direction is escaped.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printable(c) {
            out.push(c);
        } else {
            let _ = write!(out, "{}", c.escape_unicode());
        }
    }
    out
}

/// JSON of which the same holds, and that means the same: only its strings can have such characters.
pub(crate) fn printable_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Line feeds are between the lines of JSON; in its strings they are escaped already.
        if is_printable(c) || c == '\n' {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// Whether a character shows as itself and changes nothing around it.
pub(crate) fn is_printable(c: char) -> bool {
    let is_invisible = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !c.is_control() && !is_invisible
}

/// Columns that printable text takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

fn char_columns(c: char) -> usize {
    // Combining marks of the common blocks, and the blocks of East Asian and emoji characters that take two cells.
    match u32::from(c) {
        0x300..=0x36f | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Cuts text to at most `columns_max` columns; the last is an ellipsis if something was cut.
pub(crate) fn cut(text: &str, columns_max: usize) -> String {
    if columns(text) <= columns_max {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut room = columns_max.saturating_sub(1);
    for c in text.chars() {
        let wide = char_columns(c);
        if wide > room {
            break;
        }
        room -= wide;
        out.push(c);
    }
    if columns_max > 0 {
        out.push('…');
    }
    out
}

/// Cuts the front off text, for paths: what stands at the end matters most.
pub(crate) fn cut_front(text: &str, columns_max: usize) -> String {
    if columns(text) <= columns_max {
        return text.to_owned();
    }
    let mut room = columns_max.saturating_sub(1);
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        let wide = char_columns(c);
        if wide > room {
            break;
        }
        room -= wide;
        start = at;
    }
    if columns_max > 0 { format!("…{}", &text[start..]) } else { String::new() }
}

/// Breaks text between words into lines of at most `columns_max` columns. A longer word has a line for itself.
pub(crate) fn wrap(text: &str, columns_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= columns_max => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The name that was probably meant where `typed` is none: the first of those that the fewest letters tell from it, if
/// that is a third of them at most. Exchanged neighbours count as one.
pub(crate) fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const CHARS_MAX: usize = 100;
    let typed: Vec<char> = typed.chars().take(CHARS_MAX).collect();
    let far = (typed.len() / 3).max(1);
    let distance = |name: &str| {
        let name: Vec<char> = name.chars().take(CHARS_MAX).collect();
        if name.len().abs_diff(typed.len()) > far { usize::MAX } else { distance(&typed, &name) }
    };
    let near = names.into_iter().map(|name| (distance(name), name)).filter(|&(distance, _)| distance <= far);
    near.min_by_key(|&(distance, _)| distance).map(|(_, name)| name)
}

/// Letters to insert, delete, replace, or exchange with their neighbours to make one of the other (optimal string
/// alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = [Vec::new(), (0..=b.len()).collect::<Vec<_>>(), Vec::new()];
    for (at, letter) in a.iter().enumerate() {
        let [before, last, row] = &mut rows;
        row.clear();
        row.push(at + 1);
        for (to, other) in b.iter().enumerate() {
            let mut least = (last[to] + usize::from(letter != other)).min(last[to + 1] + 1).min(row[to] + 1);
            if at > 0 && to > 0 && a[at - 1] == *other && b[to - 1] == *letter {
                least = least.min(before[to - 1] + 1);
            }
            row.push(least);
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let names = ["run", "repro", "replay", "shrink", "LLVMFuzzerTestOneInput", "LLVMFuzzerInitialize"];
        let near = |typed: &str| nearest(typed, names);
        assert_eq!(near("rnu"), Some("run"));
        assert_eq!(near("repo"), Some("repro"));
        assert_eq!(near("LLVMFuzzerTestOneInpt"), Some("LLVMFuzzerTestOneInput"));
        assert_eq!(near("LLVMFuzzerInitialise"), Some("LLVMFuzzerInitialize"));
        assert_eq!([near("x"), near(""), near("fuzz"), near("runrunrun")], [None; 4]);
        let distances = [("", "ab"), ("ab", "ba"), ("abc", "abc"), ("kitten", "sitting"), ("abcd", "acbd")];
        let of = |(a, b): (&str, &str)| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(distances.map(of), [2, 1, 0, 3, 1]);
    }

    #[test]
    fn figures_have_three_digits() {
        let counts: Vec<String> =
            [0, 812, 999, 1000, 1_234, 43_120, 999_499, 999_999, 1_200_000, u64::MAX].map(count).into();
        assert_eq!(counts, ["0", "812", "999", "1.00 k", "1.23 k", "43.1 k", "999 k", "1.00 M", "1.20 M", "18.4 E"]);
        let rates: Vec<String> = [0.0, 0.31, 12.0, 812.4, 43_120.0, f64::NAN, f64::INFINITY, -1.0].map(rate).into();
        assert_eq!(rates, ["0/s", "0.3/s", "12/s", "812/s", "43.1 k/s", "0/s", "0/s", "0/s"]);
        assert_eq!([grouped(0), grouped(999), grouped(1000), grouped(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [duration(430), duration(59_999), duration(133_000), duration(11_100_000)],
            ["0.4 s", "59.9 s", "2 m 13 s", "3 h 05 m"]
        );
        assert_eq!(
            [percent(0, 0), percent(1, 2000), percent(1999, 2000), percent(5, 5)],
            ["0 %", "<1 %", "99 %", "100 %"]
        );
    }

    #[test]
    fn sizes_are_exact() {
        let sizes = [0, 1, 10, 1024, 65_536, 100_000, 1 << 20, 1_114_112, 5 << 30, u64::MAX].map(size);
        let expected =
            ["0 bytes", "1 byte", "10 bytes", "1 KiB", "64 KiB", "100,000 bytes", "1 MiB", "1,088 KiB", "5 GiB"];
        assert_eq!(sizes[..9], expected);
        assert_eq!(sizes[9], "18,446,744,073,709,551,615 bytes");
    }

    #[test]
    fn foreign_text_cannot_drive_a_terminal() {
        assert_eq!(printable("a\x1b[2Jb\r\n\u{9b}c\u{202e}"), "a\\u{1b}[2Jb\\u{d}\\u{a}\\u{9b}c\\u{202e}");
        assert_eq!(printable("größer 日本"), "größer 日本");
    }

    #[test]
    fn json_that_drives_no_terminal_means_the_same() {
        let text = "a\u{1b}[2J\u{7f}\u{85}\u{202e}b\u{e0001}\n\"größe\" 日本\u{feff}";
        let json = printable_json(&serde_json::to_string(text).unwrap());
        assert!(json.chars().all(is_printable), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        assert_eq!(printable_json("{\"a\":\"é\"}\n[]\n"), "{\"a\":\"é\"}\n[]\n");
    }

    #[test]
    fn text_wraps_between_words() {
        assert_eq!(wrap("a bb ccc dddddddd e", 4), ["a bb", "ccc", "dddddddd", "e"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn cut_text_fits() {
        assert_eq!(cut("parse_value", 11), "parse_value");
        assert_eq!(cut("parse_value", 6), "parse…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut_front("src/deep/json.c", 8), "…/json.c");
        for room in 0..6 {
            assert!(columns(&cut("日a本b語", room)) <= room && columns(&cut_front("日a本b語", room)) <= room);
        }
    }
}
