//! Prints what was measured.

use super::measure::{Cost, VariantCost};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A summary of a variant over all guests.
struct Summary {
    name: &'static str,
    /// Geometric mean of the ratios.
    mean: f64,
    worst: f64,
}

/// The costs as a table for people.
pub fn table(costs: &[Cost]) -> String {
    let mut table =
        String::from("guest     variant     time  (quartiles)   wasm code  machine code  edges    plain k/s\n");
    for cost in costs {
        for variant in &cost.variants {
            let VariantCost { name, time, time_quartiles: [low, high], wasm_code, machine_code, edges } = variant;
            let (guest, speed) = (&cost.guest, cost.plain_execs_per_second / 1e3);
            writeln!(
                table,
                "{guest:<9} {name:<10} {time:>5.3}  ({low:.3}-{high:.3})  {wasm_code:>9.3}  {machine_code:>12.3}  {edges:>5}  {speed:>11.2}"
            )
            .expect("writing to a string");
        }
    }
    for Summary { name, mean, worst } in summaries(costs) {
        writeln!(table, "{name}: geometric mean {mean:.3}, worst {worst:.3}").expect("writing to a string");
    }
    table
}

/// The costs as one JSON object.
pub fn json(costs: &[Cost]) -> Value {
    let variant = |variant: &VariantCost| {
        json!({
            "name": variant.name,
            "time": variant.time,
            "time_quartiles": variant.time_quartiles,
            "wasm_code": variant.wasm_code,
            "machine_code": variant.machine_code,
            "edges": variant.edges,
        })
    };
    let guest = |cost: &Cost| {
        json!({
            "guest": cost.guest,
            "seeds": cost.seeds,
            "plain_execs_per_second": cost.plain_execs_per_second,
            "variants": cost.variants.iter().map(variant).collect::<Vec<_>>(),
        })
    };
    let summary =
        |summary: Summary| json!({ "name": summary.name, "geometric_mean": summary.mean, "worst": summary.worst });
    json!({
        "guests": costs.iter().map(guest).collect::<Vec<_>>(),
        "variants": summaries(costs).into_iter().map(summary).collect::<Vec<_>>(),
    })
}

fn summaries(costs: &[Cost]) -> Vec<Summary> {
    let Some(first) = costs.first() else { return Vec::new() };
    let summary = |index: usize| {
        let times: Vec<f64> = costs.iter().map(|cost| cost.variants[index].time).collect();
        let mean = (times.iter().map(|time| time.ln()).sum::<f64>() / times.len() as f64).exp();
        let worst = times.iter().copied().fold(0.0, f64::max);
        Summary { name: first.variants[index].name, mean, worst }
    };
    (0..first.variants.len()).map(summary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(time: f64) -> Cost {
        let variant = VariantCost {
            name: "full",
            time,
            time_quartiles: [time, time],
            wasm_code: 1.5,
            machine_code: 1.2,
            edges: 10,
        };
        Cost { guest: "cjson".into(), seeds: 3, plain_execs_per_second: 1e5, variants: vec![variant] }
    }

    #[test]
    fn the_summary_has_the_geometric_mean_and_the_worst() {
        let costs = [cost(1.0), cost(4.0)];
        let variant = &json(&costs)["variants"][0];
        assert!((variant["geometric_mean"].as_f64().unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(variant["worst"], 4.0);
        assert!(table(&costs).ends_with("full: geometric mean 2.000, worst 4.000\n"), "{}", table(&costs));
    }

    #[test]
    fn nothing_measured_is_nothing_summarised() {
        assert_eq!(json(&[])["variants"], json!([]));
    }
}
