//! What a shell script would otherwise do: `cargo run -p fuzzbox-tests --bin xtask -- guests`.

use anyhow::Result;
use clap::{Parser, Subcommand};
use fuzzbox_tests::guests::{self, EXAMPLES, OUTSIDE};
use fuzzbox_tests::{cost, guest, seeds};
use std::process::ExitCode;
use std::time::Duration;

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
    /// Build tests/guests/recompile, every edit once, and put the modules where they are committed
    Recompile,
    /// Compare the CPU time of rewritten guests with that of the plain ones; all that have seeds for it if none is named
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
        Task::Recompile => {
            guests::recompile()?.iter().for_each(|module| println!("{} is new", module.display()));
            Ok(())
        }
        Task::Cost { guests, json, rounds, round_ms } => {
            let round_time = Duration::from_millis(round_ms);
            measure(&guests, json, cost::Settings { rounds: rounds.into(), round_time })
        }
    }
}

fn measure(guests: &[String], json: bool, settings: cost::Settings) -> Result<()> {
    let all = || cost::GUESTS.iter().map(|&name| name.to_owned()).collect();
    let guests: Vec<String> = if guests.is_empty() { all() } else { guests.to_vec() };
    let costs = guests.iter().map(|guest| cost::measure(guest, settings)).collect::<Result<Vec<_>>>()?;
    if json {
        println!("{:#}", cost::json(&costs));
    } else {
        print!("{}", cost::table(&costs));
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
