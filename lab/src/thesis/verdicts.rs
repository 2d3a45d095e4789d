//! The verdicts of the thesis's 6.1 by a stated rule: what is practical, for whom. The rule takes its limits from
//! what the thesis calls practical, and is applied to the thesis's own figures as well as to ours.

use super::published::{Published, PublishedRow};
use super::row::{MEGA, RELATIVE, Row, by_run, thesis_provider};
use super::trial::ORAM_BYTES;
use crate::bench::Sample;
use crate::report::{Section, Sheet};

/// The number of days of a month, as the thesis counts them.
const DAYS: f64 = 30.0;

/// The schemes without an ORAM.
const NO_ORAM: [&str; 3] = ["none", "blocks", "blocks-together"];

/// The schemes that pause for a rebuild. The mean response time hides the pause, so they get no verdict.
const REBUILT: [&str; 3] = ["practical-os", "square-root", "hierarchical"];

/// True for a run from which a verdict may follow.
fn has_verdict(row: &Row) -> bool {
    !NO_ORAM.contains(&row.scheme) && !REBUILT.contains(&row.scheme) && !row.result.is_short()
}

const RULE: &str = "A, B (a home user, who pays a flat fee): practical if one run stores at most 2.2 times the ORAM \
and answers in at most 3.5 times the time of no ORAM. The thesis calls these figures within the realm of practicality. \
With trade-offs if each is met, but by different runs. C (attachments of mail): practical if 1000 attachments a day \
cost at most 420 dollars a month, which the thesis calls not prohibitive. D (code): practical with a slowdown of at \
most 4, which the thesis took for its Git server, and at most 66.5 times the dollars. The thesis calls this not \
prohibitive in C. If high costs are acceptable, the slowdown alone counts. E (E-Government): answers as for A, and a \
processor that peaks below 80 %. Virtual time has no processor: a run of ours that answers in time leaves E open. \
Figures are medians over the seeds. Runs in which fewer than four evictions came due are left out, and schemes that \
stand still for a rebuild. Dollars are those of IBM in the thesis's Table 4.5. \"ring\", \"serve\" and \"path\" trust \
a quarter of the capacity.";

/// A run, as far as a verdict needs it.
#[derive(Clone, Debug)]
struct Run {
    name: String,
    /// The number of bytes stored, as a multiple of the ORAM's.
    stored: f64,
    response: f64,
    slowdown: f64,
    times_dollars: f64,
    dollars: f64,
    /// MB that the application wrote.
    written_mb: f64,
    /// The peak of the processor in per cent, if it was measured.
    processor: Option<f64>,
}

/// A verdict, and the figures that it follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Verdict {
    word: &'static str,
    reason: String,
}

const PRACTICAL: &str = "practical";
const TRADE_OFFS: &str = "practical with trade-offs";
const COSTS: &str = "practical if high costs are acceptable";
const IMPRACTICAL: &str = "impractical";
const OPEN: &str = "open: in time, processor not measured";

/// The section, from the rows of the workloads.
pub(super) fn section(rows: &[Row]) -> Section {
    let printed = Published::tables();
    let mut section = Section::new("verdicts", "Practical for whom (6.1 of the thesis)");
    let mut verdicts =
        Sheet::new("verdicts", "", ["workload", "figures", "verdict", "the thesis says", "decided by"]);
    for letter in ["A", "B", "C", "D", "E"] {
        let is_one = |row: &&Row| row.workload == letter;
        let ours: Vec<Vec<&Row>> = rows_by_run(rows.iter().filter(is_one));
        if ours.is_empty() {
            continue;
        }
        let of = |is_included: &dyn Fn(&Row) -> bool| -> Vec<Run> {
            ours.iter().filter(|run| is_included(run[0])).map(|run| median_run(run)).collect()
        };
        let baseline = printed.baseline(letter);
        let theirs: Vec<Run> = printed.runs(letter).filter_map(|line| printed_run(line, baseline?)).collect();
        let says = printed.verdict(letter).unwrap_or_default();
        let sets = [
            ("the thesis's", theirs),
            ("its schemes, here", of(&|row| row.printed.is_some())),
            ("all schemes, here", of(&|_| true)),
        ];
        for (figures, runs) in sets {
            let Some(Verdict { word, reason }) = verdict(letter, &runs, &printed) else { continue };
            verdicts.rows.push([letter, figures, word, says, reason.as_str()].map(str::to_owned).into());
        }
    }
    section.add_table(verdicts);
    section.add_text(RULE);
    section.add_table(flat_fee(rows, &printed));
    section.add_table(attachments(rows, &printed));
    section
}

