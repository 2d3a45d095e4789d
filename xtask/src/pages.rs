//! The file names in the book: every source file that a page names must exist.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The endings of source files. A page that names such a file means a file of this repository, in any folder.
const SOURCE_ENDINGS: [&str; 1] = [".rs"];
/// The top folders of this repository. A path of a page that begins with one of them must exist.
const TOP_FOLDERS: [&str; 13] = [
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

/// Returns the lines of a page that name a missing file, each with a message.
pub fn missing_files(page: &str, lines: &[&str], files: &BTreeSet<&str>) -> Vec<(usize, String)> {
    let mut missing = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
        let quoted = line.split('`').skip(1).step_by(2).filter(|name| is_missing(name, files));
        let linked = links(line).filter(|target| !link_exists(page, target, files));
        missing.extend(quoted.chain(linked).map(|name| (nth + 1, format!("`{name}` does not exist"))));
    }
    missing
}

/// Returns true if a text names a file of this repository that exists neither at the root nor in any folder.
fn is_missing(text: &str, files: &BTreeSet<&str>) -> bool {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let in_folder = text.split_once('/').is_some_and(|(folder, _)| TOP_FOLDERS.contains(&folder));
    let is_repository_path = in_folder || SOURCE_ENDINGS.iter().any(|ending| text.ends_with(ending));
    let name = text.trim_end_matches('/');
    let parts = format!("/{name}");
    is_plain
        && is_repository_path
        && !files.iter().any(|file| {
            let file = format!("/{file}");
            file.ends_with(&parts)
                || file.starts_with(&format!("{parts}/"))
                || file.contains(&format!("{parts}/"))
        })
}

/// Returns the targets of a line's links, without links that lead out of the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let files = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    files.filter(|target| !target.is_empty() && !target.contains(':'))
}

fn link_exists(page: &str, target: &str, files: &BTreeSet<&str>) -> bool {
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
        let missing = missing_files("docs/how/e.md", &lines, &files);
        let places: Vec<usize> = missing.iter().map(|(line, _)| *line).collect();
        assert_eq!(places, [2, 3, 3, 5], "{missing:?}");
    }
}
