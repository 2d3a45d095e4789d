//! Table II of IR-ORAM: the misses of its programs, next to those of the programs that replace them.

use crate::report::{Section, Sheet};
use ameles_traces::programs;

/// Shows the table, with a line for each program of the paper that one of ours replaces. Each of our programs comes
/// with the names of the programs that it replaces. Beside them are its loads and stores per thousand instructions that
/// miss the last-level cache.
pub(super) fn show<'a>(
    section: &mut Section,
    programs: impl Iterator<Item = (&'a str, (&'a str, [String; 2]))>,
) {
    let published = programs::tables().expect("the table of the repository is sound").published;
    let header =
        ["the paper's program", "ours", "the paper's loads", "our loads", "the paper's stores", "our stores"];
    let title = "Table II: loads and stores that miss the last-level cache in a thousand instructions";
    let mut sheet = Sheet::new("table-2", title, header);
    for (name, (stands_for, [loads, stores])) in programs {
        let replaced =
            stands_for.split(' ').filter_map(|name| published.iter().find(|other| other.name == name));
        for other in replaced {
            let (suite, paper) = (&other.suite, &other.name);
            let [paper_loads, paper_stores] = [other.loads, other.stores].map(|rate| format!("{rate:?}"));
            sheet.rows.push(vec![
                format!("{paper} ({suite})"),
                name.to_owned(),
                paper_loads,
                loads.clone(),
                paper_stores,
                stores.clone(),
            ]);
        }
    }
    section.add_table(sheet);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_of_the_paper_is_beside_ours_that_replaces_it() {
        let mut section = Section::new("programs", "Programs");
        let rate = |rate: &str| [rate.to_owned(), "1.00".to_owned()];
        let programs = [
            ("xz", ("fre", rate("2.50"))),
            ("scan", ("", rate("9.00"))),
            ("python3-encode", ("bwa rom", rate("0.00"))),
        ];
        show(&mut section, programs.into_iter());
        let text = section.text();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        let expected = [
            ["fre (PARSEC)", "xz", "2.1", "2.50", "0.4", "1.00"],
            ["bwa (SPEC)", "python3-encode", "0.0", "0.00", "20.7", "1.00"],
            ["rom (SPEC)", "python3-encode", "0.02", "0.00", "23.0", "1.00"],
        ];
        assert_eq!(lines[2..], expected, "{text}");
        assert!(!text.contains("scan"));
    }
}
