//! What a shell script would otherwise do: `cargo run -p fuzzbox-tests --bin xtask -- guests`.

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use fuzzbox_tests::guests::{self, EXAMPLES, OUTSIDE};
use fuzzbox_tests::search::{self, Goal, Start};
use fuzzbox_tests::{bench, cost, guest, modules, seeds, survival, tmin};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What the command has, so that what is measured in this process is what campaigns do.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "xtask", about = "Chores of fuzzbox's own repository")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build guests from source into target/guests; all that tests fuzz if none is named
    Guests {
        names: Vec<String>,
        /// Then copy the examples over the committed modules
        #[arg(long)]
        bless: bool,
    },
    /// Write a guest's ten valid documents into target/guests/seeds and print the folder's path
    Seeds { guest: String },
    /// Rewrite real modules from npm and PyPI in every variant, and run the commands among them before and after.
    ///
    /// Wants --release, 270 MB of downloads the first time, 8 GiB of memory and a quarter of an hour; less by name
    Modules(Modules),
    /// Build tests/guests/recompile, every edit once, and put the modules where they are committed
    Recompile,
    /// Compare executions per CPU second with those of libFuzzer, AFL++, wasm2c and native code, on five programs.
    ///
    /// Wants --release and a quiet machine. Builds what it compares with clang, AFL++ and wasm2c; leaves out those that
    /// are not installed and says what to type
    Bench(Bench),
    /// Compare the same campaign by one worker and by two, in wall time, on five programs.
    ///
    /// Wants --release, a quiet machine and two cores
    Scale {
        /// Which; all that have seeds for it if none is named. Any other as MODULE=FOLDER, with inputs in that folder
        guests: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Turns
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
        /// About the wall time of a campaign with one worker, in seconds
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
        seconds: u64,
        /// Say in the place of that how well 1 to 64 cores would be used, by what a campaign with one worker takes
        #[arg(long)]
        model: bool,
    },
    /// Compare what is found in the same CPU time with what libFuzzer, AFL++ and LibAFL find, on five programs or others.
    ///
    /// Wants --release and a quiet machine. Builds AFL++ 4.40c and LibAFL from crates.io, for which clang's llvm-config
    /// and headers, make and a C++ compiler have to be there
    Search(Search),
    /// Compare how small crashes become, and after how many executions, with afl-tmin and libFuzzer, on twelve parsers.
    ///
    /// Builds them with clang and AFL++, and says what to type if those are not installed
    Tmin {
        /// Which; all if none is named
        crashes: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Executions without a smaller crash after which libFuzzer gives up
        #[arg(long, default_value_t = 10_000)]
        libfuzzer_runs: u64,
        /// Compiler of native code; guests are built with their own
        #[arg(long, default_value = "clang-22")]
        clang: String,
    },
    /// Fuzz programs, edit them, and say what is left of what was learned: inputs, edges, findings.
    ///
    /// Wants --release, clang and an hour for all of it; FUZZBOX_BINARY names the command
    Survival {
        /// Which; all if none is named
        programs: Vec<String>,
        /// A JSON object for each edit instead of the table
        #[arg(long)]
        json: bool,
        /// Executions on each program before it is edited
        #[arg(long, default_value_t = 1_000_000)]
        execs: u64,
        /// Executions from nothing on each edited program, for comparison; 0 for none
        #[arg(long, default_value_t = 1_000_000)]
        fresh_execs: u64,
    },
    /// Compare the CPU time of rewritten guests with that of the plain ones; all that have seeds for it if none is
    /// named
    Cost {
        guests: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Turns of each variant
        #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
        /// CPU time of the plain module in a round, in milliseconds
        #[arg(long, default_value_t = 200)]
        round_ms: u64,
    },
}

#[derive(Args)]
struct Bench {
    /// Which; all that have seeds for it if none is named
    guests: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Turns of each row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// CPU time of a row in a round, in milliseconds
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    round_ms: u64,
    /// CPU time of each fuzzer on each guest; 0 to replay only
    #[arg(long, default_value_t = 60)]
    fuzz_seconds: u64,
    /// Campaigns of each fuzzer on each guest
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    fuzz_rounds: u16,
    /// Compiler of native code; guests are built with their own
    #[arg(long, default_value = "clang-22")]
    clang: String,
}

