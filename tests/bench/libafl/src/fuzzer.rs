//! LibAFL put together for one core as its own benchmark is: hit counts of edges, MOpt over havoc and tokens, powers by
//! AFLFast over a weighted corpus, and one comparison after the other replaced by what it was compared with.
//!
//!     program OUT SEEDS [DICTIONARY]
//!
//! It ends when it is interrupted, or with `UNTIL_CRASH` once something crashed: inputs lie in `OUT/queue`, crashes in
//! `OUT/crashes`.

use libafl::corpus::{InMemoryOnDiskCorpus, OnDiskCorpus};
use libafl::events::SimpleRestartingEventManager;
use libafl::executors::{ExitKind, InProcessExecutor, ShadowExecutor};
use libafl::feedbacks::{CrashFeedback, MaxMapFeedback};
use libafl::inputs::{BytesInput, HasTargetBytes};
use libafl::monitors::NopMonitor;
use libafl::mutators::token_mutations::I2SRandReplace;
use libafl::mutators::{HavocScheduledMutator, StdMOptMutator, Tokens, havoc_mutations, tokens_mutations};
use libafl::observers::{CanTrack, HitcountsMapObserver, TimeObserver};
use libafl::schedulers::powersched::PowerSchedule;
use libafl::schedulers::{IndexesLenTimeMinimizerScheduler, StdWeightedScheduler};
use libafl::stages::{CalibrationStage, ShadowTracingStage, StdMutationalStage, StdPowerMutationalStage};
use libafl::state::{HasMaxSize, StdState};
use libafl::{Error, Fuzzer, HasMetadata, StdFuzzer};
use libafl_bolts::os::dup_and_mute_outputs;
use libafl_bolts::rands::StdRand;
use libafl_bolts::shmem::{ShMemProvider, StdShMemProvider};
use libafl_bolts::tuples::{Merge, tuple_list};
use libafl_targets::{
    CmpLogObserver, autotokens, libfuzzer_initialize, libfuzzer_test_one_input, std_edges_map_observer,
};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::FromRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The longest input where no seed is longer, as libFuzzer has it.
const LEN_MAX: usize = 4096;
/// An execution that takes longer is given up.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Called by the `main` that LibAFL's own part brings.
#[unsafe(no_mangle)]
pub extern "C" fn libafl_main() {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (Some(out), Some(seeds)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: program OUT SEEDS [DICTIONARY]");
        process::exit(2);
    };
    let dictionary = arguments.next();
    // What starts fuzzing processes again takes an interrupt for itself and goes on until they end. So they are another
    // process's children, which an interrupt ends, and which they end with.
    let mut status = 1;
    // SAFETY: there is one thread, and `status` outlives the call that writes it.
    unsafe {
        if libc::fork() == 0 {
            end_with_parent();
            let fuzzed = fuzz(&out, &seeds, dictionary.as_deref());
            process::exit(if fuzzed.is_ok() { 0 } else { 1 });
        }
        libc::wait(&raw mut status);
    }
    process::exit(i32::from(status != 0));
}

