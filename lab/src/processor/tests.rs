//! The lab from end to end, on a small tree.

mod parts;

use super::*;
use crate::bench::Silent;
use ameles_core::schemes::freecursive::TrustedHits;
use ameles_dram::Specification;
use ameles_simulator::pace::Pace;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Short runs in the lowest tree that has PosMap paths. The tree starts packed: to settle takes longer than the runs.
fn options(programs: &[&str], schemes: &[&str]) -> Options {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Options {
        levels: 18,
        start: Some(Start::Packed),
        programs: names(programs),
        schemes: names(schemes),
        misses: 300,
        threads: 2,
        ..Options::quick(Preset::Machine)
    }
}

fn traces(paths: &[&Path]) -> TraceOptions {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    TraceOptions { paths, ..TraceOptions::default() }
}

/// The same options, with the tree in the state that the preset says.
fn with_start_of_preset(options: Options) -> Options {
    Options { start: None, ..options }
}

fn run_one(options: &Options) -> Result<Report, ProcessorError> {
    run(std::slice::from_ref(options), &Silent)
}

fn csv(options: &Options) -> String {
    let report = run_one(options).unwrap();
    let mut csv = Vec::new();
    report.write_csv(&mut csv).unwrap();
    String::from_utf8(csv).unwrap()
}

#[test]
fn three_short_traces_match_their_stored_digests() {
    let options = options(&["cc1", "xz", "recommender"], &["baseline", "ir-oram", "llc-d"]);
    let found = csv(&with_start_of_preset(options));
    assert_eq!(
        found,
        include_str!("golden.csv"),
        "the simulation has changed: see what did, then keep the new digits"
    );
}

#[test]
fn the_number_of_threads_changes_no_digit_and_the_seed_does() {
    let two = options(&["zipf", "picosat"], &["baseline"]);
    let one = Options { threads: 1, ..two.clone() };
    assert_eq!(csv(&two), csv(&one));
    assert_ne!(csv(&two), csv(&Options { seeds: 2..3, ..two.clone() }));
}

#[test]
fn a_trace_in_usimm_s_text_runs_and_a_bad_one_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.trace");
    let trace = Options { traces: traces(&[&path]), ..options(&[], &["baseline"]) };
    fs::write(&path, "10 R 0x7fff0040 0x400000\n3 W 0x10000\n").unwrap();
    assert!(csv(&trace).lines().nth(1).unwrap().starts_with("machine,mine,baseline,end:1000,"));
    fs::write(&path, "10 R 0x7fff0040 0x400000\n3 X 0x10000\n").unwrap();
    let message = run_one(&trace).err().unwrap().to_string();
    assert!(message.contains("mine.trace") && message.contains("line 2"), "{message}");
    fs::write(&path, "\n").unwrap();
    let error = run_one(&trace).err().unwrap();
    assert!(error.is_of_options() && error.to_string().ends_with("more instructions or misses"), "{error}");
}

