//! What a person sees: a log above, two live lines below, and a table at the end.
//!
//! ```text
//!   Compiling json (132 kB): 0.4 s                                              <- live, before all else
//!     Fuzzing json by LLVMFuzzerTestOneInput(ptr, len)
//!             2,401 edges, 5 first inputs, seed 1, 2 jobs
//!       Crash 3f2a91ab parse_value at src/json.c:57:9
//!             unreachable: parse_value:+14 < parse_array < LLVMFuzzerTestOneInput
//!             input "[[[[" (4 bytes)
//!             fuzzbox repro 3f2a91ab
//!     Running json: 1.20 M executions, 43.1 k/s, 27.9 s                         <- live
//!             edges 812/2,401 (33 %), 1 finding, corpus 340, last new 17 k execs ago  <- live
//! ```
//!
//! New edges are not logged; they show in the live lines. Everything that came from a module or a file is printed with
//! its control characters escaped, and cut so that it fits.

use super::color::{ADVICE, BAD, GOOD, Paint, QUIET, STRONG};
use super::lines::{repro, short_id};
use super::{Advice, Compiling, Done, Event, Finding, Format, NotStarted, Reporter, Retraced, Start, Status};
use crate::failure::Headline;
use crate::outcome::FailureKind;
use crate::symbols::simplify;
use crate::text::{
    columns, count, counted, cut, cut_front, duration, grouped, megabytes, percent, printable, rate, wrap,
};
use anstyle::Style;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Columns of the label at the start of a line, and of the space before lines without one.
const LABEL_COLUMNS: usize = 11;
/// Wider terminals are used up to here: long lines are hard to read.
const COLUMNS_MAX: usize = 120;
/// Lines of notes, and of choices, of a finding that was drawn.
const DRAWN_LINES_MAX: usize = 8;
/// Columns that a target's name has in a row of the table, at least, if it needs them.
const TARGET_COLUMNS_MIN: usize = 12;
/// Lines of what a finding's target said.
const SAID_LINES_MAX: usize = 4;
/// Narrower ones are treated as this.
const COLUMNS_MIN: usize = 40;

/// How it is chosen and made.
pub(super) const FORMAT: Format = Format {
    name: "terminal",
    about: "A log with two live lines below",
    make: |out, options| Box::new(Terminal::new(out, ProgressDrawTarget::stderr(), options)),
};

/// How a [`Terminal`] looks, and other forms of output as far as it concerns them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TerminalOptions {
    /// Whether to colour.
    pub color: bool,
    /// Width of the terminal in columns, if known; 80 if not.
    pub columns: Option<u16>,
    /// Tells the width before each event, if it can change: a terminal may be resized.
    pub width: Option<fn() -> Option<u16>>,
    /// Whether new edges are logged too, one line for each input that reached some.
    pub new_edges: bool,
}

/// Prints for a person at a terminal.
pub(crate) struct Terminal<W> {
    out: W,
    paint: Paint,
    columns: usize,
    /// Tells the width, if it can change.
    width: Option<fn() -> Option<u16>>,
    /// What it told last.
    terminal_columns: usize,
    live: Live,
    new_edges: bool,
    /// By target: its executions when the last new edge was reached.
    last_new_execs: BTreeMap<String, u64>,
}

impl<W: Write> Terminal<W> {
    /// Writes the log and the table to `out`, and draws live lines on `live`, usually [`ProgressDrawTarget::stderr`],
    /// which draws nothing if that is not a terminal.
    pub(crate) fn new(out: W, live: ProgressDrawTarget, options: TerminalOptions) -> Self {
        let columns = options.columns.map_or(80, usize::from).clamp(COLUMNS_MIN, COLUMNS_MAX);
        Self {
            out,
            paint: Paint(options.color),
            columns,
            width: options.width,
            terminal_columns: 0,
            live: Live::new(live),
            new_edges: options.new_edges,
            last_new_execs: BTreeMap::new(),
        }
    }

