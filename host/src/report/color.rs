//! Whether and how text is coloured.

use anstyle::{AnsiColor, Style};
use std::ffi::OsString;

/// What `--color` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ColorChoice {
    /// Colours on a terminal that has them, unless the environment says otherwise.
    #[default]
    Auto,
    /// Colours, wherever the output goes.
    Always,
    /// No colours.
    Never,
}

impl ColorChoice {
    /// Decides for an output that is a terminal or not. `env` reads an environment variable, e.g. [`std::env::var_os`].
    ///
    /// `--color` wins over `NO_COLOR` (set to anything), that over `CLICOLOR_FORCE` (not `0`), that over `CLICOLOR=0`
    /// and `TERM=dumb`.
    pub(crate) fn is_enabled(self, is_terminal: bool, env: impl Fn(&str) -> Option<OsString>) -> bool {
        let set = |name: &str| env(name).filter(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if set("NO_COLOR").is_some() => false,
            Self::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Self::Auto if set("CLICOLOR").is_some_and(|value| value == "0") => false,
            Self::Auto => is_terminal && !is_dumb(env),
        }
    }
}

/// Whether the terminal can't move its cursor, so that live lines are out of the question too.
pub(crate) fn is_dumb(env: impl Fn(&str) -> Option<OsString>) -> bool {
    env("TERM").is_some_and(|value| value == "dumb")
}

pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const ADVICE: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const QUIET: Style = Style::new().dimmed();
pub(super) const STRONG: Style = Style::new().bold();

/// Colours text, or leaves it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    pub(super) fn paint(self, style: Style, text: &str) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enabled(choice: ColorChoice, is_terminal: bool, env: &[(&str, &str)]) -> bool {
        choice.is_enabled(is_terminal, |name| env.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn colours_follow_flag_then_environment_then_terminal() {
        let all = [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1"), ("TERM", "dumb")];
        assert!(enabled(ColorChoice::Always, false, &all));
        assert!(!enabled(ColorChoice::Never, true, &[("CLICOLOR_FORCE", "1")]));
        assert!(enabled(ColorChoice::Auto, true, &[("TERM", "xterm")]));
        assert!(!enabled(ColorChoice::Auto, false, &[]));
        assert!(!enabled(ColorChoice::Auto, true, &all));
        assert!(enabled(ColorChoice::Auto, true, &[("NO_COLOR", "")]));
        assert!(enabled(ColorChoice::Auto, false, &all[1..]));
        assert!(!enabled(ColorChoice::Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!enabled(ColorChoice::Auto, true, &[("CLICOLOR", "0")]));
        assert!(!enabled(ColorChoice::Auto, true, &all[2..]));
    }
}