#[derive(Args)]
struct Search {
    /// Which: guests, C files with a harness, or JSON files that say what a program is made of: `module`, `sources`,
    /// `flags`, `inputs`. All guests that have seeds for it if none is named, or all with a crash
    programs: Vec<String>,
    /// Measure the time until something crashes, instead of edges
    #[arg(long)]
    crashes: bool,
    /// Who fuzzes: fuzzbox, fuzzbox:STRATEGY, libfuzzer, libfuzzer:value-profile, afl, libafl. The first is compared with
    /// the best of the others
    #[arg(long, value_delimiter = ',', default_values = ["fuzzbox", "libfuzzer", "afl", "libafl"])]
    rows: Vec<String>,
    /// What campaigns begin with: both in turn if it isn't said, and nothing for crashes
    #[arg(long)]
    start: Option<SearchStart>,
    /// CPU time of a campaign, each in turn
    #[arg(long, value_delimiter = ',', default_value = "30")]
    seconds: Vec<u64>,
    /// Campaigns of each, with other seeds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Campaigns at the same time: at most one for each core
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    at_once: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Compiler of native code; guests are built with their own
    #[arg(long, default_value = "clang-22")]
    clang: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum SearchStart {
    /// The program's inputs
    Seeds,
    /// One newline
    Nothing,
}

#[derive(Args)]
struct Modules {
    /// Which; all if none is named
    names: Vec<String>,
    /// Only this variant
    #[arg(long)]
    variant: Option<String>,
    /// Do not run the commands
    #[arg(long)]
    no_run: bool,
    /// A JSON object for each module and variant instead of the table
    #[arg(long)]
    json: bool,
    /// Rewrite this file in this process, in the variant named (or the first), and print what that took
    #[arg(long, value_name = "FILE")]
    one: Option<PathBuf>,
    /// Where to write that file, rewritten
    #[arg(long, value_name = "FILE", requires = "one")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            error.chain().skip(1).for_each(|cause| eprintln!("caused by: {cause}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Guests { names, bless } => build_guests(&names, bless),
        Task::Seeds { guest } => {
            println!("{}", seeds::folder(&guest)?.display());
            Ok(())
        }
        Task::Modules(arguments) => rewrite_modules(arguments),
        Task::Recompile => {
            guests::recompile()?.iter().for_each(|module| println!("{} is new", module.display()));
            Ok(())
        }
        Task::Bench(arguments) => compare(arguments),
        Task::Scale { guests, json, rounds, seconds, model } => {
            let guests = or_all(guests);
            let time = Duration::from_secs(seconds);
            if model {
                let modelled = bench::model::run(&guests, time)?;
                if json {
                    println!("{:#}", bench::model::json(&modelled));
                } else {
                    print!("{}", bench::model::table(&modelled));
                }
                return Ok(());
            }
            let scaled = bench::scale::run(&bench::scale::Settings { guests, rounds: rounds.into(), time })?;
            if json {
                println!("{:#}", bench::scale::json(&scaled));
            } else {
                print!("{}", bench::scale::table(&scaled));
            }
            Ok(())
        }
        Task::Search(arguments) => find(arguments),
        Task::Tmin { crashes, json, libfuzzer_runs, clang } => {
            let all = || guests::CRASHES.iter().map(|&name| name.to_owned()).collect();
            let crashes = if crashes.is_empty() { all() } else { crashes };
            let report = tmin::run(&tmin::Settings { crashes, libfuzzer_runs, clang })?;
            if json {
                println!("{:#}", tmin::json(&report));
            } else {
                print!("{}", tmin::table(&report));
            }
            Ok(())
        }
        Task::Survival { programs, json, execs, fresh_execs } => {
            survive(&programs, json, survival::Settings { execs, fresh_execs })
        }
        Task::Cost { guests, json, rounds, round_ms } => {
            let round_time = Duration::from_millis(round_ms);
            measure(&guests, json, cost::Settings { rounds: rounds.into(), round_time })
        }
    }
}