/// The numbers of a line of a table, after its first two cells.
fn numbers(line: &str) -> Vec<f64> {
    line.split(',').skip(2).map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn traces_side_by_side_share_the_oram_and_each_core_is_compared_with_its_trace_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["one.trace", "other.trace"].map(|name| folder.path().join(name));
    let text = |gap: u64, first: u64| {
        (0..200).map(|nth| format!("{gap} R 0x{:x}\n", (first + nth * 577 % 20_000) << 6)).collect::<String>()
    };
    fs::write(&one, text(400, 0)).unwrap();
    fs::write(&other, text(40_000, 1 << 20)).unwrap();
    let options = Options { traces: traces(&[&one, &other]), ..options(&[], &["baseline", "llc-d"]) };
    let report = run_one(&options).unwrap();
    assert!(report.rows().iter().all(|row| row.program == "one+other"));
    let into = tempfile::tempdir().unwrap();
    report.write_into(&Folder::open(into.path()).unwrap(), &ReportMetadata::default()).unwrap();
    let table = |name: &str| fs::read_to_string(into.path().join(name)).unwrap();
    let all = table("figures.csv");
    let cycles = |program: &str, scheme: &str| -> f64 {
        let line =
            all.lines().find(|line| line.starts_with(&format!("machine,{program},{scheme},"))).unwrap();
        line.split(',').nth(5).unwrap().parse().unwrap()
    };
    let cores = table("cores-end-1000.csv");
    assert!(cores.starts_with(
        "program,scheme,cycles,weighted speedup,speed over Baseline's,core 1: cycles,core 2: cycles"
    ));
    let sums: Vec<f64> = cores
        .lines()
        .skip(1)
        .zip(["baseline", "llc-d"])
        .map(|(line, scheme)| {
            let [all, weighted, over, first, second] = numbers(line)[..] else { panic!("{line}") };
            assert!(line.starts_with(&format!("one+other,{scheme},")) && all == first.max(second), "{line}");
            let alone = ["one", "other"].map(|program| cycles(program, scheme));
            let expected = alone[0] / first + alone[1] / second;
            assert!((weighted - expected).abs() < 0.006, "{line}: {expected}");
            // They share the paths, so both take longer, but less time than one after the other.
            assert!(first > alone[0] && second > alone[1] && all < alone[0] + alone[1], "{line}: {alone:?}");
            assert!(scheme != "baseline" || over == 1.0);
            ["one", "other"]
                .map(|program| cycles(program, "baseline"))
                .iter()
                .zip([first, second])
                .map(|(alone, end)| alone / end)
                .sum()
        })
        .collect();
    let over = numbers(cores.lines().nth(2).unwrap())[2];
    assert!((over - sums[1] / sums[0]).abs() < 0.006, "{over}");
    // Two cores of one trace each, and then a memory that has a part too small for them.
    let copies = Options { traces: TraceOptions { cores: Some(2), ..traces(&[&one]) }, ..options.clone() };
    assert!(run_one(&copies).unwrap().rows().iter().all(|row| row.program == "one x2"));
    let mut small = copies;
    small.set("lines=10000").unwrap();
    let message = run_one(&small).err().unwrap().to_string();
    assert!(message.starts_with("one x2: the 10000 lines") && message.contains("choose lines="), "{message}");
}

#[test]
fn gaps_of_2_to_the_32_instructions_end_in_their_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gap.trace");
    let trace = Options { traces: traces(&[&path]), paces: vec![Pace::Free], ..options(&[], &["baseline"]) };
    fs::write(&path, "4294967295 R 0x40\n".repeat(3)).unwrap();
    // 2^30 cycles to each load. All but the first hit.
    let cycles: u64 = csv(&trace).lines().nth(1).unwrap().split(',').nth(5).unwrap().parse().unwrap();
    assert!((3 << 30..(3 << 30) + 10_000).contains(&cycles), "{cycles}");
}

#[test]
fn programs_without_room_are_listed_with_the_tree_that_has_room() {
    let small = Options { levels: 11, ..options(&["cc1", "xz", "scan"], &["baseline"]) };
    let error = run_one(&small).err().unwrap();
    let message = error.to_string();
    assert!(
        error.is_of_options() && message.starts_with("cc1, xz: the 4096 lines of the memory"),
        "{message}"
    );
    let levels = message.split("choose --levels ").nth(1).unwrap().split(' ').next().unwrap();
    let levels: u32 = levels.parse().unwrap();
    let all = |levels| programs::all(&Options { levels, ..small.clone() }, 26).map(|all| all.len());
    assert_eq!(all(levels).unwrap(), 3);
    assert!(all(levels - 1).is_err());
    let mut set = Options { levels: 18, ..small.clone() };
    set.set("lines=4096").unwrap();
    let message = run_one(&set).err().unwrap().to_string();
    assert!(message.contains("choose lines="), "{message}");
    let filling = Options { parts: vec![Part::Utilisation], ..small };
    let message = run_one(&filling).err().unwrap().to_string();
    assert!(message.starts_with("cc1, lbm: the 4096 lines"), "{message}");
    let low = Options { levels: 9, ..filling };
    assert!(run_one(&low).err().unwrap().to_string().contains("choose 11 to 26"));
    let search = Options { levels: 11, parts: vec![Part::Scaling], ..low };
    let error = run_one(&search).err().unwrap();
    assert!(error.is_of_options() && error.to_string().contains("choose 12 to 26"), "{error}");
}

