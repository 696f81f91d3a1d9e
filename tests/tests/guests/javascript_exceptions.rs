//! What Emscripten leaves to JavaScript, exceptions of C++ and `longjmp`, is linked to the module: it behaves as under
//! Node.

use anyhow::{Context as _, Result, ensure};
use fuzzbox::sandbox::{Executor, Target, completed};
use fuzzbox::settings::Settings;
use fuzzbox_tests::workspace;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {stderr}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Inputs of up to 23 bytes, most of them small numbers: the same in every run.
fn inputs(count: usize) -> Vec<Vec<u8>> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) % below
    };
    let mut inputs = vec![Vec::new()];
    while inputs.len() < count {
        let len = next(24);
        inputs.push((0..len).map(|_| next(256) as u8).collect());
    }
    inputs
}

/// Builds a file of `tests/guests/javascript_exceptions` by `emcc`, and compares it with Node on 500 inputs.
#[track_caller]
fn compare(file: &str, flags: &[&str]) -> Result<()> {
    const INPUTS: usize = 500;
    let sources = workspace().join("tests/guests/javascript_exceptions");
    let dir = tempfile::tempdir()?;
    let script = dir.path().join("guest.js");
    let usual = ["-O1", "-sEXPORTED_FUNCTIONS=_run,_malloc,_free", "-sENVIRONMENT=node", "-sMODULARIZE", "-o"];
    run(Command::new("emcc").arg(sources.join(file)).args(flags).args(usual).arg(&script))?;
    let inputs = inputs(INPUTS);
    let list = dir.path().join("inputs.json");
    std::fs::write(&list, serde_json::to_vec(&inputs)?)?;
    let node = run(Command::new("node").arg(sources.join("run.js")).args([&script, &list]))?;
    let node: Vec<(String, String)> = serde_json::from_str(&node)?;
    let ours = ours(&dir.path().join("guest.wasm"), &inputs)?;
    ensure!(node.iter().any(|(how, _)| how == "failed") && node.iter().any(|(how, _)| how == "ok"), "one-sided");
    for ((input, node), ours) in inputs.iter().zip(&node).zip(&ours) {
        assert_eq!(node, ours, "{input:?}");
    }
    Ok(())
}

fn ours(module: &Path, inputs: &[Vec<u8>]) -> Result<Vec<(String, String)>> {
    let bytes = std::fs::read(module)?;
    let bytes = completed(&bytes, "")?.context("it leaves exceptions to JavaScript")?;
    let settings = Settings { entry: Some("run".to_owned()), ..Settings::default() };
    let mut executor = Executor::new(&Arc::new(Target::load(&bytes, settings)?))?;
    let mut ended = Vec::new();
    for input in inputs {
        let how = if executor.run(input)?.failure().is_some() { "failed" } else { "ok" };
        let printed = String::from_utf8_lossy(executor.observation().stdout()).trim_end_matches('\n').to_owned();
        ended.push((how.to_owned(), printed));
    }
    Ok(ended)
}

#[test]
#[ignore = "needs emscripten (110 MB from Debian) and node"]
fn exceptions_by_javascript_behave_as_under_node() -> Result<()> {
    compare("throws.cc", &["-fexceptions", "-sALLOW_MEMORY_GROWTH"])
}

#[test]
#[ignore = "needs emscripten (110 MB from Debian) and node"]
fn jumps_by_javascript_behave_as_under_node() -> Result<()> {
    compare("jumps.c", &[])
}
