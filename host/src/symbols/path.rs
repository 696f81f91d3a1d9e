//! Paths of source files, as people want to read them.

/// Joins a file's name to its directory, and leaves out the directory `base` of the compilation: where somebody built
/// the program says nothing, where the file lies in the project does.
pub(super) fn join(base: &str, directory: &str, name: &str) -> String {
    let mut path = if is_absolute(name) || directory.is_empty() {
        name.to_owned()
    } else {
        format!("{}/{name}", directory.trim_end_matches('/'))
    };
    let base = base.trim_end_matches('/');
    if !base.is_empty()
        && let Some(inside) = path.strip_prefix(base).and_then(|rest| rest.strip_prefix('/'))
    {
        path = inside.to_owned();
    }
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.to_owned();
    }
    path
}

/// `/src/a.c`, `C:\src\a.c`, `webpack:///src/a.ts`.
fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.get(1..3).is_some_and(|s| s == ":\\" || s == ":/") || scheme(path).is_some()
}

/// The scheme of a URL: what stands before its first colon, if it is longer than the letter of a drive.
pub(super) fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_in_the_project() {
        for (base, directory, name, joined) in [
            ("/build", "/build/src", "a.c", "src/a.c"),
            ("/build", "", "./a.c", "a.c"),
            ("/build", "src", "/usr/include/a.h", "/usr/include/a.h"),
            ("", "./fuzz", "fuzz.ts", "fuzz/fuzz.ts"),
            ("", "./fuzz", "~lib/array.ts", "fuzz/~lib/array.ts"),
            ("", "root/", "webpack:///src/a.ts", "webpack:///src/a.ts"),
            ("", "root", "C:\\a.c", "C:\\a.c"),
            ("", "root", "é:/a.c", "root/é:/a.c"),
        ] {
            assert_eq!(join(base, directory, name), joined);
        }
    }
}