/// The figures of all parts, as a folder.
#[test]
fn a_report_has_each_figure_of_the_paper_as_a_table_and_a_picture() {
    let schemes = [
        "baseline",
        "ir-alloc",
        "ir-stash",
        "ir-dwb",
        "ir-oram",
        "llc-d",
        "llc-d-stash-alloc",
        "sound-baseline",
    ];
    let figures = Options { parts: vec![Part::Figures], misses: 100, ..options(&["xz", "zipf"], &schemes) };
    // The lowest tree that has room for the programs of the part.
    let filling = Options { parts: vec![Part::Utilisation], levels: 15, ..figures.clone() };
    let report = run(&[figures, filling], &Silent).unwrap();
    let folder = tempfile::tempdir().unwrap();
    report.write_into(&Folder::open(folder.path()).unwrap(), &ReportMetadata::default()).unwrap();
    let drawn =
        ["figure-2", "figure-6", "figure-10", "figure-11", "figure-14", "figure-15", "energy", "sound"];
    let of_rate = drawn.map(|name| format!("{name}-end-1000"));
    let names = ["figure-3-4-drawn", "figure-3-4-run", "figure-13-drawn", "figure-13-run"].map(str::to_owned);
    for name in of_rate.iter().chain(&names) {
        for ending in ["csv", "svg"] {
            let file = folder.path().join(format!("{name}.{ending}"));
            assert!(fs::metadata(&file).is_ok_and(|about| about.len() > 20), "{}", file.display());
        }
    }
    let table = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let speeds = table("figure-10-end-1000.csv");
    let lines: Vec<&str> = speeds.lines().map(|line| line.split(',').next().unwrap()).collect();
    let expected = [
        "program",
        "xz",
        "zipf",
        "mean",
        "the paper's mean",
        "difference",
        "KiB on chip",
        "by fewer paths",
        "by shorter paths",
    ];
    assert_eq!(lines, expected);
    assert!(
        table("means.csv")
            .lines()
            .any(|line| line.starts_with("Figure 10,end:1000,ir-alloc,") && line.contains(",1.41,"))
    );
}

