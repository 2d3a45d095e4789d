//! The figures as Markdown tables.

use super::configuration::Configuration;
use super::fault_cost::FaultCost;
use super::figures::{Figure, Figures, Line, PagingBaseline};
use super::machine::Setting;
use crate::markdown::{add, markdown, ratio, render, scheme_cells};
use ameles_pager::scheme::Scheme;

/// The number of resident pages for which the paper has figures.
const PAPER_RESIDENT: u32 = 15;
/// The maximum number of instructions that a plain fault is to take outside of the cipher.
const MAX_OUTSIDE_CIPHER: f64 = 6000.0;
/// The paper's share of making threads in an access, in percent.
const PAPER_THREAD_CREATION: [(u64, f64); 3] = [(3, 2.10), (7, 4.49), (15, 6.36)];

/// The paper's Figures 2, 5 and 6: slowdowns against plain.
pub(super) fn paper_tables(figures: &Figures, paging_baseline: &PagingBaseline) -> Vec<String> {
    use Scheme::{DetWoOram, Eager, EagerParallel, Opam, Parallel, Path};
    let all: [(&str, &[Scheme], &[Scheme]); 3] = [
        ("Figure 2: Path ORAM, OPAM and DetWoORAM", &[], &[Path, Opam, DetWoOram]),
        ("Figure 5: Eager DetWoORAM, by its critical path", &[DetWoOram], &[Eager]),
        (
            "Figure 6: Parallel DetWoORAM, and Eager and Parallel together, by their critical path",
            &[DetWoOram],
            &[Parallel, EagerParallel],
        ),
    ];
    let table = |(title, baseline_schemes, shown): (&str, &[Scheme], &[Scheme])| {
        let lines = figures.lines_of(baseline_schemes, shown);
        let table = slowdowns(figures, &lines, paging_baseline);
        (!lines.is_empty())
            .then(|| format!("## {title}: slowdown against plain\n\n{}\n\n{table}", counted_how(figures)))
    };
    all.into_iter().filter_map(table).collect()
}

fn counted_how(figures: &Figures) -> String {
    let Setting { cipher, resident, untrusted_bytes, .. } = figures.setting;
    format!(
        "{cipher}, {resident} pages resident, {} MiB untrusted, every slot written before; instructions of {} faults after {}.",
        untrusted_bytes >> 20,
        figures.window.faults,
        figures.window.warm_up_faults
    )
}

fn slowdowns(figures: &Figures, lines: &[&Line], paging_baseline: &PagingBaseline) -> String {
    let known = figures.setting.resident == PAPER_RESIDENT;
    let mut header = vec!["scheme", "K", "harts"];
    header.extend(&figures.programs);
    header.extend(["geometric mean", "all work"]);
    header.extend(known.then_some("paper"));
    header.extend(paging_baseline.is_measured().then_some("`page bench`"));
    let mut table = markdown(&header);
    for line in lines {
        let Configuration { scheme, k, harts } = line.configuration;
        let mut row = scheme_cells(scheme.name(), k);
        row.push(harts.to_string());
        row.extend(line.programs.iter().map(|figure| option(figure.as_ref().map(|figure| figure.slowdown))));
        row.extend([option(line.slowdown()), option(line.mean(|figure| Some(figure.total_slowdown)))]);
        if known {
            row.push(option(line.configuration.paper()));
        }
        if paging_baseline.is_measured() {
            row.push(option(paging_baseline.slowdown(line.configuration)));
        }
        add(&mut table, row);
    }
    render(&table)
}

/// Returns the table of instructions per fault, summed over all harts, in thousands.
pub(super) fn instructions_a_fault(figures: &Figures) -> String {
    let mut header = vec!["scheme", "K", "harts"];
    header.extend(&figures.programs);
    let mut table = markdown(&header);
    for line in &figures.lines {
        let mut row = name_cells(line);
        row.extend(line.programs.iter().map(|figure| per_fault(figure, |counted| counted.total, 1000.0)));
        add(&mut table, row);
    }
    let mut own_row = scheme_cells("the program itself", None);
    own_row.push(String::new());
    own_row.extend(
        figures.lines[0].programs.iter().map(|figure| per_fault(figure, FaultCost::program_work, 1000.0)),
    );
    add(&mut table, own_row);
    format!("## Thousands of instructions from fault to fault\n\n{}", render(&table))
}

