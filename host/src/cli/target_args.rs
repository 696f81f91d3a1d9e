//! The flags that say what a target is and under which limits it is executed.

use super::compiling;
use super::exit::{Fault, UserError};
use super::glue;
use super::linking::LinkArgs;
use super::module_file::{in_file, read_module};
use super::naming::default_name;
use super::write::shown;
use crate::report::Reporter;
use crate::sandbox::{Candidate, Code, CodeCache, Target, fuel_per_second, recipe_subject};
use crate::settings::{Checks, EntryArgs, Settings, Stub};
use crate::text::size;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// What can change an outcome. Everything here becomes [`Settings`] and is stored with each finding.
#[derive(Clone, Debug, Args)]
pub(super) struct TargetArgs {
    #[command(flatten)]
    harness: HarnessArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// What of a module is executed.
#[derive(Clone, Debug, Default, Args)]
struct HarnessArgs {
    /// Export to fuzz [default: LLVMFuzzerTestOneInput, else _start; of a component, its only function over list<u8> or
    /// string, else wasi:cli/run]. A function of an interface is `ns:package/interface#function`
    #[arg(long, value_name = "EXPORT", help_heading = "Target")]
    entry: Option<String>,
    #[arg(long, value_name = "HOW", help = EntryArgs::HELP, default_value_t, requires = "entry", help_heading = "Target")]
    entry_args: EntryArgs,
    /// How the module's functions are called, in place of an entry: `p = malloc(len); write(p, input); r = parse(p,
    /// len); free(p); if r < 0 reject`. `inspect` prints such lines; the name of a function that it prints one for will
    /// do, too. MODULES.md has the language
    #[arg(long, value_name = "RECIPE", conflicts_with_all = ["entry", "args", "command_args"], help_heading = "Target")]
    call: Option<String>,
    /// Argument for a WASI command; repeatable. `@@` in it becomes the path of a file that holds the input; without
    /// any, the input is on stdin
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true, help_heading = "Target")]
    args: Vec<String>,
    /// The same without --arg: `-- -x @@`
    #[arg(last = true, value_name = "ARG", help_heading = "Target")]
    command_args: Vec<String>,
    #[command(flatten)]
    linking: LinkArgs,
}

/// How it is executed, and for how long.
#[derive(Clone, Debug, Args)]
pub(super) struct LimitArgs {
    /// Call the entry with the empty input once, and begin every execution with what that left
    #[arg(long, help_heading = "Target")]
    warm_up: bool,
    /// Heap that a target's allocator takes before the first execution, so that executions grow it less often; 0 for
    /// none
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = bytes, help_heading = "Target")]
    grow_heap: u64,
    /// What imports do that nobody provides
    #[arg(long, value_name = "WHAT", help_heading = "Target")]
    stub_imports: Option<Stub>,
    /// Exiting with a code other than 0 is a crash
    #[arg(long, help_heading = "Target")]
    crash_on_exit: bool,
    #[arg(long, value_name = "CHECKS", help = Checks::help(), default_value_t, help_heading = "Target")]
    checks: Checks,
    /// Longest input
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = bytes, help_heading = "Limits")]
    input_bytes_max: u64,
    /// Linear memory a target may have; a growth beyond it fails
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = bytes, help_heading = "Limits")]
    memory_max: u64,
    /// Fuel (about one unit per instruction) after which an execution is a hang
    #[arg(long, value_name = "UNITS", default_value_t = Settings::default().fuel_max, help_heading = "Limits")]
    fuel_max: u64,
    /// The same as a time, such as 500ms: as much fuel as this machine takes in it, which is measured and told
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "fuel_max", help_heading = "Limits")]
    timeout: Option<Duration>,
    /// Execute nothing before a large module is compiled with all optimisation: wasmtime does not vouch for the faster
    /// compiler, in whose code campaigns begin, against modules that are made to harm
    #[arg(long, help_heading = "Target")]
    no_quick_code: bool,
    /// What --timeout is here.
    #[arg(skip)]
    measured: OnceLock<u64>,
}

/// Parses a size: `4096`, `64KiB`, `1MiB`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    text.parse::<bytesize::ByteSize>()
        .map(|size| size.as_u64())
        .map_err(|_| "a size is a number with a unit, such as 64KiB or 1MiB".to_owned())
}