#[test]
fn sizes_of_buckets_are_searched_for_a_tree_and_those_one_level_lower_and_higher() {
    let mut options = Options { parts: vec![Part::Scaling], levels: 13, ..options(&[], &[]) };
    // The traces keep within the lines that are set.
    options.set("lines=5000").unwrap();
    let report = run_one(&options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    report.write_into(&Folder::open(folder.path()).unwrap(), &ReportMetadata::default()).unwrap();
    let table = fs::read_to_string(folder.path().join("figure-16.csv")).unwrap();
    let levels: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(levels, ["12", "13", "14"]);
    assert!(table.lines().skip(1).all(|line| line.split(',').nth(1) == Some("312 KiB")), "{table}");
}

#[test]
fn the_quick_run_has_room_for_every_program() {
    assert_eq!(programs::all(&Options::quick(Preset::Machine), 26).unwrap().len(), 20);
}

#[test]
fn a_name_that_is_unknown_is_refused_with_those_that_there_are() {
    let message = run_one(&options(&["chess"], &[])).err().unwrap().to_string();
    assert!(message.contains("program chess is unknown: choose cc1"), "{message}");
}

#[test]
fn what_is_named_twice_runs_once_in_the_order_of_its_first_mention() {
    let paces = [Pace::Idle(250), Pace::Free, Pace::Idle(250)];
    let twice = Options {
        parts: vec![Part::Figures; 2],
        paces: paces.into(),
        ..options(&["zipf", "zipf"], &["llc-d", "baseline", "llc-d"])
    };
    let report = run_one(&twice).unwrap();
    let mut runs: Vec<(&str, &str)> =
        report.rows().iter().map(|row| (row.scheme.as_str(), row.pace.as_str())).collect();
    runs.sort_unstable();
    assert_eq!(
        runs,
        [("baseline", "free"), ("baseline", "idle:250"), ("llc-d", "free"), ("llc-d", "idle:250")]
    );
    let once = twice.without_duplicates();
    assert_eq!(once.schemes, ["llc-d", "baseline"]);
    assert_eq!(once.paces, paces[..2]);
}

#[test]
fn the_table_of_programs_counts_the_misses_of_the_last_level_cache_that_the_runs_have() {
    let mut options = options(&["bzip2", "zipf"], &["baseline"]);
    options.set("llc=65536").unwrap();
    options.set("block=256").unwrap();
    let report = run_one(&options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    report.write_into(&Folder::open(folder.path()).unwrap(), &ReportMetadata::default()).unwrap();
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("a last-level cache of 64 KiB with lines of 256 B in"));
    let table = fs::read_to_string(folder.path().join("programs.csv")).unwrap();
    for (line, row) in table.lines().skip(1).zip(report.rows()) {
        let processor = row.outcome.processor;
        let kilo = |count: u64| format!("{:.2}", 1000.0 * count as f64 / processor.instructions as f64);
        let counted = [processor.loads, processor.stores, processor.written_back].map(kilo).join(",");
        assert!(line.starts_with(&row.program) && line.ends_with(&counted), "{line}: {counted}");
    }
}

#[test]
fn a_program_without_misses_is_in_no_mean_of_speeds_and_the_report_says_so() {
    let report =
        run_one(&options(&["gzip", "xz"], &["baseline", "ir-alloc", "ir-alloc1", "ir-oram"])).unwrap();
    let folder = tempfile::tempdir().unwrap();
    report.write_into(&Folder::open(folder.path()).unwrap(), &ReportMetadata::default()).unwrap();
    let cells = |table: &str, program: &str| -> Vec<String> {
        let table = fs::read_to_string(folder.path().join(table)).unwrap();
        let line = table.lines().find(|line| line.starts_with(&format!("{program},"))).unwrap();
        line.split(',').skip(1).map(str::to_owned).collect()
    };
    for speeds in ["figure-10-end-1000.csv", "figure-12-end-1000.csv"] {
        assert!(cells(speeds, "gzip").iter().all(String::is_empty), "{speeds}");
        assert_eq!(cells(speeds, "mean"), cells(speeds, "xz"), "{speeds}");
    }
    // Its dummies still take energy, which counts in the mean.
    assert_ne!(cells("energy-end-1000.csv", "mean"), cells("energy-end-1000.csv", "xz"));
    assert!(cells("energy-end-1000.csv", "gzip").iter().all(|cell| !cell.is_empty()));
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("Nothing of gzip misses the last-level cache after the warm-up"), "{page}");
    let silent = report.rows().iter().filter(|row| row.is_silent());
    assert!(silent.map(|row| row.program.as_str()).all(|program| program == "gzip"));
}

#[test]
fn requests_are_found_in_the_top_of_the_tree_that_runs_and_not_of_the_paper_s() {
    let mut options = with_start_of_preset(options(&["zipf"], &["sound-baseline"]));
    options.set("top=6").unwrap();
    options.set("llc=4096").unwrap();
    let report = run_one(&options).unwrap();
    let row = &report.rows()[0];
    let counts = row.counts();
    let (on_top, below) = counts.found.split_at(6);
    let on_top = counts.stash_hits + counts.found_in_stash + on_top.iter().sum::<u64>();
    let all = on_top + counts.fresh + below.iter().sum::<u64>();
    assert!(below[..4].iter().sum::<u64>() > 0, "levels 6 to 9 have none");
    assert_eq!(row.top_share(), on_top as f64 / all as f64);
}