/// The shares of the instructions, on the average over the programs.
pub(super) fn shares(figures: &Figures) -> String {
    type Part = fn(&FaultCost) -> u64;
    const COLUMNS: [(&str, Part); 5] = [
        ("ciphers", |counted| counted.ciphers),
        ("copies", |counted| counted.copies),
        ("the rest of a fault", FaultCost::bookkeeping),
        ("system calls", |counted| counted.system_calls),
        ("program", FaultCost::program_work),
    ];
    const OF_THESE: [(&str, Part); 2] = [
        ("between faults", |counted| counted.off_line),
        ("hidden part of \"between faults\"", |counted| counted.hidden),
    ];
    let mut header = vec!["scheme", "K", "harts"];
    header.extend(COLUMNS.iter().chain(&OF_THESE).map(|(name, _)| *name));
    let mut table = markdown(&header);
    for line in &figures.lines {
        let mut row = name_cells(line);
        let counted: Vec<&FaultCost> = line.programs.iter().flatten().map(|figure| &figure.counted).collect();
        let mean = |part: Part| {
            counted.iter().map(|one| part(one) as f64 / one.total as f64).sum::<f64>() / counted.len() as f64
        };
        row.extend(COLUMNS.iter().chain(&OF_THESE).map(|(_, part)| format!("{:.1} %", 100.0 * mean(*part))));
        add(&mut table, row);
    }
    format!(
        "## Where the instructions go\n\n{}\n\nThe values are means over the programs, as shares of all instructions. \"Ciphers\" and \"copies\" count only work on\n\
         sealed pages. \"The rest of a fault\" is the trap, the page table, and the scheme's own bookkeeping. \"Between\n\
         faults\" is the part that runs after the fault has ended.",
        render(&table)
    )
}

/// The instructions of a plain fault outside of the cipher.
pub(super) fn plain_fault(figures: &Figures) -> String {
    let mut header = vec!["a plain fault"];
    header.extend(&figures.programs);
    header.push("at most");
    let mut table = markdown(&header);
    let plain = &figures.lines[0];
    let row = |name: &str, of: &dyn Fn(&Figure) -> f64, last: String| {
        let mut row = vec![name.to_owned()];
        row.extend(
            plain
                .programs
                .iter()
                .map(|figure| figure.as_ref().map_or(no_figure(), |figure| whole(of(figure)))),
        );
        row.push(last);
        row
    };
    let ciphers = |figure: &Figure| figure.counted.per_fault(figure.counted.ciphers);
    let copies = |figure: &Figure| figure.counted.per_fault(figure.counted.copies);
    let outside = |figure: &Figure| figure.counted.outside_ciphers();
    add(&mut table, row("in the ciphers", &ciphers, no_figure()));
    add(&mut table, row("outside the ciphers", &outside, whole(MAX_OUTSIDE_CIPHER)));
    add(&mut table, row("of these, copying", &copies, no_figure()));
    format!("## Instructions of a plain fault\n\n{}", render(&table))
}

/// The share of handing pages over to other harts, with the paper's share of making threads; nothing without harts.
pub(super) fn hand_over(figures: &Figures) -> Option<String> {
    let mut table = markdown(&[
        "scheme",
        "K",
        "harts",
        "handing over",
        "a batch's longest share",
        "paper: making threads",
    ]);
    let mut lines = figures.lines.iter().filter(|line| line.configuration.harts > 1).peekable();
    lines.peek()?;
    for line in lines {
        let configuration = line.configuration;
        let counted = line.programs.iter().flatten().map(|figure| figure.counted);
        let sum = counted.reduce(|sum, next| sum + next).unwrap_or_default();
        // The path of a fault alone: the program's own work is not part of an access.
        let path = sum.in_faults - (sum.shared - sum.longest);
        let share = |part: u64| format!("{:.2} %", 100.0 * part as f64 / path.max(1) as f64);
        let paper = PAPER_THREAD_CREATION.iter().find(|(k, _)| Some(*k) == configuration.k);
        let mut row = name_cells(line);
        row.extend([share(sum.hand_over), share(sum.longest)]);
        row.push(paper.map_or_else(String::new, |(_, share)| format!("{share:.2} %")));
        add(&mut table, row);
    }
    Some(format!("## Shares in the critical path of a fault, over all programs\n\n{}", render(&table)))
}

