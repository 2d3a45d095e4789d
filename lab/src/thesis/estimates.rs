//! The thesis's Appendix B: the workloads without an ORAM, cut into blocks of 4 KB to 16 MB.

use super::error::ThesisError;
use super::job::Job;
use super::options::Options;
use super::published::Published;
use super::row::{MEGA, thesis_provider};
use super::schemes::{self, SCHEMES};
use super::seeds;
use super::workload_runs::{workload_job, workload_trial};
use crate::bar_chart::{Bar, Chart, Group, Scale, Series};
use crate::bench::{Progress, Sample};
use crate::report::{Picture, Section, Sheet};
use ameles_store::Usage;

/// The block sizes in KiB.
const BLOCKS_KIB: [u64; 7] = [4, 16, 64, 256, 1024, 4096, 16384];

/// The figures of a block size: requests that read and write, MB down and up, dollars.
type Figures = [f64; 5];

/// The report's section of all workloads, or of the chosen ones.
///
/// # Errors
/// The errors of a workload, and [`ThesisError::TooSmall`].
pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Section, ThesisError> {
    let printed = Published::tables();
    let mut section =
        Section::new("estimates", "Estimates without an ORAM (Appendix B; in brackets: the thesis)");
    section.add_text(
        "Each object is cut into blocks, and each block is a request. Dollars are those of IBM in the thesis's Table 4.5, without \
         storage. Objects are drawn again, so totals differ. Dollars fall with the block size until blocks are as large as \
         objects.",
    );
    for letter in options.letters() {
        let run = |options: &Options, _: &dyn Progress| {
            let (letter, job) = workload_job(options, &letter)?;
            let ours = BLOCKS_KIB
                .map(|kib| Ok::<_, ThesisError>((kib, figures(&block_traffic(options, &job, kib)?))));
            Ok((letter, ours.into_iter().collect::<Result<Vec<_>, _>>()?))
        };
        let of_seeds = seeds::for_each_seed(options, progress, run, |_| String::new())?;
        let letter = &of_seeds[0].0;
        let theirs = |kib| printed.estimate(letter, kib);
        let sheets = of_seeds.iter().map(|(_, ours)| sheet(letter, ours, theirs)).collect::<Vec<_>>();
        section.add_table(seeds::merge_sheets(&sheets));
        section.add_picture(picture(letter, &medians(&of_seeds), theirs));
    }
    Ok(section)
}

/// The medians of each figure over the seeds.
fn medians(of_seeds: &[(String, Vec<(u64, Figures)>)]) -> Vec<(u64, Figures)> {
    let median =
        |size: usize, nth: usize| Sample::of(of_seeds.iter().map(|(_, ours)| ours[size].1[nth])).median;
    let of_size = |(size, kib): (usize, u64)| (kib, std::array::from_fn(|nth| median(size, nth)));
    BLOCKS_KIB.into_iter().enumerate().map(of_size).collect()
}

/// The traffic of a job in blocks of `kib` KiB.
fn block_traffic(options: &Options, job: &Job, kib: u64) -> Result<Usage, ThesisError> {
    let scheme = schemes::by_name("blocks").unwrap_or(&SCHEMES[0]);
    Ok((scheme.run)(&workload_trial(options, "", job, scheme, Some(kib)))?.usage)
}

fn figures(usage: &Usage) -> Figures {
    let dollars = thesis_provider().map_or(f64::NAN, |ibm| ibm.bill(usage).spent());
    let (down, up) = (usage.bytes_down as f64 / MEGA, usage.bytes_up as f64 / MEGA);
    [usage.gets() as f64, usage.puts() as f64, down, up, dollars]
}

