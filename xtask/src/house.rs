//! The step `house`: rules of the project that no Rust tool checks. They cover the lengths of files, the fields of
//! structs, the style of comments, and retired words. They also cover cycles of imports and the file names in the book.

use crate::imports::Files;
use crate::pages;
use crate::retired_words::RetiredWords;
use crate::tool::{command, output};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// The maximal number of lines of a source file.
const MAX_FILE_LINES: usize = 500;
/// The maximal number of fields of a struct that gives no reason.
const MAX_FIELDS: usize = 15;
/// The comment that gives the reason for a wider struct.
const WIDE: &str = "// Wide: ";
/// The maximal number of words of the README.
const MAX_README_WORDS: usize = 500;
/// The words with which no comment may begin: they stand for a noun that the reader must guess.
const OPENINGS: [&str; 21] = [
    "Who", "Whoever", "What", "Whatever", "One", "None", "Nobody", "Whether", "How", "Where", "Why", "When",
    "Which", "That", "It", "Its", "They", "Their", "Those", "So", "Of",
];
/// A place that breaks a rule.
struct Violation {
    file: String,
    line: usize,
    rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.rule)
    }
}

/// Checks every source file that git tracks, the imports between them, and the pages of the book.
pub fn check() -> Result<()> {
    let tracked = output(command("git").arg("ls-files"))?;
    let files: BTreeSet<&str> = tracked.lines().filter(|file| Path::new(file).exists()).collect();
    let mut violations = Vec::new();
    let retired = RetiredWords::read()?;
    for file in files.iter().filter(|file| RetiredWords::apply_to(file)) {
        let text = std::fs::read_to_string(file).with_context(|| format!("reading {file}"))?;
        let lines: Vec<&str> = text.lines().collect();
        let mut found = retired.find_in(file, &lines);
        if file.ends_with(".rs") {
            found.extend(too_long(&lines).into_iter().chain(too_wide(&lines)).chain(comment_style(&lines)));
        } else if file.ends_with(".md") {
            found.extend(pages::missing_files(file, &lines, &files));
        }
        violations.extend(found.into_iter().map(|(line, rule)| Violation {
            file: (*file).into(),
            line,
            rule,
        }));
    }
    let words = std::fs::read_to_string("README.md").context("reading README.md")?.split_whitespace().count();
    if words > MAX_README_WORDS {
        let rule = format!("{words} words; at most {MAX_README_WORDS}: move details into the book");
        violations.push(Violation { file: "README.md".into(), line: 1, rule });
    }
    violations.extend(cycles(&files)?);
    for violation in &violations {
        eprintln!("{violation}");
    }
    ensure!(violations.is_empty(), "{} places break a rule of the step `house`", violations.len());
    Ok(())
}

/// Returns the cycles of imports between the files of each crate.
fn cycles(files: &BTreeSet<&str>) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    let crates =
        files.iter().filter_map(|file| Path::new(file).parent().filter(|_| file.ends_with("Cargo.toml")));
    for sources in crates.map(|folder| folder.join("src")).filter(|sources| sources.is_dir()) {
        for cycle in Files::read(&sources)?.cycles() {
            let files: Vec<String> = cycle.iter().map(|file| file.display().to_string()).collect();
            let rule = format!("imports in a cycle: {}", files.join(", "));
            violations.push(Violation { file: files[0].clone(), line: 1, rule });
        }
    }
    Ok(violations)
}

fn too_long(lines: &[&str]) -> Option<(usize, String)> {
    let is_too_long = lines.len() > MAX_FILE_LINES;
    is_too_long
        .then(|| (MAX_FILE_LINES, format!("{} lines; at most {MAX_FILE_LINES}: split the file", lines.len())))
}

/// Returns structs with too many fields. rustfmt puts each field on its own line.
fn too_wide(lines: &[&str]) -> Vec<(usize, String)> {
    let mut violations = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let is_struct = line.split_whitespace().any(|word| word == "struct") && line.ends_with('{');
        if !is_struct || line.trim_start().starts_with("//") {
            continue;
        }
        let end = format!("{:indent$}}}", "");
        let body: Vec<&str> = lines[nth + 1..].iter().copied().take_while(|line| **line != end).collect();
        let fields = body.iter().filter(|line| is_field(line, indent + 4)).count();
        if fields > MAX_FIELDS && !body.iter().any(|line| line.trim_start().starts_with(WIDE)) {
            let rule = format!(
                "{fields} fields; at most {MAX_FIELDS}: split the struct, or give the reason inside it as `{WIDE}…`"
            );
            violations.push((nth + 1, rule));
        }
    }
    violations
}

fn is_field(line: &str, indent: usize) -> bool {
    let field = line.trim_start();
    let name = field.split(": ").next().unwrap_or_default().rsplit(' ').next().unwrap_or_default();
    line.len() - field.len() == indent
        && field.contains(": ")
        && !field.starts_with(['/', '#'])
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '#')
}

/// Returns comments that begin with a word of `OPENINGS`.
fn comment_style(lines: &[&str]) -> Vec<(usize, String)> {
    let mut violations = Vec::new();
    let mut is_in_comment = false;
    for (nth, line) in lines.iter().enumerate() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            is_in_comment = false;
            continue;
        };
        let comment = comment.trim();
        let opening = comment.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        if !is_in_comment && OPENINGS.contains(&opening) {
            let rule =
                format!("begins with `{opening}`: begin with a verb (`Returns …`) or a noun (`The …`)");
            violations.push((nth + 1, rule));
        }
        is_in_comment = true;
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(violations: Vec<(usize, String)>) -> Vec<usize> {
        violations.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_file_may_be_as_long_as_the_rule_says_and_no_longer() {
        assert!(too_long(&[""; MAX_FILE_LINES]).is_none());
        assert!(too_long(&[""; MAX_FILE_LINES + 1]).is_some());
    }

    #[test]
    fn a_wide_struct_needs_a_reason() {
        let fields: Vec<String> = (0..=MAX_FIELDS).map(|nth| format!("    pub field_{nth}: u64,")).collect();
        let with = |before: &[&'static str], fields: &[String]| {
            let mut lines = vec!["pub struct Wide {"];
            lines.extend(before);
            lines.extend(fields.iter().map(|field| -> &str { field.clone().leak() }));
            lines.push("}");
            lines_of(too_wide(&lines))
        };
        assert_eq!(with(&[], &fields), [1]);
        assert!(with(&[], &fields[1..]).is_empty());
        assert!(with(&["    // Wide: a row of a table."], &fields).is_empty());
    }

    #[test]
    fn a_comment_begins_with_a_verb_or_a_noun() {
        let lines = [
            "/// What it holds.",
            "struct A;",
            "/// The blocks.",
            "/// What follows may begin with anything.",
            "fn b() {}",
            "//! Whether it is so.",
            "/// Onerous work.",
            "struct C;",
            "/// Its blocks.",
        ];
        assert_eq!(lines_of(comment_style(&lines)), [1, 6, 9]);
    }
}
