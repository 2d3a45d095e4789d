//! A plan as tables.

use super::choices::{Choice, Rejected};
use super::figures::Figures;
use crate::markdown::{add, markdown, rendered};
use std::collections::BTreeMap;

/// The best choices, and why the others were left out.
pub(super) fn of(plain: &Figures, choices: &[Choice], rejected: &[Rejected], rows: usize) -> String {
    let mut table = markdown(&[
        "scheme",
        "block",
        "parameters",
        "dollars a month",
        "storage",
        "requests",
        "transfer",
        "times plain",
        "time of an object",
        "store",
        "trusted memory",
        "vault",
    ]);
    let mut row = vec!["no ORAM".to_owned(), String::new(), String::new()];
    row.extend(of_figures(plain, plain));
    row.extend([String::new(), String::new()]);
    add(&mut table, row);
    for choice in choices.iter().take(rows) {
        add(&mut table, of_choice(choice, plain));
    }
    let left = choices.len().saturating_sub(rows);
    let mut text = rendered(&table);
    if left > 0 {
        text.push_str(&format!("\n\n{left} more choices fit, and come behind these."));
    }
    if !rejected.is_empty() {
        text.push_str("\n\nLeft out:\n");
        text.push_str(&of_rejected(rejected));
    }
    text
}

fn of_choice(choice: &Choice, plain: &Figures) -> Vec<String> {
    let mut row = vec![choice.scheme.to_owned(), bytes(choice.block_bytes), choice.parameters.clone()];
    row.extend(of_figures(&choice.figures, plain));
    row.extend([bytes(choice.memory), if choice.flags.is_some() { "yes" } else { "no" }.to_owned()]);
    row
}

fn of_figures(figures: &Figures, plain: &Figures) -> [String; 7] {
    let dollars =
        |dollars: f64| if dollars < 10.0 { format!("{dollars:.3}") } else { format!("{dollars:.2}") };
    let times = if plain.dollars() > 0.0 {
        format!("{:.1}", figures.dollars() / plain.dollars())
    } else {
        String::new()
    };
    [
        dollars(figures.dollars()),
        dollars(figures.bill.storage_per_month),
        dollars(figures.bill.requests),
        dollars(figures.bill.transfer),
        times,
        format!("{:.0} ms", figures.time.as_secs_f64() * 1000.0),
        bytes(figures.stored),
    ]
}

/// A line for each reason, with the block sizes that it holds for.
fn of_rejected(rejected: &[Rejected]) -> String {
    let mut reasons: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for Rejected { scheme, block_bytes, why, wants, .. } in rejected {
        let wants = wants.map_or(String::new(), |wants| format!(" ({})", bytes(wants)));
        reasons.entry((scheme, why)).or_default().push(format!("{}{wants}", bytes(*block_bytes)));
    }
    let line = |((scheme, why), sizes): (&(&str, &str), &Vec<String>)| {
        format!("- {scheme} with blocks of {}: {why}", sizes.join(", "))
    };
    reasons.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A size in the largest unit of which there is one.
fn bytes(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.iter().find(|(_, power)| bytes >= 1 << power);
    match unit {
        Some((unit, power)) => {
            let in_unit = bytes as f64 / f64::from(*power).exp2();
            if in_unit < 10.0 && in_unit.fract() > 0.05 {
                format!("{in_unit:.1} {unit}")
            } else {
                format!("{in_unit:.0} {unit}")
            }
        }
        None => format!("{bytes} B"),
    }
}
