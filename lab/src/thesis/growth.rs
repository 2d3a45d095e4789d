//! The thesis's Table 3.1, measured. For a series of sizes it has the blocks that each scheme moves and trusts, and the
//! form of growth that fits them best.

use super::error::ThesisError;
use super::growth_form::{self, FORMS, Form};
use super::job::{Job, Step};
use super::options::Options;
use super::published::Published;
use super::run_result::RunResult;
use super::trial::Trial;
use super::workload_runs::QUICK_SIZES;
use super::{partitions, ring_variants, schemes};
use crate::bench::Progress;
use crate::report::{Section, Sheet};
use rand_chacha::ChaCha12Rng;
use rand_core::{RngCore, SeedableRng};

/// The size of a block in bytes. Blocks are large, so that tables of a few bytes for each block do not count.
const BLOCK_BYTES: u64 = 16 << 20;

/// The numbers of blocks: those of the thesis's ORAM in blocks of 16 MB to 64 KB.
const SIZES: [u64; 5] = [320, 1280, 5120, 20_480, 81_920];

/// A scheme of Table 3.1.
struct GrowthScheme {
    /// The scheme's name in the table.
    name: &'static str,
    /// The maximum number of blocks with which the scheme is run.
    max: u64,
    /// The accesses of a run.
    accesses: fn(u64) -> u64,
    run: fn(&Trial<'_>) -> Result<RunResult, ThesisError>,
}

const SCHEMES: [GrowthScheme; 8] = [
    GrowthScheme { name: "Trivial", max: u64::MAX, accesses: |_| 4, run: schemes::trivial },
    // A rebuild comes after each square root of N accesses.
    GrowthScheme { name: "Square-Root", max: 5120, accesses: root, run: schemes::square_root },
    GrowthScheme {
        name: "Hierarchical",
        max: 1280,
        accesses: |blocks| 2 * blocks,
        run: schemes::hierarchical,
    },
    GrowthScheme { name: "PracticalOS", max: u64::MAX, accesses: root, run: schemes::paper_practical_os },
    GrowthScheme { name: "PathORAM", max: u64::MAX, accesses: |_| 256, run: schemes::paper_path },
    GrowthScheme { name: "RingORAM", max: u64::MAX, accesses: |_| 960, run: ring_variants::thesis_ring },
    GrowthScheme {
        name: "ObliviStore",
        max: u64::MAX,
        accesses: |blocks| blocks,
        run: partitions::concurrent_oblivistore,
    },
    GrowthScheme { name: "CURIOUS", max: u64::MAX, accesses: |_| 256, run: partitions::concurrent_curious },
];

fn root(blocks: u64) -> u64 {
    let root = blocks.isqrt();
    root + u64::from(root * root < blocks)
}

const NOTES: &str = "A run begins full, but for the hierarchical scheme, and accesses blocks at random. Trusted tables of a few \
bytes for each block are not counted, as in Table 3.1: they are O(N). \
PracticalOS: the printed O(1) counts messages of √N blocks, without the shuffles; here each block counts, shuffles too. \
Square-Root: the trusted side holds two runs of four blocks, as the printed O(1) asks. It sorts by Batcher's network, \
whose (log N)² the printed log N leaves out. Hierarchical: it begins empty and is run for 2 N accesses, with so few sizes that no form is fitted; its runs are \
as long as its largest bucket. Ring ORAM: Z, S, A and the stash are the thesis's for every N. ObliviStore: the printed \
O(N) of local memory are its tables; here its cache counts, which is about √N. CURIOUS: Table 3.1 says \"tunable\"; this is √N trees.";

/// The figures of a run.
struct Point {
    blocks: u64,
    /// The number of blocks moved for an access, of requests for an access, and of trusted blocks.
    figures: [f64; 3],
}

/// Runs all schemes, and returns the section of the report about their growth.
///
/// # Errors
/// The errors of a run.
pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Section, ThesisError> {
    let sizes = if options.quick { &SIZES[..QUICK_SIZES] } else { &SIZES[..] };
    let all = (SCHEMES.len() * sizes.len()) as u64;
    let mut section = Section::new("growth", "Growth with the number of blocks N (Table 3.1)");
    let printed = Published::tables();
    let mut fits = Sheet::new(
        "growth",
        "The form a + b · f(N) that fits the measured figures best, and the error of it and of the printed form (root mean square):",
        [
            "scheme",
            "moved, printed",
            "moved, measured",
            "off, %",
            "printed form off, %",
            "trusted, printed",
            "trusted, measured",
            "off, %",
        ],
    );
    let header = || ["scheme".to_owned()].into_iter().chain(sizes.iter().map(|size| format!("N = {size}")));
    let mut sheets = [
        Sheet::new("growth-moved", "Blocks moved for an access:", header()),
        Sheet::new("growth-requests", "Requests for an access:", header()),
        Sheet::new("growth-trusted", "Trusted blocks:", header()),
    ];
    // The machine takes longer for this one than for all others together.
    let is_run = |scheme: &GrowthScheme| !options.quick || scheme.name != "Hierarchical";
    for (nth, scheme) in SCHEMES.iter().enumerate().filter(|(_, scheme)| is_run(scheme)) {
        let mut points = Vec::new();
        for (size, blocks) in sizes.iter().enumerate().filter(|(_, blocks)| **blocks <= scheme.max) {
            let done = (nth * sizes.len() + size) as u64;
            progress.on_step(&format!("{}, {blocks} blocks", scheme.name), done, all);
            points.push(point(options, scheme, *blocks)?);
        }
        let (overhead, local) = printed.asymptotics(scheme.name).unwrap_or(("", ""));
        fits.rows.push(fit(scheme.name, overhead, local, &points));
        for (figure, sheet) in sheets.iter_mut().enumerate() {
            let cells = points.iter().map(|point| format!("{:.1}", point.figures[figure]));
            let row = [scheme.name.to_owned()].into_iter().chain(cells);
            let gaps = std::iter::repeat_n("–".to_owned(), sizes.len() - points.len());
            sheet.rows.push(row.chain(gaps).collect());
        }
    }
    section.add_table(fits);
    section.add_text(NOTES);
    sheets.into_iter().for_each(|sheet| section.add_table(sheet));
    Ok(section)
}

fn point(options: &Options, scheme: &GrowthScheme, blocks: u64) -> Result<Point, ThesisError> {
    let mut random = ChaCha12Rng::seed_from_u64(options.seed ^ blocks);
    let mut step = || Step::whole(false, (random.next_u64() % blocks) as usize);
    let job = Job {
        sizes: vec![1; blocks as usize],
        steps: (0..(scheme.accesses)(blocks)).map(|_| step()).collect(),
        ..Job::default()
    };
    let trial = Trial { oram_bytes: blocks * BLOCK_BYTES, ..Trial::of(&job, BLOCK_BYTES, options) };
    let result = (scheme.run)(&trial)?;
    let accesses = result.accesses.max(1) as f64;
    let moved = (result.usage.bytes_up + result.usage.bytes_down) as f64 / BLOCK_BYTES as f64;
    let requests = result.usage.requests() as f64;
    let trusted = result.local_bytes as f64 / BLOCK_BYTES as f64;
    Ok(Point { blocks, figures: [moved / accesses, requests / accesses, trusted] })
}

/// The row of a scheme's forms.
fn fit(name: &str, overhead: &str, local: &str, points: &[Point]) -> Vec<String> {
    let of = |figure: usize| -> Vec<(f64, f64)> {
        points.iter().map(|point| (point.blocks as f64, point.figures[figure])).collect()
    };
    let (moved, trusted) = (of(0), of(2));
    let percent = |form: Option<&Form>, points: &[(f64, f64)]| {
        form.map_or_else(
            || "–".to_owned(),
            |form| format!("{:.1}", 100.0 * growth_form::relative_error(form, points)),
        )
    };
    // Two figures meet every form.
    let best =
        |points: &[(f64, f64)]| if points.len() < 3 { None } else { growth_form::best_fit(&FORMS, points) };
    let shown = |form: Option<&Form>| form.map_or("–", |form| form.name).to_owned();
    let (of_moved, of_trusted) = (best(&moved), best(&trusted));
    vec![
        name.to_owned(),
        overhead.to_owned(),
        shown(of_moved),
        percent(of_moved, &moved),
        percent(growth_form::from_printed(overhead), &moved),
        local.to_owned(),
        shown(of_trusted),
        percent(of_trusted, &trusted),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(name: &str) -> Vec<Point> {
        let scheme = SCHEMES.iter().find(|scheme| scheme.name == name).unwrap();
        SIZES[..3].iter().map(|blocks| point(&Options::standard(), scheme, *blocks).unwrap()).collect()
    }

    #[test]
    fn trivial_oram_moves_all_blocks_twice_and_that_is_linear() {
        let points = points("Trivial");
        for point in &points {
            let is = point.figures[0] / (2 * point.blocks) as f64;
            assert!((is - 1.0).abs() < 0.01, "{} blocks: {is}", point.blocks);
        }
        assert_eq!(fit("Trivial", "O(N)", "O(1)", &points)[2], "N");
    }

    #[test]
    fn path_oram_moves_a_path_down_and_up_and_that_is_logarithmic() {
        let points = points("PathORAM");
        // With four times the blocks a path has two more buckets of four blocks.
        for pair in points.windows(2) {
            let more = pair[1].figures[0] - pair[0].figures[0];
            assert!((more - 2.0 * 2.0 * 4.0).abs() < 0.1, "{more}");
        }
        assert_eq!(fit("PathORAM", "O(log N)", "O(log N) w(1)", &points)[2], "log N");
    }
}