/// The slowdowns by the wall clock, or nothing if it was not measured.
pub(super) fn wall_clock(figures: &Figures) -> Option<String> {
    if figures.rounds == 0 {
        return None;
    }
    let mut header = vec!["scheme", "K", "harts"];
    header.extend(&figures.programs);
    header.extend(["geometric mean", "ms a fault"]);
    let mut table = markdown(&header);
    for line in &figures.lines {
        let mut row = name_cells(line);
        let by_clock =
            |figure: &Option<Figure>| option(figure.as_ref().and_then(|figure| figure.wall_clock_slowdown));
        row.extend(line.programs.iter().map(by_clock));
        row.push(option(line.mean(|figure| figure.wall_clock_slowdown)));
        row.push(option(line.mean(|figure| figure.millis)));
        add(&mut table, row);
    }
    Some(format!(
        "## Slowdown against plain by the wall clock of the emulator (rounds: {}; medians)\n\n{}",
        figures.rounds,
        render(&table)
    ))
}

/// The sweep of resident pages; nothing if there was none.
pub(super) fn sweep_of_resident_pages(all: &[Figures]) -> Option<String> {
    sweep("R resident pages", all, |setting| format!("R = {}", setting.resident))
}

/// The sweep of untrusted memory; nothing if there was none.
pub(super) fn sweep_of_memory(all: &[Figures]) -> Option<String> {
    sweep("untrusted memory", all, |setting| format!("{} MiB", setting.untrusted_bytes >> 20))
}

fn sweep(what: &str, all: &[Figures], name: impl Fn(&Setting) -> String) -> Option<String> {
    let first = all.first()?;
    let names: Vec<String> = all.iter().map(|figures| name(&figures.setting)).collect();
    let mut header = vec!["scheme", "K", "harts"];
    for name in &names {
        header.extend([name.as_str(), "thousands"]);
    }
    let mut table = markdown(&header);
    for (nth, line) in first.lines.iter().enumerate() {
        let mut row = name_cells(line);
        for figures in all {
            let line = &figures.lines[nth];
            row.extend([
                option(line.slowdown()),
                per_fault(&line.programs[0], |counted| counted.total, 1000.0),
            ]);
        }
        add(&mut table, row);
    }
    let (program, window) = (first.programs[0], first.window);
    Some(format!(
        "## A sweep of {what}: slowdown against plain, and thousands of instructions a fault\n\n\
         {program}{}; {} faults after {}. An empty cell: the program does not fit.\n\n{}",
        if first.setting.small { " in its small size" } else { "" },
        window.faults,
        window.warm_up_faults,
        render(&table)
    ))
}

fn name_cells(line: &Line) -> Vec<String> {
    let Configuration { scheme, k, harts } = line.configuration;
    let mut cells = scheme_cells(scheme.name(), k);
    cells.push(harts.to_string());
    cells
}

fn per_fault(figure: &Option<Figure>, of: impl Fn(&FaultCost) -> u64, unit: f64) -> String {
    figure
        .as_ref()
        .map_or_else(no_figure, |figure| whole(figure.counted.per_fault(of(&figure.counted)) / unit))
}

fn whole(figure: f64) -> String {
    format!("{figure:.0}")
}

fn option(figure: Option<f64>) -> String {
    figure.map_or_else(no_figure, ratio)
}

fn no_figure() -> String {
    String::new()
}