    /// Fits to the terminal as it is now.
    fn fit(&mut self) {
        if let Some(columns) = self.width.and_then(|width| width()) {
            self.live.clear_wrapped(columns.into());
            self.terminal_columns = columns.into();
            self.columns = usize::from(columns).clamp(COLUMNS_MIN, COLUMNS_MAX);
        }
    }

    /// Appends to the log, above the live lines.
    fn log(&mut self, text: &str) -> io::Result<()> {
        let Self { out, live, .. } = self;
        live.multi.suspend(|| {
            out.write_all(text.as_bytes())?;
            out.flush()
        })
    }

    /// Room for text beside a label.
    fn room(&self) -> usize {
        self.columns - LABEL_COLUMNS - 1
    }

    fn labelled(&self, style: Style, label: &str, text: &str) -> String {
        format!("{} {text}\n", self.paint.paint(style, &format!("{label:>LABEL_COLUMNS$}")))
    }

    fn indented(text: &str) -> String {
        format!("{:LABEL_COLUMNS$} {text}\n", "")
    }

    fn compiling(&self, compiling: &Compiling) -> String {
        let Compiling { target, module_bytes, elapsed_ms } = compiling;
        let size = megabytes(*module_bytes);
        // Nobody knows how much is left.
        let what = format!("{} ({size}): {}", printable(target), duration(*elapsed_ms));
        self.labelled(GOOD, "Compiling", &cut(&what, self.room())).trim_end().to_owned()
    }

    fn start(&self, start: &Start) -> String {
        let what = format!("{} by {}", printable(&start.target), printable(&start.entry));
        let how = format!(
            "{}, {}, {}, {}",
            counted(start.edges_total, "edge"),
            counted(start.seeds, "first input"),
            start.repeatable(),
            counted(start.jobs, "job"),
        );
        self.labelled(GOOD, "Fuzzing", &cut(&what, self.room())) + &Self::indented(&cut(&how, self.room()))
    }

    fn retraced(&self, retraced: &Retraced) -> String {
        let findings = retraced.lines().into_iter().map(|line| cut(&printable(&line), self.room()));
        findings.fold(self.wrapped("Rebuilt", &retraced.text()), |text, line| text + &Self::indented(&line))
    }

    /// A text in as many lines as it takes.
    fn wrapped(&self, label: &str, text: &str) -> String {
        let mut lines = wrap(text, self.room()).into_iter();
        let first = self.labelled(GOOD, label, &lines.next().unwrap_or_default());
        lines.fold(first, |text, line| text + &Self::indented(&line))
    }

    fn finding(&self, finding: &Finding) -> String {
        let id = short_id(&finding.id);
        let headline = finding.headline();
        let place = self.place(headline.as_ref(), self.room().saturating_sub(id.len() + 1));
        let inside =
            headline.and_then(|headline| headline.inside()).map(|inside| Self::indented(&cut(&inside, self.room())));
        let label = match finding.kind {
            FailureKind::Crash => "Crash",
            FailureKind::Hang => "Hang",
            FailureKind::OutOfMemory => "Memory",
            FailureKind::Difference => "Difference",
        };
        let signature = cut(&printable(&finding.signature), self.room());
        let input = match &finding.drawn {
            Some(drawn) => drawn.lines(DRAWN_LINES_MAX),
            None => vec![format!("input {}", finding.preview)],
        };
        let input = input.iter().map(|line| Self::indented(&cut(&printable(line), self.room())));
        let says = if finding.kind == FailureKind::Difference { "" } else { "says " };
        let said = finding.said().into_iter().flat_map(|line| wrap(&format!("{says}{line}"), self.room()));
        let said = said.take(SAID_LINES_MAX).map(|line| Self::indented(&cut(&line, self.room())));
        self.labelled(BAD, label, &format!("{id} {place}"))
            + &inside.unwrap_or_default()
            + &Self::indented(&signature)
            + &said.collect::<String>()
            + &input.collect::<String>()
            + &Self::indented(&self.paint.paint(STRONG, &repro(finding)))
    }

