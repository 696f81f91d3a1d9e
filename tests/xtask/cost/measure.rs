//! Times variants in turns.

use super::machine::{self, Kept, Machine};
use super::variants::variants;
use anyhow::{Context as _, Result, ensure};
use cpu_time::ThreadTime;
use fuzzbox_instrument::instrument;
use std::time::Duration;

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How often each variant has its turn; at least 1.
    pub rounds: usize,
    /// CPU time of the plain module in a round, at least.
    pub round_time: Duration,
}

/// What was found out about one guest.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The guest's name.
    pub guest: String,
    /// How many seeds it reads.
    pub seeds: usize,
    /// Executions of the plain module in a second of CPU time, the median over the rounds.
    pub plain_execs_per_second: f64,
    /// What it is compared with.
    pub variants: Vec<VariantCost>,
}

/// A variant, compared with the plain module.
#[derive(Clone, Debug)]
pub struct VariantCost {
    /// The variant's name.
    pub name: &'static str,
    /// CPU time divided by that of the plain module: the median over the rounds.
    pub time: f64,
    /// The first and the third quartile of the same.
    pub time_quartiles: [f64; 2],
    /// Size of the code section divided by that of the plain module.
    pub wasm_code: f64,
    /// Size of the machine code divided by that of the plain module.
    pub machine_code: f64,
    /// Edges whose counts are known.
    pub edges: usize,
}

/// Measures all variants of `wasm`.
pub(super) fn measure(guest: &str, wasm: &[u8], seeds: &[Vec<u8>], settings: Settings) -> Result<Cost> {
    ensure!(!seeds.is_empty() && settings.rounds > 0, "there is nothing to run");
    let engine = machine::engine()?;
    let plain = Machine::compile(&engine, wasm, None)?;
    let mut rewritten = Vec::new();
    for (name, options) in variants() {
        let new = instrument(wasm, &options).with_context(|| format!("failed to make variant `{name}`"))?;
        let machine = Machine::compile(&engine, &new.wasm, Some(&new.injected))
            .with_context(|| format!("failed to compile variant `{name}`"))?;
        rewritten.push((name, machine, new.edges.edges.len()));
    }

    let work = Work { seeds, passes: passes(&plain, seeds, settings.round_time)? };
    let mut plain_times = Vec::new();
    let mut ratios = vec![Vec::new(); rewritten.len()];
    for _ in 0..settings.rounds {
        let plain_time = work.time(&plain).context("the plain module failed")?;
        plain_times.push(plain_time);
        for ((name, machine, _), ratios) in rewritten.iter().zip(&mut ratios) {
            let time = work.time(machine).with_context(|| format!("variant `{name}` failed"))?;
            ratios.push(time / plain_time);
        }
    }

    let size = |bytes: usize, plain: usize| bytes as f64 / plain as f64;
    let compare = |((name, machine, edges), mut ratios): ((_, Machine, _), Vec<f64>)| VariantCost {
        name,
        time: quantile(&mut ratios, 2),
        time_quartiles: [quantile(&mut ratios, 1), quantile(&mut ratios, 3)],
        wasm_code: size(machine.wasm_code_bytes, plain.wasm_code_bytes),
        machine_code: size(machine.machine_code_bytes, plain.machine_code_bytes),
        edges,
    };
    Ok(Cost {
        guest: guest.to_owned(),
        seeds: seeds.len(),
        plain_execs_per_second: (work.passes * seeds.len()) as f64 / quantile(&mut plain_times, 2),
        variants: rewritten.into_iter().zip(ratios).map(compare).collect(),
    })
}

/// What everybody has to do in a round.
struct Work<'a> {
    seeds: &'a [Vec<u8>],
    /// How often each seed is run.
    passes: usize,
}

impl Work<'_> {
    /// CPU time that a new instance needs for it, in seconds.
    fn time(&self, machine: &Machine) -> Result<f64> {
        let mut kept = warm(machine, self.seeds)?;
        let start = ThreadTime::now();
        for _ in 0..self.passes {
            kept.run(self.seeds)?;
        }
        Ok(start.elapsed().as_secs_f64())
    }
}

/// An instance that has seen all seeds.
fn warm(machine: &Machine, seeds: &[Vec<u8>]) -> Result<Kept> {
    let mut kept = machine.start(seeds.iter().map(Vec::len).max().unwrap_or_default())?;
    kept.refuel()?;
    kept.run(seeds)?;
    kept.refuel()?;
    Ok(kept)
}

/// How often all seeds have to be run so that it takes at least `time`.
fn passes(machine: &Machine, seeds: &[Vec<u8>], time: Duration) -> Result<usize> {
    let mut kept = warm(machine, seeds)?;
    let (mut passes, start) = (0, ThreadTime::now());
    loop {
        kept.run(seeds)?;
        passes += 1;
        if start.elapsed() >= time {
            return Ok(passes);
        }
    }
}

/// The value below which `quarter` quarters of the values are, linear between neighbours.
pub(crate) fn quantile(values: &mut [f64], quarter: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let position = (values.len() - 1) * quarter;
    let (below, rest) = (position / 4, (position % 4) as f64 / 4.0);
    let above = values[(below + 1).min(values.len() - 1)];
    values[below] + (above - values[below]) * rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_of_an_example_is_compared() {
        let wasm = std::fs::read(crate::example("first-bug").unwrap()).unwrap();
        let settings = Settings { rounds: 3, round_time: Duration::from_micros(100) };
        let cost = measure("first-bug", &wasm, &[b"a".to_vec(), Vec::new()], settings).unwrap();
        assert_eq!((cost.seeds, cost.variants.len()), (2, variants().len()));
        for variant in &cost.variants {
            assert!(variant.time > 0.0 && variant.edges > 0 && variant.wasm_code > 1.0, "{variant:?}");
        }
    }

    #[test]
    fn an_input_that_traps_is_an_error() {
        let wasm = wat::parse_str(
            r#"(module (memory (export "memory") 1)
                (func (export "malloc") (param i32) (result i32) i32.const 8)
                (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) unreachable))"#,
        );
        let settings = Settings { rounds: 1, round_time: Duration::ZERO };
        let error = measure("trap", &wasm.unwrap(), &[Vec::new()], settings).unwrap_err();
        assert!(format!("{error:#}").contains("unreachable"), "{error:#}");
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&mut [3.0], 1), 3.0);
        assert_eq!(quantile(&mut [4.0, 2.0], 2), 3.0);
        assert_eq!(quantile(&mut [5.0, 1.0, 3.0], 2), 3.0);
        assert_eq!(quantile(&mut [5.0, 1.0, 3.0], 1), 2.0);
        assert_eq!(quantile(&mut [5.0, 1.0, 3.0], 3), 4.0);
    }
}
