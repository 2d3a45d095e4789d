//! The names of files in the book: a page that names a file of the source names one that is there.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Endings of files that a page means as files of this repository, wherever they stand.
const OURS: [&str; 1] = [".rs"];
/// Folders of this repository: what a page says to stand in them, stands there.
const FOLDERS: [&str; 13] = [
    "cli",
    "core",
    "docs",
    "examples",
    "hardware",
    "lab",
    "packaging",
    "paging",
    "simulation",
    "storage",
    "tests",
    "web",
    "xtask",
];

/// Lines of a page that name a file that is not there, with its name.
pub fn stale(page: &str, lines: &[&str], files: &BTreeSet<&str>) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
        let quoted = line.split('`').skip(1).step_by(2).filter(|name| !stands(name, files));
        let linked = links(line).filter(|target| !is_linked(page, target, files));
        found.extend(
            quoted.chain(linked).map(|name| (nth + 1, format!("names `{name}`, which is not there"))),
        );
    }
    found
}

/// True for a text that names no file of ours, or one that stands in the repository, from its root or from any folder.
fn stands(text: &str, files: &BTreeSet<&str>) -> bool {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let in_folder = text.split_once('/').is_some_and(|(folder, _)| FOLDERS.contains(&folder));
    let is_ours = in_folder || OURS.iter().any(|ending| text.ends_with(ending));
    let name = text.trim_end_matches('/');
    let parts = format!("/{name}");
    !is_plain
        || !is_ours
        || files.iter().any(|file| {
            let file = format!("/{file}");
            file.ends_with(&parts)
                || file.starts_with(&format!("{parts}/"))
                || file.contains(&format!("{parts}/"))
        })
}

/// The targets of a line's links, without those that lead out of the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let files = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    files.filter(|target| !target.is_empty() && !target.contains(':'))
}

fn is_linked(page: &str, target: &str, files: &BTreeSet<&str>) -> bool {
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    let path = path.to_string_lossy().into_owned();
    files.contains(path.as_str()) || files.iter().any(|file| file.starts_with(&format!("{path}/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_no_file_of_the_source_that_is_not_there() {
        let files = BTreeSet::from(["core/a/src/b/c.rs", "docs/d.md", "docs/how/e.md"]);
        let lines = [
            "`c.rs`, `b/c.rs`, `a/src/b/`, `core/a` and `docs/d.md` are there,",
            "`x.rs` is not,",
            "nor `core/a/tests/`, nor `a/src/c.rs`;",
            "`ameles.toml` is the user's, and `cargo run x.rs` no name;",
            "[there](../d.md#part), [there](e.md), [out](https://a.b/c.md), [not](d.md).",
        ];
        let found = stale("docs/how/e.md", &lines, &files);
        let places: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(places, [2, 3, 3, 5], "{found:?}");
    }
}
