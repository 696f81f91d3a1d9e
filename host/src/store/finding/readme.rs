//! A finding for people who open its directory.

use super::record::{FindingRecord, Former};
use crate::failure::Headline;
use crate::text::is_printable;

/// What a person reads who opens the directory.
pub(in crate::store) fn readme(finding: &FindingRecord) -> String {
    let id = finding.id.to_string();
    let mut text = format!(
        "# {} in {}\n\n    fuzzbox repro {}\n\nreproduces it. Its signature:\n\n    {}\n\n",
        finding.kind,
        plain(&finding.target),
        &id[..8],
        plain(&finding.signature)
    );
    if let Some(headline) = Headline::new(&finding.frames, finding.said.as_ref()) {
        text.push_str(&format!("It failed in\n\n    {}\n\n", plain(&headline.place())));
    }
    if let Some(said) = &finding.said {
        text.push_str("It says:\n\n");
        said.lines(None).iter().for_each(|line| text.push_str(&format!("    {line}\n")));
        text.push('\n');
    }
    text.push_str("Calls, innermost first:\n\n");
    for (number, frame) in finding.frames.iter().enumerate() {
        let place = match (&frame.file, frame.line) {
            (Some(file), Some(line)) => format!("{}:{line}", plain(file)),
            (Some(file), None) => plain(file),
            (None, _) => format!("func[{}]+{:#x}", frame.index, frame.offset),
        };
        let mark = if frame.is_library() { "  [library]" } else { "" };
        text.push_str(&format!("    #{number} {} at {place}{mark}\n", plain(&frame.function)));
    }
    if finding.frames.is_empty() {
        text.push_str("    (unknown)\n");
    }
    text.push_str(&format!(
        "\nThe file `input` is what shows it: {} bytes, blake3 {}.\n`finding.json` has the module and the settings.\n",
        finding.input_bytes, finding.input
    ));
    if let Some(value) = finding.drawn.as_ref().and_then(|drawn| drawn.value.as_ref()) {
        text.push_str(&format!("The value that was made of it: `fuzzbox show --raw {}`.\n", value.object));
    }
    for former in &finding.former {
        let Former { input, input_bytes, .. } = former;
        text.push_str(&format!("Before, an input of {input_bytes} bytes showed it: `fuzzbox show --raw {input}`.\n"));
    }
    text
}

/// Text from a module on one line, without what drives a terminal or turns the reading direction.
fn plain(text: &str) -> String {
    text.chars().flat_map(|c| if is_printable(c) { vec![c] } else { c.escape_default().collect() }).collect()
}