fn sheet(letter: &str, ours: &[(u64, Figures)], theirs: impl Fn(u64) -> Option<Figures>) -> Sheet {
    let header = ["block, KiB", "reads", "writes", "MB down", "MB up", "dollars"];
    let name = format!("estimates-{}", letter.to_lowercase());
    let mut sheet = Sheet::new(&name, &format!("Workload {letter}:"), header);
    let digits = [0, 0, 1, 1, 4];
    for (kib, figures) in ours {
        let theirs = theirs(*kib);
        let cell = |nth: usize| {
            let (digits, ours) = (digits[nth], figures[nth]);
            match theirs {
                Some(theirs) => format!("{ours:.digits$} ({:.digits$})", theirs[nth]),
                None => format!("{ours:.digits$}"),
            }
        };
        sheet.rows.push([kib.to_string()].into_iter().chain((0..5).map(cell)).collect());
    }
    sheet
}

/// The thesis's Figure 4.9 for a workload: bytes and dollars against block size, as multiples of their least.
fn picture(letter: &str, ours: &[(u64, Figures)], theirs: impl Fn(u64) -> Option<Figures>) -> Picture {
    let bytes = |figures: &Figures| figures[2] + figures[3];
    let min =
        |of: &dyn Fn(&Figures) -> f64| ours.iter().map(|(_, figures)| of(figures)).fold(f64::MAX, f64::min);
    let (min_bytes, min_dollars) = (min(&bytes), min(&|figures| figures[4]));
    let bars = |figures: &Figures| {
        let bar = |ratio: f64| ratio.is_finite().then_some(Bar { ratio, spread: None });
        vec![bar(bytes(figures) / min_bytes), bar(figures[4] / min_dollars)]
    };
    let groups = ours.iter().flat_map(|(kib, figures)| {
        let ours = Group { name: format!("{kib} KiB"), bars: bars(figures), quoted: false };
        let theirs = theirs(*kib);
        let theirs =
            theirs.map(|theirs| Group { name: "(thesis)".to_owned(), bars: bars(&theirs), quoted: true });
        [Some(ours), theirs].into_iter().flatten()
    });
    let series = |name: &str, colour| Series { name: name.to_owned(), colour, strength: 1.0 };
    let chart = Chart {
        scale: Scale::Ratios,
        title: format!("Workload {letter} without an ORAM, by block size"),
        what: "as multiples of our minimum; outlines: the thesis".to_owned(),
        groups: groups.collect(),
        series: vec![series("bytes moved", "#2f81f7"), series("dollars", "#d97706")],
    };
    Picture { name: format!("estimates-{}", letter.to_lowercase()), svg: chart.svg() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_dollars_follow_from_the_printed_requests_and_bytes() {
        let printed = Published::tables();
        for letter in ["C", "D"] {
            for kib in BLOCKS_KIB {
                let [reads, writes, down, up, dollars] = printed.estimate(letter, kib).unwrap();
                let usage = Usage {
                    slot_reads: reads as u64,
                    bucket_writes: writes as u64,
                    bytes_down: (down * MEGA) as u64,
                    bytes_up: (up * MEGA) as u64,
                    ..Usage::default()
                };
                let ours = figures(&usage)[4];
                assert!((ours - dollars).abs() < 0.006, "{letter}, {kib}: {ours}, printed {dollars}");
            }
        }
    }

    #[test]
    fn requests_and_bytes_are_those_of_objects_cut_into_blocks() {
        let options = Options::standard();
        let (_, job) = workload_job(&options, "C").unwrap();
        let [reads, writes, down, up, _] = figures(&block_traffic(&options, &job, 1024).unwrap());
        // The thesis's proxy uses 32 bytes of a block for itself, and marks the end of an object.
        let blocks = |bytes: u64| (bytes / ((1 << 20) - 32) + 1) as f64;
        let sum = |is_write| {
            let steps = job.steps.iter().filter(|step| step.writes == is_write);
            steps.map(|step| blocks(step.bytes(&job.sizes))).sum::<f64>()
        };
        assert_eq!([reads, writes], [sum(false), sum(true)]);
        assert_eq!([down, up], [reads, writes]);
    }
}
