//! A plan as tables.

use super::choices::{Choice, Rejected};
use super::figures::Figures;
use super::offers::{Offer, Plan};
use crate::markdown::{add, markdown, render};
use ameles_vault::{JournalPlace, SHIP_AFTER, VaultParameters};
use std::collections::BTreeMap;

impl Plan {
    /// The plan in Markdown: the best `rows`, the gain of more memory, and the reasons for rejections.
    pub fn tables(&self, rows: usize) -> String {
        plan_tables(self, rows)
    }
}

fn plan_tables(plan: &Plan, rows: usize) -> String {
    let mut table = markdown(&[
        "prices",
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
        "a lost machine loses",
    ]);
    for Offer { prices, plain, .. } in &plan.offers {
        let mut row = [prices, "no ORAM", "", ""].map(str::to_owned).to_vec();
        row.extend(figure_cells(plain, plain));
        row.extend([String::new(), String::new(), String::new()]);
        add(&mut table, row);
    }
    let choices = plan.choices();
    // Each offer shows its best vault, even if other prices are cheaper.
    let is_shown = |(nth, (offer, choice)): &(usize, &(&Offer, &Choice))| {
        *nth < rows || offer.best_vault().is_some_and(|best| std::ptr::eq(best, *choice))
    };
    let shown: Vec<_> = choices.iter().enumerate().filter(is_shown).collect();
    shown.iter().for_each(|(_, (offer, choice))| add(&mut table, choice_row(offer, choice)));
    let left = choices.len() - shown.len();
    let mut text = render(&table);
    if left > 0 {
        text.push_str(&format!("\n\n{left} more choices fit, and come behind these."));
    }
    let more: Vec<String> =
        plan.with_more_memory().into_iter().map(|(offer, choice)| more_memory_line(offer, choice)).collect();
    if !more.is_empty() {
        text.push_str(&format!(
            "\n\nWith more trusted memory than {}:\n{}",
            bytes(plan.trusted),
            more.join("\n")
        ));
    }
    let rejected: Vec<&Rejected> = plan.offers.iter().flat_map(|offer| &offer.rejected).collect();
    if !rejected.is_empty() {
        text.push_str("\n\nLeft out:\n");
        text.push_str(&rejected_lines(&rejected));
    }
    text
}

fn choice_row(offer: &Offer, choice: &Choice) -> Vec<String> {
    let first = [&offer.prices, choice.scheme, &bytes(choice.block_bytes), &choice.parameters];
    let mut row = first.map(str::to_owned).to_vec();
    row.extend(figure_cells(&choice.figures, &offer.plain));
    let is_vault = if choice.flags.is_some() { "yes" } else { "no" };
    let lost = choice.vault.as_ref().map_or_else(String::new, lost);
    row.extend([bytes(choice.memory), is_vault.to_owned(), lost]);
    row
}

/// The recovery point of a vault.
fn lost(vault: &VaultParameters) -> String {
    match vault.journal {
        JournalPlace::Store | JournalPlace::StoreFirst | JournalPlace::Standby | JournalPlace::Etcd => {
            "nothing".to_owned()
        }
        JournalPlace::Disk => {
            let point = vault.recovery_point() * u64::from(vault.scheme.block_bytes());
            format!("{} or {} min", bytes(point), SHIP_AFTER.as_secs() / 60)
        }
    }
}

/// A line about a vault that takes more memory than there is.
fn more_memory_line(offer: &Offer, choice: &Choice) -> String {
    let [dollars, .., time, stored] = figure_cells(&choice.figures, &offer.plain);
    let (memory, scheme, block) = (bytes(choice.memory), choice.scheme, bytes(choice.block_bytes));
    let prices = &offer.prices;
    format!(
        "- {memory} would bring {scheme} with blocks of {block}: {dollars} dollars a month at {prices}, {time} an object, a store \
         of {stored}"
    )
}

fn figure_cells(figures: &Figures, plain: &Figures) -> [String; 7] {
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

/// A line for each reason, with its block sizes and the least memory of each.
fn rejected_lines(rejected: &[&Rejected]) -> String {
    let mut reasons: BTreeMap<(&str, &str), BTreeMap<u64, Option<u64>>> = BTreeMap::new();
    for Rejected { scheme, block_bytes, why, choice } in rejected {
        let memory = choice.as_ref().map(|choice| choice.memory);
        let min = reasons.entry((scheme, why)).or_default().entry(*block_bytes).or_insert(memory);
        *min = memory.min(*min);
    }
    let size = |(block, memory): (&u64, &Option<u64>)| {
        let memory = memory.map_or(String::new(), |memory| format!(" ({})", bytes(memory)));
        format!("{}{memory}", bytes(*block))
    };
    let line = |((scheme, why), sizes): (&(&str, &str), &BTreeMap<u64, Option<u64>>)| {
        let sizes: Vec<String> = sizes.iter().map(size).collect();
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