/// The clock of a memory need not divide the processor's, and super-rows may be smaller than DDR3's.
#[test]
fn every_named_memory_runs_in_a_time_of_its_own_and_ddr3_is_the_default() {
    let default = Options { paces: vec![Pace::Free], ..options(&["scan"], &["baseline"]) };
    let named = |name| csv(&Options { memory: Specification::preset(name), ..default.clone() });
    assert_eq!(named("ddr3"), csv(&default));
    let all = Specification::PRESETS.map(named);
    let times: BTreeSet<u64> = all
        .iter()
        .map(|csv| csv.lines().nth(1).unwrap().split(',').nth(5).unwrap().parse().unwrap())
        .collect();
    assert_eq!(times.len(), Specification::PRESETS.len(), "{times:?}");
}

/// The paths that the authors' logs print: 24 levels of which ten are on chip.
#[test]
fn the_machine_of_the_authors_has_the_paths_of_their_logs() {
    let authors = Options { paces: vec![Pace::Free], ..Options::of(Preset::Authors) };
    let all = schemes::configurations(&authors).unwrap();
    let of = |scheme: &str| all.iter().find(|named| named.scheme == scheme).unwrap();
    for (scheme, blocks) in [("baseline", 56), ("ir-alloc", 36), ("ir-stash", 56), ("ir-stash-alloc", 41)] {
        assert_eq!(of(scheme).path_blocks, blocks, "{scheme}");
        let configuration = &of(scheme).configuration;
        assert_eq!(configuration.memory.geometry.channels, 1);
        assert_eq!(configuration.subtree_levels, Some(5), "31 buckets of four in 8 KiB");
    }
    let small = of("rho").configuration.small_tree.clone().unwrap();
    assert_eq!(2 * (small.levels - small.top_levels), 26);
    assert_eq!((small.sets, small.ways, small.paths), (16_000, 10, 0));
    let hits = |scheme| of(scheme).configuration.oram.hits;
    assert_eq!((hits("baseline"), hits("ir-stash")), (TrustedHits::StashAnswers, TrustedHits::AnswerAtOnce));
    let logs = logs::Logs::published();
    for (scheme, run) in logs.by_scheme().filter(|(scheme, _)| *scheme != "ir-dwb") {
        assert_eq!(of(scheme).path_blocks, run.blocks_a_path, "{scheme}");
    }
}

/// The tree has 18 levels. Contiguous pages let dirty victims and misses share a set of the PLB, whose PosMap blocks
/// IR-Stash finds in the tree top.
#[test]
fn machines_are_compared_program_by_program_with_the_logs() {
    let of = |preset| {
        let Options { frames, start, channels, .. } = Options::of(preset);
        let same = options(&["lbm-fill", "cc1"], &["baseline", "ir-alloc", "ir-stash"]);
        Options { preset, frames, start, channels, paces: vec![Pace::Free], ..same }
    };
    let report = run(&[of(Preset::Authors), of(Preset::Machine)], &Silent).unwrap();
    let folder = tempfile::tempdir().unwrap();
    report.write_into(&Folder::open(folder.path()).unwrap(), &ReportMetadata::default()).unwrap();
    let table = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let means = table("comparison.csv");
    assert!(
        means.starts_with("figure,scheme,the paper,\"as authors, free\",\"as machine, free\""),
        "{means}"
    );
    let of_alloc = table("logs-ir-alloc.csv");
    assert!(of_alloc.lines().any(|line| line.starts_with("cc1,gcc,1.30,18.0,96,")), "{of_alloc}");
    assert!(of_alloc.lines().last().unwrap().starts_with("mean,,1.38,13.0,97,"), "{of_alloc}");
    for name in ["figure-10-free.csv", "figure-10-free-authors.csv", "figure-14-free-authors.svg"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
    let posmap = |preset: Preset, scheme: &str| {
        let rows = report.rows().iter().filter(|row| (row.preset, row.scheme.as_str()) == (preset, scheme));
        rows.map(|row| row.counts().posmap_paths()).sum::<u64>() as f64
    };
    let share = |preset| posmap(preset, "ir-stash") / posmap(preset, "baseline");
    assert!(
        share(Preset::Authors) < 0.5 && share(Preset::Machine) > 0.8,
        "{} and {}",
        share(Preset::Authors),
        share(Preset::Machine)
    );
}