fn survive(programs: &[String], json: bool, settings: survival::Settings) -> Result<()> {
    if !json {
        println!("{}", survival::HEAD);
    }
    for program in guests::PROGRAMS
        .iter()
        .filter(|program| programs.is_empty() || programs.iter().any(|name| name == program.name))
    {
        survival::run(program, settings, |row| match json {
            true => println!("{}", row.json()),
            false => println!("{}", row.text()),
        })?;
    }
    Ok(())
}

/// All guests with seeds if none is named.
fn or_all(guests: Vec<String>) -> Vec<String> {
    if guests.is_empty() { cost::GUESTS.iter().map(|&name| name.to_owned()).collect() } else { guests }
}

fn measure(guests: &[String], json: bool, settings: cost::Settings) -> Result<()> {
    let guests = or_all(guests.to_vec());
    let costs = guests.iter().map(|guest| cost::measure(guest, settings)).collect::<Result<Vec<_>>>()?;
    if json {
        println!("{:#}", cost::json(&costs));
    } else {
        print!("{}", cost::table(&costs));
    }
    Ok(())
}

fn warn_of_debug_build() {
    if cfg!(debug_assertions) {
        eprintln!("this is a debug build, whose figures mean nothing: cargo build --release --workspace");
    }
}

fn compare(arguments: Bench) -> Result<()> {
    warn_of_debug_build();
    let settings = bench::Settings {
        guests: or_all(arguments.guests),
        rounds: arguments.rounds.into(),
        round_time: Duration::from_millis(arguments.round_ms),
        fuzz_time: Duration::from_secs(arguments.fuzz_seconds),
        fuzz_rounds: arguments.fuzz_rounds.into(),
        clang: arguments.clang,
    };
    let report = bench::run(&settings)?;
    if arguments.json {
        println!("{:#}", bench::json(&report));
    } else {
        print!("{}", bench::table(&report));
    }
    Ok(())
}

fn find(arguments: Search) -> Result<()> {
    warn_of_debug_build();
    let starts = match (arguments.start, arguments.crashes) {
        (Some(SearchStart::Seeds), _) => vec![Start::Seeds],
        (Some(SearchStart::Nothing), _) | (None, true) => vec![Start::Nothing],
        (None, false) => vec![Start::Seeds, Start::Nothing],
    };
    let settings = search::Settings {
        programs: arguments.programs,
        goal: if arguments.crashes { Goal::Crash } else { Goal::Edges },
        starts,
        times: arguments.seconds.into_iter().map(Duration::from_secs).collect(),
        rounds: arguments.rounds,
        rows: arguments.rows,
        at_once: arguments.at_once.into(),
        clang: arguments.clang,
    };
    let report = search::run(&settings)?;
    if arguments.json {
        println!("{:#}", search::json(&report));
    } else {
        print!("{}", search::table(&report));
    }
    Ok(())
}

fn build_guests(names: &[String], bless: bool) -> Result<()> {
    let all = || EXAMPLES.iter().chain(OUTSIDE).map(|&name| name.to_owned()).collect();
    let names = if names.is_empty() { all() } else { names.to_vec() };
    for name in &names {
        println!("{}", guest(name)?.display());
        if bless && EXAMPLES.contains(&name.as_str()) && guests::bless(name)? {
            println!("examples/{name}/{name}.wasm is new");
        }
    }
    Ok(())
}

fn rewrite_modules(arguments: Modules) -> Result<()> {
    if let Some(file) = arguments.one {
        let variant = arguments.variant.unwrap_or_else(|| modules::variants()[0].0.to_owned());
        println!("{}", modules::measure::here(&file, &variant, arguments.out.as_deref())?.write());
        return Ok(());
    }
    let order = modules::Order { names: arguments.names, variant: arguments.variant, no_run: arguments.no_run };
    let mut head = Some(modules::HEAD);
    let rows = modules::run(&order, |row| match arguments.json {
        true => println!("{}", modules::json(row)),
        false => {
            head.take().into_iter().for_each(|head| println!("{head}"));
            println!("{}", modules::text(row));
        }
    })?;
    if !arguments.json {
        println!("{}", modules::summary(&rows));
    }
    ensure!(rows.iter().all(modules::Row::is_good), "some modules are not as they should be");
    Ok(())
}