/// The verdict on a workload; none without a run.
fn verdict(letter: &str, runs: &[Run], printed: &Published) -> Option<Verdict> {
    let home = printed.home_user();
    match letter {
        "A" | "B" => {
            let needs = [
                Need { of: |run| run.stored, max: home.external_overhead, what: "stored" },
                Need { of: |run| run.response, max: home.relative_response, what: "response" },
            ];
            check_needs(runs, &needs, |met| if met == [true; 2] { TRADE_OFFS } else { IMPRACTICAL })
        }
        "C" => {
            let run = min(runs, |run| per_month(run, printed))?;
            let month = per_month(run, printed);
            let word = if month <= printed.email().dollars_a_month { PRACTICAL } else { IMPRACTICAL };
            Some(Verdict { word, reason: format!("{month:.0} dollars a month: {}", run.name) })
        }
        "D" => {
            let code = printed.code_distribution();
            let needs = [
                Need { of: |run| run.slowdown, max: code.times_slowdown, what: "slowdown" },
                Need { of: |run| run.times_dollars, max: code.times_dollars, what: "dollars" },
            ];
            check_needs(runs, &needs, |met| if met[0] { COSTS } else { IMPRACTICAL })
        }
        _ => {
            let limit = printed.egovernment().cpu_peak_pct;
            let in_time = |run: &&Run| run.response <= home.relative_response;
            let quick: Vec<Run> = runs.iter().filter(in_time).cloned().collect();
            let run = min(if quick.is_empty() { runs } else { &quick }, |run| {
                run.processor
                    .map_or(run.response, |processor| if quick.is_empty() { run.response } else { processor })
            })?;
            let word = match run.processor {
                _ if quick.is_empty() => IMPRACTICAL,
                None => OPEN,
                Some(processor) if processor < limit => PRACTICAL,
                Some(_) => IMPRACTICAL,
            };
            let processor = run.processor.map_or(String::new(), |peak| format!(", processor {peak:.1} %"));
            Some(Verdict {
                word, reason: format!("response {:.2} ×{processor}: {}", run.response, run.name)
            })
        }
    }
}

/// A need of a user.
struct Need {
    of: fn(&Run) -> f64,
    /// The maximum value that fits the need.
    max: f64,
    what: &'static str,
}

/// Practical if one run meets both needs; `otherwise` the word follows from which of them is met at all.
fn check_needs(runs: &[Run], needs: &[Need; 2], otherwise: fn([bool; 2]) -> &'static str) -> Option<Verdict> {
    let worst = |run: &Run| {
        let part = |need: &Need| (need.of)(run) / need.max;
        part(&needs[0]).max(part(&needs[1]))
    };
    let say = |need: &Need, run: &Run| format!("{} {:.2} ×", need.what, (need.of)(run));
    let best = min(runs, worst)?;
    if worst(best) <= 1.0 {
        let [first, second] = [say(&needs[0], best), say(&needs[1], best)];
        return Some(Verdict { word: PRACTICAL, reason: format!("{first}, {second}: {}", best.name) });
    }
    let each = [min(runs, needs[0].of)?, min(runs, needs[1].of)?];
    let met = [0, 1].map(|nth| (needs[nth].of)(each[nth]) <= needs[nth].max);
    let part = |nth: usize| format!("{}: {}", say(&needs[nth], each[nth]), each[nth].name);
    Some(Verdict { word: otherwise(met), reason: format!("{}; {}", part(0), part(1)) })
}

fn min(runs: &[Run], of: impl Fn(&Run) -> f64) -> Option<&Run> {
    let is_number = |run: &&Run| of(run).is_finite();
    runs.iter().filter(is_number).min_by(|one, other| of(one).total_cmp(&of(other)))
}

/// The dollars of an attachment, if they grow with the written bytes.
fn per_attachment(run: &Run, printed: &Published) -> f64 {
    run.dollars / run.written_mb * printed.email().attachment_mb
}

fn per_month(run: &Run, printed: &Published) -> f64 {
    per_attachment(run, printed) * printed.email().attachments_a_day * DAYS
}