    /// Where the target failed: the function gives way before the line does, and the path's end stays longest.
    fn place(&self, headline: Option<&Headline>, room: usize) -> String {
        let Some(headline) = headline else { return String::new() };
        let function = printable(&headline.function);
        let Some(source) = &headline.source else { return cut(&function, room) };
        const AT: &str = " at ";
        let room = room.saturating_sub(AT.len());
        let source = cut_front(&printable(source), (room / 2).max(room.saturating_sub(columns(&function))));
        let function = cut(&function, room.saturating_sub(columns(&source)));
        format!("{}{AT}{source}", self.paint.paint(STRONG, &function))
    }

    fn advice(&self, advice: &Advice) -> String {
        let mut lines = wrap(&printable(&advice.message), self.room()).into_iter();
        let first = self.labelled(ADVICE, "Advice", &lines.next().unwrap_or_default());
        lines.fold(first, |text, line| text + &Self::indented(&line))
    }

    fn done(&self, done: &Done) -> String {
        let how = format!("{} in {}: {}", printable(&done.target), duration(done.elapsed_ms), printable(&done.stopped));
        let mut text = self.labelled(GOOD, "Finished", &cut(&how, self.room()));
        text.push('\n');
        text.push_str(&self.table(done));
        text.push('\n');
        for finding in &done.findings {
            let id = short_id(&finding.id);
            let what = cut(&printable(&finding.title()), self.columns - "  ".len() - id.len() - 1);
            text.push_str(&format!("  {} {what}\n", self.paint.paint(BAD, &id)));
            text.push_str(&format!("  {:1$} {2}\n", "", id.len(), self.paint.paint(STRONG, &repro(finding))));
        }
        if !done.not_reached.is_empty() {
            text.push_str(&format!("  not reached: {}\n", self.names(&done.not_reached, "  not reached: ".len())));
        }
        if let Some(nameless) = done.nameless() {
            text.push_str(&format!("  not reached: {nameless}\n"));
        }
        text
    }

    /// The target's figures under their headings; beside them, one on a line, where a row has no room.
    fn table(&self, done: &Done) -> String {
        let edges = format!(
            "{} of {} ({})",
            grouped(done.edges),
            grouped(done.edges_total),
            percent(done.edges, done.edges_total)
        );
        let figures = [
            ("executions", count(done.execs)),
            ("per second", rate(done.execs_per_sec)),
            ("edges", edges),
            ("corpus", grouped(done.corpus)),
            ("findings", grouped(done.findings.len() as u64)),
        ];
        let widths = figures.each_ref().map(|(heading, figure)| columns(heading).max(columns(figure)));
        let taken: usize = widths.iter().map(|width| width + 2).sum();
        let target = printable(&done.target);
        if taken + 2 + columns(&target).clamp("target".len(), TARGET_COLUMNS_MIN) > self.columns {
            return self.list(&target, &figures);
        }
        let target = cut(&target, self.columns - taken - 2);
        let target_width = columns(&target).max("target".len());
        let mut headings = format!("  {:target_width$}", "target");
        let mut row = format!("  {target}{:1$}", "", target_width - columns(&target));
        for ((heading, figure), width) in figures.iter().zip(widths) {
            headings.push_str(&format!("  {heading:>width$}"));
            row.push_str(&format!("  {figure:>width$}"));
        }
        format!("{}\n{row}\n", self.paint.paint(QUIET, &headings))
    }

    fn list(&self, target: &str, figures: &[(&str, String)]) -> String {
        let width = figures.iter().map(|(heading, _)| heading.len()).max().unwrap_or(0);
        let room = self.columns - width - "    ".len();
        let lines =
            std::iter::once(("target", target)).chain(figures.iter().map(|(heading, figure)| (*heading, &**figure)));
        let line = |(heading, figure)| {
            format!("  {}  {}\n", self.paint.paint(QUIET, &format!("{heading:width$}")), cut(figure, room))
        };
        lines.map(line).collect()
    }

