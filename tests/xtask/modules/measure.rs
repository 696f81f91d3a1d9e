//! Rewrites a module in a process of its own, so that time and memory are those of the rewriting alone.

use anyhow::{Context as _, Result, bail};
use fuzzbox_instrument::{Options, instrument, output_features};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// All ways to rewrite a module, by name.
pub fn variants() -> Vec<(&'static str, Options)> {
    vec![
        ("full", Options::full()),
        ("fast", Options::fast((0..1 << 16).step_by(5).collect())),
        ("traced", Options::traced()),
    ]
}

/// What rewriting a module took and gave.
#[derive(Clone, Debug)]
pub struct Measured {
    /// From bytes to bytes, reading and writing files not included; the rewriter's own validations are.
    pub wall: Duration,
    /// CPU time of all threads meanwhile.
    pub cpu: Duration,
    /// The most memory that was resident (the process's high-water mark), input and output included, in bytes.
    pub peak_bytes: u64,
    /// Size of the rewritten module.
    pub bytes: u64,
    /// Functions with a body.
    pub functions: u64,
    /// Edges that are known.
    pub edges: u64,
    /// Another validation of the result, on one thread.
    pub validation: Duration,
    /// The name under which the injected memory is exported.
    pub injected: String,
}

/// Has a child of this program rewrite `file` to `out`. An error says why that failed, a panic included.
pub(super) fn in_child(file: &Path, variant: &str, out: &Path) -> Result<Measured> {
    let program = std::env::current_exe().context("failed to find this program")?;
    let mut child = Command::new(program);
    child.args(["modules", "--variant", variant, "--one"]).arg(file).arg("--out").arg(out);
    let output = child.stdin(Stdio::null()).output().context("failed to start this program again")?;
    if !output.status.success() {
        bail!("{} ({})", String::from_utf8_lossy(&output.stderr).trim_end(), output.status);
    }
    Measured::read(&serde_json::from_slice(&output.stdout).context("failed to read what was measured")?)
}

/// Rewrites `file` to `out`, if that is given, and says what that took: the child's part. Only for Linux.
///
/// Errors if the module can't be rewritten, or isn't valid then.
pub fn here(file: &Path, variant: &str, out: Option<&Path>) -> Result<Measured> {
    let variants = variants();
    let (_, options) = variants
        .iter()
        .find(|(name, _)| *name == variant)
        .with_context(|| format!("no variant is called `{variant}`"))?;
    let wasm = super::read(file)?;
    let (cpu, start) = (cpu_time()?, Instant::now());
    let new = instrument(&wasm, options)?;
    let (wall, cpu) = (start.elapsed(), cpu_time()?.saturating_sub(cpu));
    let peak_bytes = peak_bytes()?;

    let start = Instant::now();
    wasmparser::Validator::new_with_features(output_features())
        .validate_all(&new.wasm)
        .context("the rewritten module is invalid")?;
    let validation = start.elapsed();
    if let Some(out) = out {
        fs::write(out, &new.wasm).with_context(|| format!("failed to write `{}`", out.display()))?;
    }
    Ok(Measured {
        wall,
        cpu,
        peak_bytes,
        bytes: new.wasm.len() as u64,
        functions: functions(&new.wasm)?,
        edges: new.edges.edges.len() as u64,
        validation,
        injected: new.injected.memory_export,
    })
}

impl Measured {
    /// For the parent; durations in nanoseconds.
    pub fn write(&self) -> Value {
        json!({
            "wall_ns": nanos(self.wall),
            "cpu_ns": nanos(self.cpu),
            "peak_bytes": self.peak_bytes,
            "bytes": self.bytes,
            "functions": self.functions,
            "edges": self.edges,
            "validation_ns": nanos(self.validation),
            "injected": self.injected,
        })
    }

    fn read(value: &Value) -> Result<Self> {
        let number = |name: &str| value[name].as_u64().with_context(|| format!("`{name}` was not measured"));
        Ok(Self {
            wall: Duration::from_nanos(number("wall_ns")?),
            cpu: Duration::from_nanos(number("cpu_ns")?),
            peak_bytes: number("peak_bytes")?,
            bytes: number("bytes")?,
            functions: number("functions")?,
            edges: number("edges")?,
            validation: Duration::from_nanos(number("validation_ns")?),
            injected: value["injected"].as_str().context("`injected` is missing")?.to_owned(),
        })
    }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn functions(wasm: &[u8]) -> Result<u64> {
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        if let wasmparser::Payload::CodeSectionStart { count, .. } = payload? {
            return Ok(count.into());
        }
    }
    Ok(0)
}

/// CPU time of all threads of this process that are still there; exact to a tick of the kernel, 1 to 10 ms.
pub(super) fn cpu_time() -> Result<Duration> {
    let mut sum = 0;
    for task in fs::read_dir("/proc/self/task").context("failed to list threads")? {
        // A thread may end meanwhile.
        let Ok(line) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        sum += line.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0_u64);
    }
    Ok(Duration::from_nanos(sum))
}

fn peak_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("failed to read the peak of memory")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM in /proc/self/status")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().context("VmHWM is no number")?;
    Ok(kib << 10)
}