/// This process is killed when its parent is no more.
fn end_with_parent() {
    // SAFETY: numbers alone are given.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

fn fuzz(out: &Path, seeds: &Path, dictionary: Option<&Path>) -> Result<(), Error> {
    // What harnesses print is nobody's.
    // SAFETY: nobody else holds these descriptors.
    let (_, stderr) = unsafe { dup_and_mute_outputs()? };
    // SAFETY: it is a descriptor that was made for it.
    let mut stderr = unsafe { File::from_raw_fd(stderr) };
    let fuzzed = fuzz_unheard(out, seeds, dictionary);
    fuzzed.inspect_err(|error| drop(writeln!(stderr, "error: {error}")))
}

fn fuzz_unheard(out: &Path, seeds: &Path, dictionary: Option<&Path>) -> Result<(), Error> {
    // From here on there are two processes: one fuzzes, and one starts another after a crash, which goes on.
    let (state, mut manager) =
        match SimpleRestartingEventManager::launch(NopMonitor::new(), &mut StdShMemProvider::new()?, true) {
            Err(Error::ShuttingDown) => return Ok(()),
            launched => launched?,
        };
    end_with_parent();
    let crashes = out.join("crashes");
    if env::var_os("UNTIL_CRASH").is_some() && fs::read_dir(&crashes).is_ok_and(|mut files| files.next().is_some()) {
        // SAFETY: two calls that take numbers; the parent is the process that would start another one.
        unsafe {
            libc::kill(libc::getppid(), libc::SIGKILL);
            libc::_exit(0);
        }
    }

    // SAFETY: the map is the harness's own, of which there is one.
    let edges = HitcountsMapObserver::new(unsafe { std_edges_map_observer("edges") }).track_indices();
    let mut feedback = MaxMapFeedback::new(&edges);
    let calibration = CalibrationStage::new(&feedback);
    let mut objective = CrashFeedback::new();
    let mut state = match state {
        Some(state) => state,
        None => StdState::new(
            StdRand::new(),
            InMemoryOnDiskCorpus::with_meta_format_and_prefix(&out.join("queue"), None, None, false)?,
            OnDiskCorpus::with_meta_format_and_prefix(&crashes, None, None, false)?,
            &mut feedback,
            &mut objective,
        )?,
    };
    state.set_max_size(longest(seeds)?.max(LEN_MAX));

    let replaced = HavocScheduledMutator::new(tuple_list!(I2SRandReplace::new()));
    let havoc = StdMOptMutator::new(&mut state, havoc_mutations().merge(tokens_mutations()), 7, 5)?;
    let power: StdPowerMutationalStage<_, _, BytesInput, _, _, _> = StdPowerMutationalStage::new(havoc);
    let weighted = StdWeightedScheduler::with_schedule(&mut state, &edges, Some(PowerSchedule::fast()));
    let mut fuzzer = StdFuzzer::new(IndexesLenTimeMinimizerScheduler::new(&edges, weighted), feedback, objective);

    // SAFETY: harnesses are initialised once in each process, before their first execution.
    unsafe { libfuzzer_initialize(&env::args().collect::<Vec<_>>()) };
    let mut harness = |input: &BytesInput| {
        // SAFETY: what it does to this process is what is looked for.
        unsafe { libfuzzer_test_one_input(&input.target_bytes()) };
        ExitKind::Ok
    };
    let executor = InProcessExecutor::builder()
        .timeout(TIMEOUT)
        .harness(&mut harness)
        .observers(tuple_list!(edges, TimeObserver::new("time")))
        .fuzzer(&mut fuzzer)
        .state(&mut state)
        .event_mgr(&mut manager)
        .build()?;
    let mut executor = ShadowExecutor::new(executor, tuple_list!(CmpLogObserver::new("compared", true)));
    let mut stages = tuple_list!(calibration, ShadowTracingStage::new(), StdMutationalStage::new(replaced), power);

    if !state.has_metadata::<Tokens>() {
        let mut tokens = Tokens::from(autotokens()?);
        if let Some(dictionary) = dictionary {
            tokens.add_from_file(dictionary)?;
        }
        state.add_metadata(tokens);
    }
    if state.must_load_initial_inputs() {
        let folders = [seeds.to_owned()];
        state.load_initial_inputs(&mut fuzzer, &mut executor, &mut manager, &folders)?;
    }
    fuzzer.fuzz_loop(&mut stages, &mut executor, &mut state, &mut manager)
}

/// The length of the longest file of a folder.
fn longest(folder: &Path) -> Result<usize, Error> {
    let lengths = fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len()));
    let longest = lengths.collect::<Result<Vec<_>, std::io::Error>>()?.into_iter().max();
    Ok(longest.map_or(0, |len| usize::try_from(len).unwrap_or(usize::MAX)))
}
