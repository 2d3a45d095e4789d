//! The parts that run only if they are named: the speed over time, and the PLB.

use super::*;

/// The rows of a table that a part writes, each as its cells.
fn table(options: &Options, name: &str) -> Vec<Vec<String>> {
    let into = tempfile::tempdir().unwrap();
    let report = run_one(options).unwrap();
    report.write_into(&Folder::open(into.path()).unwrap(), &ReportMetadata::default()).unwrap();
    let text = fs::read_to_string(into.path().join(format!("{name}.csv"))).unwrap();
    assert!(into.path().join(format!("{name}.svg")).exists());
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap_or_else(|_| panic!("{cell:?} is not a number"))
}

#[test]
fn the_speed_over_time_goes_from_a_packed_tree_to_a_settled_one() {
    let of_part = |parts, misses| Options {
        parts,
        // In lower trees IR-Alloc has few background evictions, also in the end.
        levels: 17,
        misses,
        paces: vec![Pace::Free],
        ..options(&["rand", "picosat"], &["baseline", "ir-alloc"])
    };
    let rows = table(&of_part(vec![Part::OverTime], 7000), "over-time-free");
    assert_eq!(rows[0][1..4], ["programs", "ir-alloc: speed", "ir-alloc: speed since the start"]);
    let [_, first, second, settled] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!([&first[0], &second[0], &settled[0]], ["0 to 5000", "5000 to 7000", "settled"]);
    assert!(rows[1..].iter().all(|row| row[1] == "2"), "{rows:?}");
    let [early, later, at_last] = [first, second, settled].map(|row| number(&row[2]));
    let since_start = number(&second[3]);
    assert_eq!(first[2], first[3]);
    assert!(early > since_start && since_start > later && early > at_last, "{rows:?}");
    let [few, more, at_last] = [first, second, settled].map(|row| number(&row[4]));
    assert!(few < 0.7 * more && few < 0.7 * at_last, "{rows:?}");
    // The last row is what the figures have of a settled tree.
    let settled_figures = Options { start: Some(Start::Settled), ..of_part(vec![Part::Figures], 7000) };
    let figures = table(&settled_figures, "figure-10-free");
    let mean = figures.iter().find(|row| row[0] == "mean").unwrap();
    let column = figures[0].iter().position(|name| name == "ir-alloc").unwrap();
    assert_eq!(mean[column], settled[2]);
}

#[test]
fn more_ways_and_random_frames_let_the_plb_keep_a_line_s_positions_and_its_victim_s() {
    let mut options = Options { parts: vec![Part::Plb], misses: 3000, ..options(&["lbm-fill"], &[]) };
    // A block of the tree top costs its path.
    options.set("hits=stash-answers").unwrap();
    let rows = table(&options, "plb");
    let mappings: Vec<[&str; 2]> = rows[1..].iter().map(|row| [row[0].as_str(), row[1].as_str()]).collect();
    let all = ["virtual", "first-touch", "random"].map(|frames| ["1", "8"].map(|ways| [frames, ways]));
    assert_eq!(mappings, all.concat());
    // The names of columns with a comma take two cells.
    let of = |nth: usize| (number(&rows[nth + 1][2]), number(&rows[nth + 1][3]));
    let ((hits, paths), (hits_of_eight, paths_of_eight), (random_hits, random_paths)) = (of(0), of(1), of(4));
    assert!(hits_of_eight > hits + 20.0 && random_hits > hits + 20.0, "{rows:?}");
    assert!(paths > 2.0 * paths_of_eight && paths > 1.2 * random_paths, "{rows:?}");
}