    /// As many names as fit on the rest of a line, and how many there are beyond.
    fn names(&self, names: &[String], taken: usize) -> String {
        let more = |left: usize| if left == 0 { String::new() } else { format!(" and {left} more") };
        let room = self.columns.saturating_sub(taken);
        let mut text = cut(&printable(&simplify(&names[0])), room.saturating_sub(columns(&more(names.len() - 1))));
        for (at, name) in names.iter().enumerate().skip(1) {
            let left = names.len() - at;
            let longer = format!("{text}, {}", printable(&simplify(name)));
            if columns(&longer) + columns(&more(left - 1)) > room {
                return text + &more(left);
            }
            text = longer;
        }
        text
    }

    /// The two live lines.
    pub(super) fn live_text(&self, status: &Status) -> [String; 2] {
        let target = cut(&printable(&status.target), 24);
        let speed = format!("{target}: {} executions, {}", count(status.execs), rate(status.execs_per_sec));
        let since_new = status.execs.saturating_sub(self.last_new_execs.get(&status.target).copied().unwrap_or(0));
        let edges = format!("edges {}/{}", grouped(status.edges), grouped(status.edges_total));
        let share = format!("{edges} ({})", percent(status.edges, status.edges_total));
        let findings = counted(status.findings, "finding");
        let corpus = format!("corpus {}", grouped(status.corpus));
        let new = format!("last new {} execs ago", count(since_new));
        // What matters less is left out first.
        let states: [&[&str]; 5] = [
            &[&share, &findings, &corpus, &new],
            &[&edges, &findings, &corpus, &new],
            &[&edges, &findings, &corpus],
            &[&edges, &findings],
            &[&findings],
        ];
        let states = states.map(|parts| parts.join(", "));
        let state = states.iter().find(|state| columns(state) <= self.room()).unwrap_or(&findings);
        let first = cut(&format!("{speed}, {}", duration(status.elapsed_ms)), self.room());
        [
            self.labelled(GOOD, "Running", &first).trim_end().to_owned(),
            Self::indented(&cut(state, self.room())).trim_end().to_owned(),
        ]
    }
}

impl<W: Write> Reporter for Terminal<W> {
    fn report(&mut self, event: &Event) -> io::Result<()> {
        self.fit();
        match event {
            Event::Compiling(compiling) => {
                let text = self.compiling(compiling);
                self.live.show(&[text], self.terminal_columns);
                Ok(())
            }
            Event::Start(start) => {
                self.live.hide();
                self.log(&self.start(start))
            }
            Event::NewEdge(new) => {
                self.last_new_execs.insert(new.target.clone(), new.execs);
                if !self.new_edges {
                    return Ok(());
                }
                let text = format!("{} (+{}) in {}", counted(new.edges, "edge"), new.new, printable(&new.function));
                self.log(&self.labelled(QUIET, "new", &cut(&text, self.room())))
            }
            Event::Retraced(retraced) => self.log(&self.retraced(retraced)),
            Event::Warmed(warmed) => self.log(&self.wrapped("Warm", &warmed.text())),
            Event::Arrived(arrived) => self.log(&self.wrapped("Goal", &printable(&arrived.text()))),
            Event::Finding(finding) => self.log(&self.finding(finding)),
            Event::Status(status) => {
                let text = self.live_text(status);
                self.live.show(&text, self.terminal_columns);
                Ok(())
            }
            Event::Advice(advice) => self.log(&self.advice(advice)),
            Event::Done(done) => {
                self.live.hide();
                self.log(&self.done(done))
            }
            Event::Imported(imported) => {
                let lines = imported.lines().into_iter().enumerate().map(|(at, line)| {
                    let line = cut(&printable(&line), self.room());
                    if at == 0 { self.labelled(GOOD, "Imported", &line) } else { Self::indented(&line) }
                });
                let text: String = lines.collect();
                self.log(&text)
            }
            Event::NotStarted(NotStarted { target }) => {
                let text =
                    format!("{} was not started", cut(&printable(target), self.room() - " was not started".len()));
                self.log(&self.labelled(ADVICE, "Left out", &text))
            }
            Event::Checked(checked) => {
                let lines = checked
                    .lines(self.columns - 2)
                    .into_iter()
                    .map(|line| format!("  {}\n", cut(&line, self.columns - 2)));
                let text: String = lines.collect();
                self.log(&text)
            }
        }
    }
}

