//! libFuzzer's flags are recognised, only to say what ours are called.

use crate::text::printable;
use std::ffi::OsString;

/// The answer to the first libFuzzer-style flag (`-runs=100`) among `arguments`, if there is one.
pub(super) fn did_you_mean(arguments: &[OsString]) -> Option<String> {
    let arguments = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    arguments.take_while(|argument| *argument != "--").find_map(|argument| {
        let (flag, value) = argument.strip_prefix('-')?.split_once('=')?;
        let ours = match flag {
            "max_total_time" => format!("--time {value}s"),
            "runs" if value == "0" => "fuzzbox replay".to_owned(),
            "runs" => format!("--execs {value}"),
            "dict" => format!("--dict {value}"),
            "seed" => format!("--seed {value}"),
            "jobs" | "workers" | "fork" => format!("--jobs {value}"),
            "max_len" => format!("--input-bytes-max {value}"),
            "rss_limit_mb" => format!("--memory-max {value}MiB"),
            "timeout" => format!("--timeout {value}s"),
            "merge" => "--corpus DIR".to_owned(),
            "artifact_prefix" => "--store DIR".to_owned(),
            _ => return None,
        };
        let argument = printable(argument);
        Some(format!("error: `{argument}` is a flag of libFuzzer\nhelp: did you mean {ours}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libfuzzer_flags_are_answered_and_ours_are_not() {
        let ask = |flag: &str| did_you_mean(&["fuzzbox".into(), "run".into(), flag.into()]);
        assert!(ask("-max_total_time=60").unwrap().ends_with("did you mean --time 60s"));
        assert!(ask("-runs=5").unwrap().contains("--execs 5"));
        assert_eq!(ask("--time=60s"), None);
        assert_eq!(ask("-n=5"), None);
    }
}