/// Parses a duration, which is longer than nothing: `30s`, `10m`, `1h 30m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("it must be longer than nothing, such as 30s or 10m".to_owned()),
        Ok(duration) => Ok(duration),
        Err(_) => Err("a duration is a number with a unit, such as 30s, 10m or 8h".to_owned()),
    }
}

impl From<LimitArgs> for TargetArgs {
    /// The harness that a module has.
    fn from(limits: LimitArgs) -> Self {
        Self { harness: HarnessArgs::default(), limits }
    }
}

impl TargetArgs {
    /// Whether large modules may begin in code that is compiled in a hurry.
    pub(super) fn quick_code(&self) -> bool {
        !self.limits.no_quick_code
    }

    /// What was typed, as what it means.
    pub(super) fn settings(&self) -> Result<Settings, Fault> {
        let HarnessArgs { entry, entry_args, call, args, command_args, linking: _ } = self.harness.clone();
        let settings = self.limits.settings()?;
        Ok(Settings { entry, entry_args, call, args: [args, command_args].concat(), ..settings })
    }

    /// What is called, if that was chosen: the entry, or what a recipe is for.
    pub(super) fn entry(&self) -> Option<String> {
        chosen(self.harness.entry.as_deref(), self.harness.call.as_deref())
    }

    /// Reads the module at `path`, and finds out whether it can be a target.
    pub(super) fn candidate(&self, path: &Path) -> Result<Candidate, Fault> {
        linked_candidate(path, self.settings()?, &self.harness.linking)
    }

    /// What is linked to the target.
    pub(super) fn linking(&self) -> &LinkArgs {
        &self.harness.linking
    }

    /// The module at `path` whose bytes these are, as it is executed: with what is linked to it. And its JavaScript.
    pub(super) fn completed(&self, path: &Path, bytes: Vec<u8>) -> Result<(Vec<u8>, String), Fault> {
        let glue = glue::beside(path);
        Ok((self.harness.linking.linked(path, bytes, &glue)?, glue))
    }
}

impl LimitArgs {
    /// What was typed, for the harness that a module has.
    fn settings(&self) -> Result<Settings, Fault> {
        let input_bytes_max = u32::try_from(self.input_bytes_max).ok().filter(|&max| max <= Settings::INPUT_BYTES_MAX);
        let check = || {
            ensure!(
                self.memory_max <= Settings::MEMORY_BYTES_MAX,
                "--memory-max can be at most {}",
                size(Settings::MEMORY_BYTES_MAX)
            );
            ensure!(
                self.grow_heap <= Settings::GROW_HEAP_BYTES_MAX.into(),
                "--grow-heap can be at most {}",
                size(Settings::GROW_HEAP_BYTES_MAX.into())
            );
            ensure!((1..=Settings::FUEL_MAX).contains(&self.fuel_max), "--fuel-max can be 1 to {}", Settings::FUEL_MAX);
            input_bytes_max
                .with_context(|| format!("--input-bytes-max can be at most {}", size(Settings::INPUT_BYTES_MAX.into())))
        };
        let (input_bytes_max, fuel_max) = (check().blame_user()?, self.fuel_max().blame_user()?);
        Ok(Settings {
            input_bytes_max,
            memory_bytes_max: self.memory_max,
            fuel_max,
            stub_imports: self.stub_imports,
            crash_on_exit: self.crash_on_exit,
            grow_heap_bytes: u32::try_from(self.grow_heap).expect("checked above"),
            checks: self.checks,
            warm_up: self.warm_up,
            ..Settings::default()
        })
    }

    /// The limit on fuel that was typed, or what was typed as a time in fuel. That is measured and told once.
    fn fuel_max(&self) -> Result<u64> {
        let Some(time) = self.timeout else { return Ok(self.fuel_max) };
        if let Some(&measured) = self.measured.get() {
            return Ok(measured);
        }
        let shown = humantime::format_duration(time);
        let (fuel_max, longest) = fuel_of(time, fuel_per_second());
        let fuel_max = fuel_max.with_context(|| {
            let longest = humantime::format_duration(longest);
            format!(
                "--timeout {shown} is too long: here it can be at most {longest}, which is --fuel-max {}",
                Settings::FUEL_MAX
            )
        })?;
        super::write::tell(&format!("--timeout {shown} is --fuel-max {fuel_max} here"));
        Ok(*self.measured.get_or_init(|| fuel_max))
    }
}

