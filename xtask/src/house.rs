//! The rules of the house that no tool of Rust's checks: lengths of files, widths of structs, prose of comments,
//! retired words, circles of imports, names of files in the book.

use crate::imports::Files;
use crate::pages;
use crate::retired_words::RetiredWords;
use crate::tool::{command, output};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// The most lines of a source file.
const FILE_LINES: usize = 500;
/// The most fields of a struct that gives no reason.
const FIELDS: usize = 15;
/// The comment that gives the reason for a wider struct.
const WIDE: &str = "// Wide: ";
/// The most words of the README.
const README_WORDS: usize = 500;
/// Words with which no comment begins: they stand for a noun that the reader has to guess.
const OPENINGS: [&str; 14] = [
    "Who", "Whoever", "What", "Whatever", "One", "None", "Nobody", "Whether", "How", "Where", "Why", "When",
    "Which", "That",
];
/// Words that no comment uses.
const ARCHAIC: [&str; 8] =
    ["reckon", "reckons", "reckoned", "for ever", "whence", "thereof", "lest", "of before"];

/// A place where a rule is broken.
struct Broken {
    file: String,
    line: usize,
    rule: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.rule)
    }
}

/// Checks every source file that git tracks, the imports between them, and the pages of the book.
pub fn check() -> Result<()> {
    let tracked = output(command("git").arg("ls-files"))?;
    let files: BTreeSet<&str> = tracked.lines().filter(|file| Path::new(file).exists()).collect();
    let mut broken = Vec::new();
    let retired = RetiredWords::read()?;
    for file in &files {
        // A file without text holds no words.
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        let mut found = retired.found_in(file, &lines);
        if file.ends_with(".rs") {
            found.extend(long(&lines).into_iter().chain(wide(&lines)).chain(prose(&lines)));
        } else if file.ends_with(".md") {
            found.extend(pages::stale(file, &lines, &files));
        }
        broken.extend(found.into_iter().map(|(line, rule)| Broken { file: (*file).into(), line, rule }));
    }
    let words = std::fs::read_to_string("README.md").context("reading README.md")?.split_whitespace().count();
    if words > README_WORDS {
        let rule = format!("{words} words; at most {README_WORDS}: what is longer goes into the book");
        broken.push(Broken { file: "README.md".into(), line: 1, rule });
    }
    broken.extend(circles(&files)?);
    for place in &broken {
        eprintln!("{place}");
    }
    ensure!(broken.is_empty(), "{} places break a rule of the house", broken.len());
    Ok(())
}

/// Circles of imports between the files of a crate.
fn circles(files: &BTreeSet<&str>) -> Result<Vec<Broken>> {
    let mut found = Vec::new();
    let crates =
        files.iter().filter_map(|file| Path::new(file).parent().filter(|_| file.ends_with("Cargo.toml")));
    for sources in crates.map(|folder| folder.join("src")).filter(|sources| sources.is_dir()) {
        for circle in Files::read(&sources)?.circles() {
            let files: Vec<String> = circle.iter().map(|file| file.display().to_string()).collect();
            let rule = format!("imports in a circle: {}", files.join(", "));
            found.push(Broken { file: files[0].clone(), line: 1, rule });
        }
    }
    Ok(found)
}

fn long(lines: &[&str]) -> Option<(usize, String)> {
    let too_long = lines.len() > FILE_LINES;
    too_long.then(|| (FILE_LINES, format!("{} lines; at most {FILE_LINES}: it holds two ideas", lines.len())))
}

/// Structs of more fields than a reader keeps in mind. rustfmt has each field on a line of its own.
fn wide(lines: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let is_struct = line.split_whitespace().any(|word| word == "struct") && line.ends_with('{');
        if !is_struct || line.trim_start().starts_with("//") {
            continue;
        }
        let end = format!("{:indent$}}}", "");
        let body: Vec<&str> = lines[nth + 1..].iter().copied().take_while(|line| **line != end).collect();
        let fields = body.iter().filter(|line| is_field(line, indent + 4)).count();
        if fields > FIELDS && !body.iter().any(|line| line.trim_start().starts_with(WIDE)) {
            let rule = format!("{fields} fields; at most {FIELDS}, or a reason in it: `{WIDE}…`");
            found.push((nth + 1, rule));
        }
    }
    found
}

fn is_field(line: &str, indent: usize) -> bool {
    let field = line.trim_start();
    let name = field.split(": ").next().unwrap_or_default().rsplit(' ').next().unwrap_or_default();
    line.len() - field.len() == indent
        && field.contains(": ")
        && !field.starts_with(['/', '#'])
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '#')
}

/// Comments that begin without a subject, or are written in the words of another century.
fn prose(lines: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (nth, line) in lines.iter().enumerate() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            is_inside = false;
            continue;
        };
        let comment = comment.trim();
        let opening = comment.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        if !is_inside && OPENINGS.contains(&opening) {
            let rule =
                format!("begins with `{opening}`: begin with a verb (`Returns …`) or a noun (`The …`)");
            found.push((nth + 1, rule));
        }
        let spaced = format!(" {} ", comment.replace(|c: char| !c.is_alphanumeric(), " ").to_lowercase());
        for word in ARCHAIC.iter().filter(|word| spaced.contains(&format!(" {word} "))) {
            found.push((nth + 1, format!("`{word}` is archaic: say it in the words of today")));
        }
        is_inside = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(found: Vec<(usize, String)>) -> Vec<usize> {
        found.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_file_may_be_as_long_as_the_rule_says_and_no_longer() {
        assert!(long(&[""; FILE_LINES]).is_none());
        assert!(long(&[""; FILE_LINES + 1]).is_some());
    }

    #[test]
    fn a_wide_struct_needs_a_reason() {
        let fields: Vec<String> = (0..=FIELDS).map(|nth| format!("    pub field_{nth}: u64,")).collect();
        let with = |before: &[&'static str], fields: &[String]| {
            let mut lines = vec!["pub struct Wide {"];
            lines.extend(before);
            lines.extend(fields.iter().map(|field| -> &str { field.clone().leak() }));
            lines.push("}");
            rules(wide(&lines))
        };
        assert_eq!(with(&[], &fields), [1]);
        assert!(with(&[], &fields[1..]).is_empty());
        assert!(with(&["    // Wide: a row of a table."], &fields).is_empty());
    }

    #[test]
    fn a_comment_begins_with_a_verb_or_a_noun_and_uses_no_archaic_word() {
        let lines = [
            "/// What it holds.",
            "struct A;",
            "/// The blocks.",
            "/// What follows may begin with anything.",
            "fn b() {}",
            "//! Whether it is so.",
            "/// Waits for ever; a reckoning is no such word.",
            "/// Onerous work.",
        ];
        assert_eq!(rules(prose(&lines)), [1, 6, 7]);
    }
}
