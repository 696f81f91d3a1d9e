//! What Go's own compiler makes for JavaScript behaves as under Node.

use anyhow::{Context as _, Result, ensure};
use fuzzbox::sandbox::{Executor, Target, completed};
use fuzzbox::settings::Settings;
use fuzzbox_tests::workspace;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Output, and the code at the end.
type Ended = (String, Option<u32>);

fn under_node(module: &Path, dir: &Path, input: &[u8], args: &[&str]) -> Result<Ended> {
    let root = Command::new("go").args(["env", "GOROOT"]).output().context("failed to start go")?;
    let root = PathBuf::from(String::from_utf8(root.stdout)?.trim());
    let script = ["lib/wasm", "misc/wasm"].map(|place| root.join(place).join("wasm_exec_node.js"));
    let script = script.into_iter().find(|script| script.exists()).context("Go has no wasm_exec_node.js")?;
    let mut node = Command::new("node");
    node.arg(script).arg(module).args(args).current_dir(dir);
    let mut node = node.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    node.stdin.take().context("it has a stdin")?.write_all(input)?;
    let output = node.wait_with_output()?;
    Ok((String::from_utf8(output.stdout)?, output.status.code().map(i32::cast_unsigned)))
}

fn ours(executor: &mut Executor, input: &[u8]) -> Result<Ended> {
    executor.run(input)?;
    let observation = executor.observation();
    Ok((String::from_utf8(observation.stdout().to_vec())?, observation.exit_code()))
}

#[test]
#[ignore = "needs go (180 MB from PyPI) and node"]
fn programs_of_go_behave_as_under_node() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let module = dir.path().join("guest.wasm");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&module).arg(".").envs([("GOOS", "js"), ("GOARCH", "wasm")]);
    let built = go.current_dir(workspace().join("tests/guests/gojs")).output()?;
    ensure!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let bytes = completed(&std::fs::read(&module)?, "")?.context("it is started")?;
    let mut executor = Executor::new(&Arc::new(Target::load(&bytes, Settings::default())?))?;
    let inputs = ["", "abc", "bug", "dead", "exit", "exit with more", "throw", "nil", "caf\u{e9}"];
    for input in inputs.iter().chain(&inputs) {
        let node = under_node(&module, dir.path(), input.as_bytes(), &[])?;
        assert_eq!(ours(&mut executor, input.as_bytes())?, node, "{input:?}");
    }
    // The input is a file.
    let with_file = Settings { args: vec!["@@".to_owned()], ..Settings::default() };
    let mut executor = Executor::new(&Arc::new(Target::load(&bytes, with_file)?))?;
    for input in ["", "abc", "file\n"] {
        std::fs::write(dir.path().join("input"), input)?;
        let (text, code) = under_node(&module, dir.path(), b"", &["input"])?;
        let text = text.replacen("[input]", "[/input]", 1);
        assert_eq!(ours(&mut executor, input.as_bytes())?, (text, code), "{input:?}");
    }
    Ok(())
}
