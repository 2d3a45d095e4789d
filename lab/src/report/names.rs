//! Names of files and of places in a page.

use std::collections::BTreeSet;

/// The names in use.
#[derive(Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// A name of letters, digits and hyphens that is not used yet. It cannot lead out of the folder, for any name of a
    /// workload.
    pub(super) fn unique(&mut self, wanted: &str) -> String {
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let name: String = wanted.chars().take(100).map(plain).collect();
        let name = if name.is_empty() { "part".to_owned() } else { name };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut names = [name.clone()].into_iter().chain(numbered);
        let name = names.find(|name| !self.0.contains(name)).unwrap_or(name);
        self.0.insert(name.clone());
        name
    }
}

/// Returns whether a file has a name that a report gives.
pub(super) fn is_report_file(file: &str) -> bool {
    let plain = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
    };
    [".csv", ".svg"].iter().any(|ending| file.strip_suffix(ending).is_some_and(plain))
}