/// The rows grouped by runs, without the runs that have no verdict for some seed.
fn rows_by_run<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Vec<&'a Row>> {
    let mut runs = by_run(rows);
    runs.retain(|run| run.iter().all(|row| has_verdict(row)));
    runs
}

/// The medians of a run over its seeds.
fn median_run(rows: &[&Row]) -> Run {
    let median = |of: &dyn Fn(&Row) -> f64| Sample::of(rows.iter().map(|row| of(row))).median;
    let column = |name: &str| {
        RELATIVE.iter().find(|column| column.name == name).map_or(f64::NAN, |column| median(&column.of))
    };
    let ibm = thesis_provider();
    Run {
        name: format!("{}, {} KiB", rows[0].scheme, rows[0].block_kib.unwrap_or_default()),
        stored: median(&|row| row.result.usage.stored_bytes as f64 / ORAM_BYTES as f64),
        response: column("times_response"),
        slowdown: column("slowdown"),
        times_dollars: median(&|row| ibm.as_ref().and_then(|ibm| row.times_dollars(ibm)).unwrap_or(f64::NAN)),
        dollars: median(&|row| ibm.as_ref().map_or(f64::NAN, |ibm| row.dollars(ibm))),
        written_mb: median(&|row| row.baseline.usage.bytes_up as f64 / MEGA),
        processor: None,
    }
}

/// A printed run.
fn printed_run(line: PublishedRow<'_>, baseline: PublishedRow<'_>) -> Option<Run> {
    let of = |name| line.number(name);
    Some(Run {
        name: format!("{}, {} KiB", line.word("scheme")?, of("block_kb")?),
        stored: of("remote_mb")? * MEGA / ORAM_BYTES as f64,
        response: of("x_response")?,
        slowdown: of("x_slowdown")?,
        times_dollars: of("x_cost")?,
        dollars: of("cost_usd")?,
        written_mb: baseline.number("mb_up")?,
        processor: of("cpu_peak_pct"),
    })
}

/// The usable share of a free offer, for each scheme with the blocks that store least.
fn flat_fee(rows: &[Row], printed: &Published) -> Sheet {
    let free = printed.home_user().free_gb;
    let mut sheet = Sheet::new(
        "flat-fee",
        &format!(
            "A home user's {free} GB, by the blocks that store least (in brackets: the thesis, the same blocks):"
        ),
        ["workload", "scheme", "block, KiB", "stored ×", "usable GB", "response ×"],
    );
    for (letter, run, theirs) in best_of_each(rows, &["A", "B"], |run| run.stored, printed) {
        let mut cells = vec![letter];
        cells.extend(run.name.replace(" KiB", "").split(", ").map(str::to_owned));
        let pair = |of: &dyn Fn(&Run) -> f64| pair(of(&run), theirs.as_ref().map(of), 2);
        cells.extend([pair(&|run| run.stored), pair(&|run| free / run.stored), pair(&|run| run.response)]);
        sheet.rows.push(cells);
    }
    sheet
}

/// The dollars of attachments, for each scheme with the cheapest blocks.
fn attachments(rows: &[Row], printed: &Published) -> Sheet {
    let email = printed.email();
    let mut sheet = Sheet::new(
        "attachments",
        &format!(
            "Attachments of {} MB, {} a day, by the cheapest blocks (in brackets: the thesis, the same blocks):",
            email.attachment_mb, email.attachments_a_day
        ),
        ["workload", "scheme", "block, KiB", "dollars an attachment", "dollars a month"],
    );
    for (letter, run, theirs) in best_of_each(rows, &["C"], |run| run.dollars, printed) {
        let mut cells = vec![letter];
        cells.extend(run.name.replace(" KiB", "").split(", ").map(str::to_owned));
        let each = |run: &Run| per_attachment(run, printed);
        let month = |run: &Run| per_month(run, printed);
        cells.push(pair(each(&run), theirs.as_ref().map(each), 4));
        cells.push(pair(month(&run), theirs.as_ref().map(month), 0));
        sheet.rows.push(cells);
    }
    sheet
}