/// The live lines, there while something is compiled, and from the first status to the end. To indicatif they are one
/// bar whose message has several lines, so that all are drawn at once.
struct Live {
    multi: MultiProgress,
    lines: Option<ProgressBar>,
    /// Columns of the lines that are shown.
    shown: Vec<usize>,
}

/// Columns that a line takes, without its colours.
fn uncoloured_columns(line: &str) -> usize {
    let mut parts = line.split('\x1b');
    let first = columns(parts.next().unwrap_or_default());
    parts.map(|part| columns(part.split_once('m').map_or("", |(_, text)| text))).sum::<usize>() + first
}

/// Rows more than lines that lines of these lengths take on a terminal of this width.
fn wrapped_rows(lines: &[usize], columns: usize) -> usize {
    lines.iter().map(|line| line.div_ceil(columns.max(1)).max(1) - 1).sum()
}

impl Live {
    fn new(target: ProgressDrawTarget) -> Self {
        Self { multi: MultiProgress::with_draw_target(target), lines: None, shown: Vec::new() }
    }

    fn show(&mut self, text: &[String], terminal_columns: usize) {
        let Self { multi, lines, shown } = self;
        *shown = text.iter().map(|line| uncoloured_columns(line)).collect();
        // The last one is drawn up to the edge, so that the cursor is there.
        shown.iter_mut().rev().take(1).for_each(|last| *last = terminal_columns.max(*last));
        let bar = lines.get_or_insert_with(|| {
            // The template is ours and right; the default style would only look different.
            let style = ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            multi.add(ProgressBar::no_length().with_style(style))
        });
        bar.set_message(text.join("\n"));
    }

    /// Clears the rows that lines take since the terminal became narrower than they are: its other lines moved up by
    /// them, and whoever drew the lines counts one row for each.
    fn clear_wrapped(&mut self, columns: usize) {
        let rows = wrapped_rows(&self.shown, columns);
        if rows == 0 || self.lines.is_none() || self.multi.is_hidden() {
            return;
        }
        self.shown.clear();
        // What can't be written leaves a line too many.
        self.multi.suspend(|| drop(io::stderr().write_all(format!("\x1b[{rows}A\r\x1b[J").as_bytes())));
    }

    fn hide(&mut self) {
        self.shown.clear();
        if let Some(bar) = self.lines.take() {
            bar.finish_and_clear();
            self.multi.remove(&bar);
        }
    }
}

impl Drop for Live {
    /// An error message that follows must not be mixed with lines that are no longer live.
    fn drop(&mut self) {
        self.hide();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_where_a_terminal_becomes_narrower() {
        assert_eq!(uncoloured_columns(&format!("{} größe", Paint(true).paint(GOOD, "Running"))), 13);
        assert_eq!(uncoloured_columns("plain"), 5);
        assert_eq!(wrapped_rows(&[75, 80], 120), 0);
        assert_eq!(wrapped_rows(&[75, 80], 80), 0);
        assert_eq!(wrapped_rows(&[75, 80, 0], 50), 2);
        assert_eq!(wrapped_rows(&[75], 20), 3);
        assert_eq!(wrapped_rows(&[3], 0), 2);
    }
}
