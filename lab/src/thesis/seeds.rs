//! Runs the same work over several seeds in parallel. Its tables become one table of medians and ranges.

use super::error::ThesisError;
use super::options::Options;
use super::table::SHORT;
use crate::bench::{Progress, Sample};
use crate::report::{Piece, Section, Sheet};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// A message of a worker.
enum WorkerMessage<T> {
    Step { nth: u64, what: String, done: u64, all: u64 },
    Done { nth: u64, result: T },
}

/// The progress of a worker, which is sent to the thread that started it.
struct ChannelProgress<T> {
    nth: u64,
    sender: Sender<WorkerMessage<T>>,
}

impl<T> Progress for ChannelProgress<T> {
    fn on_step(&self, what: &str, done: u64, all: u64) {
        // Without a receiver the message is dropped.
        let _ = self.sender.send(WorkerMessage::Step { nth: self.nth, what: what.to_owned(), done, all });
    }

    fn on_figure(&self, _: &str) {}
}

/// Runs the work once for each seed, in parallel. `text` formats the results of the seeds that are done.
///
/// # Errors
/// The error of a run; after it, no other run is started.
pub(super) fn for_each_seed<T: Send>(
    options: &Options,
    progress: &dyn Progress,
    run: impl Fn(&Options, &dyn Progress) -> Result<T, ThesisError> + Sync,
    text: impl Fn(&[&T]) -> String,
) -> Result<Vec<T>, ThesisError> {
    let seeds = options.seeds.max(1);
    if seeds == 1 {
        return Ok(vec![run(options, progress)?]);
    }
    let next = AtomicU64::new(0);
    let (sender, messages) = channel();
    let work = |sender: Sender<WorkerMessage<T>>| {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            if nth >= seeds {
                return Ok(());
            }
            let options = Options { seed: options.seed.wrapping_add(nth), seeds: 1, ..options.clone() };
            match run(&options, &ChannelProgress { nth, sender: sender.clone() }) {
                Ok(result) => drop(sender.send(WorkerMessage::Done { nth, result })),
                Err(error) => {
                    next.store(seeds, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    thread::scope(|scope| {
        let work = &work;
        let workers = thread::available_parallelism().map_or(1, usize::from).min(seeds as usize);
        let spawn_worker = |sender: Sender<WorkerMessage<T>>| scope.spawn(move || work(sender));
        let workers: Vec<_> = (0..workers).map(|_| spawn_worker(sender.clone())).collect();
        drop(sender);
        let mut done_by_seed = vec![0; seeds as usize];
        let mut results: Vec<Option<T>> = (0..seeds).map(|_| None).collect();
        for message in messages {
            match message {
                WorkerMessage::Step { nth, what, done, all } => {
                    done_by_seed[nth as usize] = done;
                    let seed = options.seed.wrapping_add(nth);
                    progress.on_step(&format!("{what}, seed {seed}"), done_by_seed.iter().sum(), all * seeds);
                }
                WorkerMessage::Done { nth, result } => {
                    results[nth as usize] = Some(result);
                    let finished: Vec<&T> = results.iter().flatten().collect();
                    progress.on_partial_report(&text(&finished));
                }
            }
        }
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        }
        Ok(results.into_iter().flatten().collect())
    })
}

/// Runs an experiment with several seeds, and returns their section of the report.
///
/// # Errors
/// The error of a run.
pub(super) fn section(
    options: &Options,
    progress: &dyn Progress,
    run: impl Fn(&Options, &dyn Progress) -> Result<Section, ThesisError> + Sync,
) -> Result<Section, ThesisError> {
    let of = |sections: &[&Section]| {
        merge_sections(&sections.iter().copied().cloned().collect::<Vec<_>>(), options.seed)
    };
    let sections = for_each_seed(options, progress, run, |sections| of(sections).text())?;
    Ok(merge_sections(&sections, options.seed))
}

/// The sections of several seeds, from this one on, as one: each number becomes the median with its range.
pub(super) fn merge_sections(sections: &[Section], first_seed: u64) -> Section {
    let [first, .., _] = sections else { return sections[0].clone() };
    let mut all = Section::new(first.name.clone(), first.title.clone());
    let last = first_seed.wrapping_add(sections.len() as u64 - 1);
    all.add_text(format!(
        "Medians over the seeds {first_seed} to {last}; in square brackets the minimum and the maximum, where they differ."
    ));
    for (nth, piece) in first.pieces.iter().enumerate() {
        let Piece::Table(_) = piece else {
            all.pieces.push(piece.clone());
            continue;
        };
        let sheet = |section: &Section| match section.pieces.get(nth) {
            Some(Piece::Table(sheet)) => Some(sheet.clone()),
            _ => None,
        };
        all.add_table(merge_sheets(&sections.iter().filter_map(sheet).collect::<Vec<_>>()));
    }
    all
}

/// Merges the tables of several seeds into one.
pub(super) fn merge_sheets(sheets: &[Sheet]) -> Sheet {
    let Some(first) = sheets.first() else { return Sheet::default() };
    let row = |(nth, row): (usize, &Vec<String>)| {
        let cells = (0..row.len()).map(|column| {
            let cell = |sheet: &Sheet| sheet.rows.get(nth)?.get(column).cloned();
            merge_cells(&sheets.iter().filter_map(cell).collect::<Vec<_>>())
        });
        cells.collect()
    };
    Sheet { rows: first.rows.iter().enumerate().map(row).collect(), ..first.clone() }
}

/// The median of the numbers at the start of the cells, their range, and the text after the numbers.
fn merge_cells(cells: &[String]) -> String {
    if cells.iter().all(|cell| *cell == cells[0]) {
        return cells[0].clone();
    }
    let numbers: Vec<(&str, &str)> = cells.iter().filter_map(|cell| number_and_rest(cell)).collect();
    let Some((first, _)) = numbers.first() else {
        // A mark that some of the names have.
        let marked = cells.iter().max_by_key(|cell| cell.len()).cloned().unwrap_or_default();
        let is_name = |cell: &String| cell.trim_end_matches(SHORT) == marked.trim_end_matches(SHORT);
        return if cells.iter().all(is_name) { marked } else { distinct_words(cells) };
    };
    let digits = first.split_once('.').map_or(0, |(_, behind)| behind.len());
    let values: Vec<f64> = numbers.iter().filter_map(|(number, _)| number.parse().ok()).collect();
    let Sample { median, min, max, .. } = Sample::of(&values);
    let (min, max) = (format!("{min:.digits$}"), format!("{max:.digits$}"));
    let rest = numbers.iter().map(|(_, rest)| *rest).max_by_key(|rest| rest.len()).unwrap_or_default();
    let range = if min == max { String::new() } else { format!(" [{min}–{max}]") };
    let part = match numbers.len() == cells.len() {
        true => String::new(),
        false => format!(", {} of {} seeds", numbers.len(), cells.len()),
    };
    format!("{median:.digits$}{range}{rest}{part}")
}

/// The words of cells, each once.
fn distinct_words(cells: &[String]) -> String {
    let mut words: Vec<&str> = cells.iter().map(String::as_str).collect();
    words.sort_unstable();
    words.dedup();
    words.join(" / ")
}

/// The number that a cell begins with, and the rest: nothing, a mark, or the thesis's figure.
fn number_and_rest(cell: &str) -> Option<(&str, &str)> {
    let end = cell.find(' ').unwrap_or(cell.len());
    let (number, rest) = cell.split_at(end);
    number.parse::<f64>().ok().filter(|number| number.is_finite()).map(|_| (number, rest))
}

/// A stretch of a longer work.
pub(super) struct OffsetProgress<'a> {
    pub(super) progress: &'a dyn Progress,
    /// The number of steps before it.
    pub(super) before: u64,
    /// The number of all steps.
    pub(super) all: u64,
}

impl Progress for OffsetProgress<'_> {
    fn on_step(&self, what: &str, done: u64, _: u64) {
        self.progress.on_step(what, self.before + done, self.all);
    }

    fn on_figure(&self, figure: &str) {
        self.progress.on_figure(figure);
    }

    fn on_partial_report(&self, text: &str) {
        self.progress.on_partial_report(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Silent;

    fn of(cells: &[&str]) -> String {
        merge_cells(&cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_cell_of_several_seeds_is_the_median_with_its_range_and_the_thesis_s_figure() {
        assert_eq!(of(&["3.10 (8.50)", "1.00 (8.50)", "2.00 (8.50)"]), "2.00 [1.00–3.10] (8.50)");
        assert_eq!(of(&["4", "1", "2", "9"]), "3 [1–9]");
        assert_eq!(of(&["64", "64"]), "64");
        assert_eq!(of(&["1.20 †", "1.30", "–"]), "1.25 [1.20–1.30] †, 2 of 3 seeds");
        assert_eq!(of(&["ring", "ring *"]), "ring *");
        assert_eq!(of(&["N", "log N", "N"]), "N / log N");
    }

    #[test]
    fn each_seed_is_run_once_and_an_error_ends_all() {
        let options = Options { seed: 5, seeds: 7, ..Options::standard() };
        let seeds = for_each_seed(
            &options,
            &Silent,
            |options, _| Ok((options.seed, options.seeds)),
            |_| String::new(),
        );
        assert_eq!(seeds.unwrap(), (5..12).map(|seed| (seed, 1)).collect::<Vec<_>>());
        let failed = |options: &Options, _: &dyn Progress| match options.seed {
            6 => Err(ThesisError::Unsupported("six".to_owned())),
            seed => Ok(seed),
        };
        assert!(
            for_each_seed(&options, &Silent, failed, |_| String::new())
                .unwrap_err()
                .to_string()
                .contains("six")
        );
    }
}