/// The best run of each scheme, with the published run of the same block size, if there is one.
fn best_of_each(
    rows: &[Row],
    letters: &[&str],
    of: fn(&Run) -> f64,
    printed: &Published,
) -> Vec<(String, Run, Option<Run>)> {
    let mut found: Vec<(String, &'static str, Run, Option<Run>)> = Vec::new();
    let is_one = |row: &&Row| letters.contains(&row.workload.as_str());
    for rows in rows_by_run(rows.iter().filter(is_one)) {
        let row = rows[0];
        let line = row.printed.zip(row.block_kib);
        let line = line.and_then(|(scheme, kib)| printed.result(&row.workload, scheme, kib));
        let theirs =
            line.zip(printed.baseline(&row.workload)).and_then(|(line, base)| printed_run(line, base));
        let run = median_run(&rows);
        match found.iter_mut().find(|(letter, scheme, ..)| *letter == row.workload && *scheme == row.scheme) {
            Some((_, _, best, _)) if of(best) <= of(&run) => {}
            Some((_, _, best, best_of_theirs)) => (*best, *best_of_theirs) = (run, theirs),
            None => found.push((row.workload.clone(), row.scheme, run, theirs)),
        }
    }
    found.into_iter().map(|(letter, _, run, theirs)| (letter, run, theirs)).collect()
}

fn pair(ours: f64, theirs: Option<f64>, digits: usize) -> String {
    match theirs {
        Some(theirs) => format!("{ours:.digits$} ({theirs:.digits$})"),
        None => format!("{ours:.digits$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, stored: f64, response: f64) -> Run {
        Run {
            name: name.to_owned(),
            stored,
            response,
            slowdown: 5.0,
            times_dollars: 10.0,
            dollars: 1.0,
            written_mb: 1750.0,
            processor: None,
        }
    }

    fn word(letter: &str, runs: &[Run]) -> &'static str {
        verdict(letter, runs, &Published::tables()).unwrap().word
    }

    #[test]
    fn a_home_user_needs_little_storage_and_quick_answers_of_one_run() {
        assert_eq!(word("A", &[run("one", 2.2, 3.5)]), PRACTICAL);
        assert_eq!(word("A", &[run("small", 2.0, 9.0), run("quick", 4.0, 2.0)]), TRADE_OFFS);
        assert_eq!(word("A", &[run("small", 2.0, 9.0)]), IMPRACTICAL);
        assert!(verdict("A", &[], &Published::tables()).is_none());
    }

    #[test]
    fn attachments_are_bought_by_the_month() {
        // A dollar for 100 attachments, 30,000 of them in a month: 300 dollars.
        assert_eq!(word("C", &[run("one", 1.0, 1.0)]), PRACTICAL);
        assert_eq!(word("C", &[Run { dollars: 1.41, ..run("dear", 1.0, 1.0) }]), IMPRACTICAL);
    }

    #[test]
    fn code_needs_speed_and_then_low_costs() {
        let quick = Run { slowdown: 4.0, ..run("quick", 1.0, 1.0) };
        assert_eq!(word("D", std::slice::from_ref(&quick)), PRACTICAL);
        assert_eq!(word("D", &[Run { times_dollars: 67.0, ..quick }]), COSTS);
        assert_eq!(word("D", &[run("slow", 1.0, 1.0)]), IMPRACTICAL);
    }

    #[test]
    fn a_government_needs_answers_and_a_processor_with_room() {
        assert_eq!(word("E", &[run("quick", 1.0, 3.0)]), OPEN);
        let busy = |peak| Run { processor: Some(peak), ..run("quick", 1.0, 3.0) };
        assert_eq!(word("E", &[busy(87.1)]), IMPRACTICAL);
        assert_eq!(word("E", &[busy(87.1), busy(79.0)]), PRACTICAL);
        assert_eq!(word("E", &[Run { response: 3.6, ..busy(10.0) }]), IMPRACTICAL);
    }

    #[test]
    fn the_rule_says_of_the_thesis_s_figures_what_the_thesis_says_but_in_b() {
        let printed = Published::tables();
        for letter in ["A", "B", "C", "D", "E"] {
            let baseline = printed.baseline(letter).unwrap();
            let runs: Vec<Run> =
                printed.runs(letter).filter_map(|line| printed_run(line, baseline)).collect();
            assert_eq!(runs.len(), 9);
            // In B CURIOUS stores 1.6 times the ORAM and answers in 2.29 times the time.
            let says = if letter == "B" { PRACTICAL } else { printed.verdict(letter).unwrap() };
            assert_eq!(word(letter, &runs), says, "{letter}");
        }
    }
}
