//! The figures as Markdown tables.

use super::figures::{Figures, Parts, Spread};
use super::paper;
use crate::markdown::{add, markdown, ratio, render, scheme_cells};
use ameles_programs::PROGRAMS;
use ameles_seal::pages::PageCipher;

/// The number of resident pages for which the paper has figures.
pub(super) const PAPER_RESIDENT: u64 = 15;

/// The slowdowns against plain, and the time from fault to fault, program by program and on the average.
pub(super) fn slowdowns(figures: &Figures) -> String {
    let setting = &figures.setting;
    let known = setting.resident == PAPER_RESIDENT;
    let has_goal = known && setting.cipher == PageCipher::Aes256Gcm;
    let mut header = vec!["scheme", "K", "workers"];
    header.extend(PROGRAMS.iter().map(|program| program.name));
    header.extend(["geometric mean", "quartiles", "µs a fault"]);
    header.extend(known.then_some("paper"));
    header.extend(has_goal.then_some("goal: at most"));
    let mut table = markdown(&header);
    for line in &figures.lines {
        let mut row = scheme_cells(line.configuration.scheme.name(), line.configuration.k);
        row.push(line.programs.iter().map(|figure| figure.threads).max().unwrap_or(1).to_string());
        row.extend(line.programs.iter().map(|figure| ratio(figure.slowdown.median)));
        row.extend([ratio(line.slowdown.median), quartiles(&line.slowdown), micros(line.micros.median)]);
        let figure = |of: Option<f64>| of.map_or_else(String::new, |figure| figure.to_string());
        if known {
            row.push(figure(paper::slowdown(line.configuration)));
        }
        if has_goal {
            row.push(figure(paper::max_slowdown(line.configuration)));
        }
        add(&mut table, row);
    }
    format!(
        "## {}, {} pages resident: slowdown against plain\n\n{} faults of each run after {}, {} rounds; medians.\n\n{}",
        setting.cipher,
        setting.resident,
        setting.faults,
        setting.warm_up_faults,
        figures.rounds,
        render(&table)
    )
}

/// The absolute times, program by program.
pub(super) fn micros_a_fault(figures: &Figures) -> String {
    let mut header = vec!["scheme", "K"];
    header.extend(PROGRAMS.iter().map(|program| program.name));
    header.push("geometric mean");
    let mut table = markdown(&header);
    for line in &figures.lines {
        let mut row = scheme_cells(line.configuration.scheme.name(), line.configuration.k);
        row.extend(line.programs.iter().map(|figure| micros(figure.micros.median)));
        row.push(micros(line.micros.median));
        add(&mut table, row);
    }
    let (cipher, resident) = (figures.setting.cipher, figures.setting.resident);
    format!("## {cipher}, {resident} pages resident: µs from fault to fault\n\n{}", render(&table))
}

/// The shares of the time, on the average over the programs; nothing if they were not metered.
pub(super) fn shares(figures: &Figures) -> Option<String> {
    type Part = fn(&Parts) -> f64;
    const COLUMNS: [(&str, Part); 7] = [
        ("crypto", |parts| parts.crypto),
        ("copying", |parts| parts.copying),
        ("moving and waking", |parts| parts.moving),
        ("trap", |parts| parts.trap),
        ("program", |parts| parts.program),
        ("off-line", |parts| parts.off_line),
        ("second process", |parts| parts.second_process),
    ];
    let mut header = vec!["scheme", "K", "µs a fault"];
    header.extend(COLUMNS.iter().map(|(name, _)| *name));
    let mut table = markdown(&header);
    for line in &figures.lines {
        let parts: Option<Vec<Parts>> = line.programs.iter().map(|figure| figure.parts).collect();
        let parts = parts?;
        let mean = |of: &dyn Fn(&Parts) -> f64| parts.iter().map(of).sum::<f64>() / parts.len() as f64;
        let mut row = scheme_cells(line.configuration.scheme.name(), line.configuration.k);
        row.push(micros(mean(&|parts| parts.all)));
        let share = |part: Part| 100.0 * mean(&|parts| part(parts) / parts.all);
        row.extend(COLUMNS.iter().map(|(_, part)| format!("{:.0} %", share(*part))));
        add(&mut table, row);
    }
    let setting = &figures.setting;
    Some(format!(
        "## {}, {} pages resident: shares of the time from fault to fault\n\n{}\n\n\
         Means over the programs. In these rounds the sealing layer reads the clock before and after each step, which\n\
         makes them slower. Crypto and copying: of sealed pages, by the program's process, in the faults and\n\
         between them. Moving pages: the kernel's calls that take a page out of the program's sight and put one in. Trap:\n\
         from the touch into the fault path and back, and a fault's wait for work between the faults. It is what remains\n\
         after the fault path and the program's own computation. That computation is derived from a whole\n\
         unpaged run, over the faults of a whole run. Off-line: work between the faults, by the program's process. Second\n\
         process: its ciphers and copies meanwhile. The sum is below 100 % because of bookkeeping and waiting for the\n\
         second process. It is above 100 % if work is off-line or runs on several threads.",
        setting.cipher,
        setting.resident,
        render(&table)
    ))
}

/// The means for several numbers of resident pages.
pub(super) fn sweep(sweep: &[Figures]) -> String {
    let mut header = vec!["scheme".to_owned(), "K".to_owned()];
    for figures in sweep {
        header.extend([format!("R = {}", figures.setting.resident), "µs".to_owned()]);
    }
    let mut table = markdown(&header.iter().map(String::as_str).collect::<Vec<_>>());
    let lines = sweep.first().map_or(0, |figures| figures.lines.len());
    for nth in 0..lines {
        let configuration = sweep[0].lines[nth].configuration;
        let mut row = scheme_cells(configuration.scheme.name(), configuration.k);
        for figures in sweep {
            let line = &figures.lines[nth];
            row.extend([ratio(line.slowdown.median), micros(line.micros.median)]);
        }
        add(&mut table, row);
    }
    format!(
        "## R resident pages: slowdown against plain, and µs from fault to fault; geometric means\n\n{}",
        render(&table)
    )
}

fn quartiles(spread: &Spread) -> String {
    format!("{:.2}–{:.2}", spread.lower_quartile, spread.upper_quartile)
}

fn micros(micros: f64) -> String {
    format!("{micros:.1}")
}