/// What is called, if that was chosen.
fn chosen(entry: Option<&str>, call: Option<&str>) -> Option<String> {
    entry.map(str::to_owned).or_else(|| recipe_subject(call?))
}

/// How much fuel code takes in `time`, to two digits: the next measurement is another one anyway. `None` if that is
/// more than there can be. And what the most takes, rounded down.
fn fuel_of(time: Duration, per_second: f64) -> (Option<u64>, Duration) {
    let longest = Duration::from_millis((Settings::FUEL_MAX as f64 / per_second * 1000.0) as u64);
    let units = time.as_secs_f64() * per_second;
    let digit = 10_f64.powf((units.max(1.0).log10().floor() - 1.0).max(0.0));
    let rounded = ((units / digit).round() * digit).max(1.0);
    let fits = units <= Settings::FUEL_MAX as f64;
    (fits.then(|| (rounded as u64).min(Settings::FUEL_MAX)), longest)
}

/// Reads the module at `path`, and finds out whether it can be a target under `settings`. What else can be refused is
/// to be refused before [`compile`] is called.
pub(super) fn candidate(path: &Path, settings: Settings) -> Result<Candidate, Fault> {
    linked_candidate(path, settings, &LinkArgs::default())
}

/// As [`candidate`], with what is linked to it.
pub(super) fn linked_candidate(path: &Path, settings: Settings, linking: &LinkArgs) -> Result<Candidate, Fault> {
    let shown = shown(path);
    let bytes = read_module(path).with_context(|| format!("failed to read target `{shown}`")).blame_user()?;
    // What is called by a recipe has no other harness; only then does its glue matter.
    let is_library = settings.call.is_some() || linking.is_given();
    let glue = if is_library { glue::beside(path) } else { String::new() };
    let bytes = linking.linked(path, bytes, &glue)?;
    let candidate = Candidate::with_glue(&bytes, settings, &glue).map_err(|error| in_file(error, path));
    candidate.with_context(|| format!("failed to load target `{shown}`")).blame_user()
}

/// Compiles what was read from `path`, large modules in a hurry if that is `quick`; `reporter` is told while that takes
/// its time. What it executes before it is given any input is ended after `limit`.
pub(super) fn compile(
    path: &Path,
    candidate: Candidate,
    (cache, quick, limit): (&CodeCache, bool, Option<Duration>),
    reporter: &mut dyn Reporter,
) -> Result<Target, Fault> {
    let Settings { entry, call, .. } = &candidate.settings;
    let name = default_name(path, chosen(entry.as_deref(), call.as_deref()).as_deref());
    let code = if quick { candidate.code_to_begin_with() } else { Code::Optimised };
    compiling::compile(&name, candidate, (cache, code, limit), reporter)?
        .with_context(|| format!("failed to load target `{}`", shown(path)))
        .blame_user()
}

/// As [`compile`], for what is executed often, or fails: that is for optimised code. The verb's output is its result.
pub(super) fn optimise(path: &Path, candidate: Candidate, cache: &CodeCache) -> Result<Target, Fault> {
    compile(path, candidate, (cache, false, None), &mut compiling::live())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations_have_units() {
        assert_eq!(
            ["30s", "10m", "1h 30m", "250ms"].map(|text| duration(text).unwrap().as_millis()),
            [30_000, 600_000, 5_400_000, 250]
        );
        for bad in ["5", "abc", "", "-1s", "1 fortnight", "99999999999999999999s"] {
            assert!(duration(bad).unwrap_err().contains("30s, 10m"), "{bad}");
        }
        assert!(duration("0s").unwrap_err().contains("longer than nothing"));
        assert_eq!([bytes("64KiB"), bytes("1MiB"), bytes("10")], [Ok(65_536), Ok(1 << 20), Ok(10)]);
        assert!(bytes("much").is_err());
    }

    #[test]
    fn a_time_is_fuel_in_two_digits_up_to_what_there_can_be() {
        let fuel = |ms| fuel_of(Duration::from_millis(ms), 3_210_000_000.0);
        assert_eq!(fuel(1_000).0, Some(3_200_000_000));
        assert_eq!(fuel(100).0, Some(320_000_000));
        assert_eq!(fuel(0).0, Some(1));
        let (none, longest) = fuel(1_400_000);
        assert_eq!(none, None);
        assert!(fuel(u64::try_from(longest.as_millis()).unwrap()).0.is_some(), "{longest:?}");
    }
}
