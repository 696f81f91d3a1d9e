//! `@@` in a command's arguments: the path of a file that holds the input.

use crate::sandbox::wasi::WasiConfig;
use crate::settings::Settings;

/// Stands for the path in an argument.
const MARK: &str = "@@";

/// The path that the mark stands for, without extension.
const PATH: &str = "/input";

/// Arguments in which every mark is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileArgs {
    /// The arguments as the program sees them.
    pub(crate) args: Vec<String>,
    /// The paths that occur in them, each once.
    pub(crate) paths: Vec<String>,
}

impl FileArgs {
    /// Replaces `@@` by the path of the input, wherever it is in an argument. An extension that follows belongs to the
    /// path: programs choose by it what a file is.
    ///
    /// ```text
    /// @@             /input
    /// --from=@@      --from=/input
    /// @@.json        /input.json
    /// ```
    pub(crate) fn of(args: &[String]) -> Self {
        let mut paths: Vec<String> = Vec::new();
        let mut replace = |arg: &String| {
            let mut parts = arg.split(MARK);
            let mut new = parts.next().unwrap_or_default().to_owned();
            for rest in parts {
                let path = format!("{PATH}{}", extension(rest));
                new.push_str(PATH);
                new.push_str(rest);
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
            new
        };
        Self { args: args.iter().map(&mut replace).collect(), paths }
    }
}

/// The file extensions that `text` begins with, their dots included: `.tar.gz`, or nothing.
fn extension(text: &str) -> &str {
    let mut len = 0;
    while let Some(after) = text[len..].strip_prefix('.') {
        match after.bytes().take_while(u8::is_ascii_alphanumeric).count() {
            0 => break,
            letters => len += 1 + letters,
        }
    }
    &text[..len]
}

/// What the guest finds when it starts.
pub(crate) fn wasi_config(settings: &Settings) -> WasiConfig {
    let name = b"program".to_vec();
    let FileArgs { args, paths } = FileArgs::of(&settings.args);
    let args = args.into_iter().map(String::into_bytes);
    WasiConfig {
        args: std::iter::once(name).chain(args).collect(),
        files: paths.into_iter().map(|path| (path, Vec::new())).collect(),
        work_max: settings.fuel_max,
        ..WasiConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_paths_wherever_they_are() {
        for (arg, new, paths) in [
            ("plain", "plain", &[][..]),
            ("@@", "/input", &["/input"]),
            ("--from=@@", "--from=/input", &["/input"]),
            ("@@.json", "/input.json", &["/input.json"]),
            ("@@.tar.gz", "/input.tar.gz", &["/input.tar.gz"]),
            ("@@,@@.b:@@", "/input,/input.b:/input", &["/input", "/input.b"]),
            ("@@@", "/input@", &["/input"]),
            ("@@@@", "/input/input", &["/input"]),
            ("@", "@", &[]),
            ("@@.", "/input.", &["/input"]),
            ("@@./x", "/input./x", &["/input"]),
            ("@@.a.é", "/input.a.é", &["/input.a"]),
            ("", "", &[]),
        ] {
            let replaced = FileArgs::of(&[arg.to_owned()]);
            assert_eq!(replaced.args, [new], "{arg}");
            assert_eq!(replaced.paths, paths, "{arg}");
        }
    }
}
