//! The pages of cells as Markdown.

use super::Cells;
use super::source::{self, Group, Item, LABELS, Source};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The page of a cell or a package.
pub(super) fn cell(cells: &Cells, name: &str) -> String {
    let source = &cells.sources[name];
    let prose = Prose { cells, own: name };
    let mut page = format!("# `{name}`\n\n{}", prose.header(&source.header));
    if source.is_package {
        package(&mut page, source, &prose);
    } else {
        let parameters: Vec<&Item> = source.parameters.iter().collect();
        let (chosen, derived): (Vec<&Item>, Vec<&Item>) =
            parameters.into_iter().partition(|item| item.kind == "parameter");
        section(&mut page, "Parameters", "parameter | type | default", &chosen, &prose, |item| {
            [code(&item.name), code(&item.of_type), code(&item.default)].join(" | ")
        });
        section(&mut page, "Follows from them", "name | value", &derived, &prose, |item| {
            [code(&item.name), code(&item.default)].join(" | ")
        });
        ports(&mut page, &source.ports, &prose);
    }
    neighbours(&mut page, cells, name);
    evidence(&mut page, cells, name);
    let _ = write!(
        page,
        "\nMade of [`rtl/{name}.sv`](../rtl/{name}.sv) by `cargo xtask hardware cells`; [all cells](README.md).\n"
    );
    page
}

/// The index: cells below those that they are a part of, in the order of the data; then those of several, then packages.
pub(super) fn index(cells: &Cells) -> String {
    let mut page = String::from(
        "# The cells\n\nA page each: what the cell does, interface, timing, and what it keeps, made of the sources by \
         `cargo xtask hardware cells`.\nEach stands below the cell that it is a part of, in the order in which data meet \
         them. [A walk](../../docs/how-it-works/walk-controller.md) follows an access from cell to cell.\n\n",
    );
    let is_shared = |name: &str| cells.users(name).len() > 1;
    let is_package = |name: &str| cells.sources[name].is_package;
    let mut told = BTreeSet::new();
    for name in cells.sources.keys().filter(|name| !is_package(name) && cells.users(name).is_empty()) {
        below(&mut page, cells, name, 0, &mut told);
    }
    page.push_str("\n## Parts of several\n\n");
    for name in cells.sources.keys().filter(|name| is_shared(name)) {
        // What only a shared cell is made of stands below it.
        below(&mut page, cells, name, 0, &mut told);
    }
    page.push_str("\n## Packages\n\n");
    for name in cells.sources.keys().filter(|name| is_package(name)) {
        line(&mut page, cells, name, 0);
    }
    page
}

/// Tells of a cell, and below it of its parts that belong to nothing else.
fn below<'a>(page: &mut String, cells: &'a Cells, name: &'a str, depth: usize, told: &mut BTreeSet<&'a str>) {
    if !told.insert(name) {
        return;
    }
    line(page, cells, name, depth);
    for part in cells.parts(name).into_iter().filter(|part| cells.users(part).len() == 1) {
        below(page, cells, part, depth + 1, told);
    }
}

fn line(page: &mut String, cells: &Cells, name: &str, depth: usize) {
    let prose = Prose { cells, own: name };
    let sentence = prose.line(&first_sentence(&cells.sources[name].header));
    let _ = writeln!(page, "{:indent$}- [`{name}`]({name}.md): {sentence}", "", indent = 2 * depth);
}

fn package(page: &mut String, source: &Source, prose: &Prose) {
    let constants: Vec<&Item> = source.constants.iter().collect();
    section(page, "Constants and short types", "name | type | value", &constants, prose, |item| {
        [code(&item.name), code(&item.of_type), code(&item.default)].join(" | ")
    });
    for of_type in &source.types {
        let _ = write!(page, "\n## `{}`\n\n{}\n", of_type.name, prose.line(&of_type.comment));
        for group in &of_type.groups {
            let items: Vec<&Item> = group.items.iter().collect();
            let heading = prose.line(&group.comment);
            table(page, &heading, "name | type or value", &items, prose, |item| {
                let what = if item.of_type.is_empty() { &item.default } else { &item.of_type };
                [code(&item.name), code(what)].join(" | ")
            });
        }
    }
    let functions: Vec<&Item> = source.functions.iter().collect();
    section(page, "Functions", "function | gives", &functions, prose, |item| {
        [code(&item.name), code(&item.of_type)].join(" | ")
    });
}

fn ports(page: &mut String, groups: &[Group], prose: &Prose) {
    page.push_str("\n## Ports\n");
    if groups.is_empty() {
        page.push_str("\nNone.\n");
    }
    for group in groups {
        let items: Vec<&Item> = group.items.iter().collect();
        let heading = prose.line(&group.comment);
        table(page, &heading, "port | direction | bits", &items, prose, |item| {
            let direction = if item.kind == "input" { "in" } else { "out" };
            [code(&item.name), direction.into(), bits(&item.of_type)].join(" | ")
        });
    }
}

fn section(
    page: &mut String,
    title: &str,
    columns: &str,
    items: &[&Item],
    prose: &Prose,
    row: impl Fn(&Item) -> String,
) {
    if !items.is_empty() {
        let _ = write!(page, "\n## {title}\n");
        table(page, "", columns, items, prose, row);
    }
}

/// A table below its heading; the last column has comments, if there is any.
fn table(
    page: &mut String,
    heading: &str,
    columns: &str,
    items: &[&Item],
    prose: &Prose,
    row: impl Fn(&Item) -> String,
) {
    if !heading.is_empty() {
        let _ = write!(page, "\n{heading}\n");
    }
    let has_comments = items.iter().any(|item| !item.comment.is_empty());
    let more = if has_comments { " | " } else { "" };
    let rule = "---|".repeat(columns.split('|').count() + usize::from(has_comments));
    let _ = write!(page, "\n| {columns} |{}\n|{rule}\n", if has_comments { " |" } else { "" });
    for item in items {
        let comment = prose.line(&item.comment).replace('|', "\\|");
        let _ = writeln!(page, "| {}{more}{comment} |", row(item));
    }
}

fn neighbours(page: &mut String, cells: &Cells, name: &str) {
    let links = |names: Vec<&str>| {
        let links: Vec<String> = names.iter().map(|name| format!("[`{name}`]({name}.md)")).collect();
        if links.is_empty() { "nothing".to_owned() } else { links.join(", ") }
    };
    let source = &cells.sources[name];
    page.push_str("\n## Around it\n\n");
    if source.is_package {
        let imports = |user: &&String| cells.sources[*user].packages.iter().any(|package| package == name);
        let users = cells.sources.keys().filter(imports).map(String::as_str).collect();
        let _ = writeln!(page, "- Imported by {}.", links(users));
        return;
    }
    let _ = writeln!(page, "- Made of {}.", links(cells.parts(name)));
    let _ = writeln!(page, "- Part of {}.", links(cells.users(name)));
    if !source.packages.is_empty() {
        let packages = source.packages.iter().map(String::as_str).collect();
        let _ = writeln!(page, "- Imports {}.", links(packages));
    }
}

fn evidence(page: &mut String, cells: &Cells, name: &str) {
    let prose = Prose { cells, own: name };
    let mut lines = Vec::new();
    for witness in &cells.witnesses {
        if source::instances(witness.text.lines()).iter().any(|part| part == name) {
            let (path, promise) = (&witness.path, prose.line(&witness.promise));
            lines.push(format!("- [`{path}`](../{path}): {promise}"));
        }
    }
    let file = format!("{name}.sv");
    for (_, fault) in cells.faults.iter().filter(|(of, _)| *of == file) {
        lines.push(format!("- Broken here on purpose, a controller must be found out: {fault}."));
    }
    if !lines.is_empty() {
        let _ = write!(page, "\n## Proofs and benches\n\n{}\n", lines.join("\n"));
    }
}

/// The first sentence of a header, without the colon of a list.
pub(super) fn first_sentence(header: &[String]) -> String {
    let paragraph: Vec<&str> =
        header.iter().map(String::as_str).take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ");
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text[..end].to_owned()
}

/// The bits of a port of a type.
fn bits(of_type: &str) -> String {
    let Some(ranges) = of_type.strip_prefix("logic").map(str::trim) else { return code(of_type) };
    if ranges.is_empty() {
        return "1".into();
    }
    let widths: Vec<String> = ranges.trim_matches(['[', ']']).split("][").map(width).collect();
    widths.join(" of ")
}

/// The bits of a range that ends at 0.
fn width(range: &str) -> String {
    let high = range.strip_suffix(":0").unwrap_or(range);
    match (high.parse::<u32>(), high.strip_suffix("-1")) {
        (Ok(high), _) => (high + 1).to_string(),
        (_, Some(width)) => code(width),
        _ => code(&format!("{high} + 1")),
    }
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|")) }
}

/// The text of comments as Markdown: signs that mean nothing there, and links to other cells.
struct Prose<'a> {
    cells: &'a Cells,
    own: &'a str,
}

impl Prose<'_> {
    /// The paragraphs of a header. Lines that are set in by more than others are a table or a formula, and stay as they are.
    fn header(&self, header: &[String]) -> String {
        let mut text = String::new();
        let mut was_set_in = false;
        for line in header {
            let is_set_in = line.starts_with("  ");
            if is_set_in != was_set_in && !line.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
            let line = if is_set_in { format!("  {line}") } else { self.line(line) };
            let _ = writeln!(text, "{line}");
            was_set_in = is_set_in;
        }
        text
    }

    fn line(&self, line: &str) -> String {
        let mut text = String::new();
        for (nth, part) in line.split('`').enumerate() {
            if nth % 2 == 1 {
                text.push_str(&self.name(part).unwrap_or_else(|| format!("`{part}`")));
                continue;
            }
            let escaped = part.replace('*', "\\*").replace('<', "\\<");
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let words = escaped.split_inclusive(|c: char| !is_word(c)).map(|word| {
                let end = word.find(|c: char| !is_word(c)).unwrap_or(word.len());
                self.name(&word[..end]).map_or(word.to_owned(), |link| link + &word[end..])
            });
            text.extend(words);
        }
        for label in LABELS {
            text = text.replacen(label, &format!("**{label}**"), 1);
        }
        text
    }

    /// The link to another cell.
    fn name(&self, word: &str) -> Option<String> {
        let is_other = word != self.own && self.cells.sources.contains_key(word);
        is_other.then(|| format!("[`{word}`]({word}.md)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn widths_are_told_in_bits() {
        assert_eq!(bits("logic"), "1");
        assert_eq!(bits("logic [127:0]"), "128");
        assert_eq!(bits("logic [Z-1:0][10:0]"), "`Z` of 11");
        assert_eq!(bits("logic [LeafLevel:0]"), "`LeafLevel + 1`");
        assert_eq!(bits("job_t"), "`job_t`");
    }

    #[test]
    fn comments_become_markdown_with_links_to_other_cells() {
        let sources = ["ameles_a", "ameles_b"].map(|name| (name.to_owned(), Source::default()));
        let cells = Cells { sources: BTreeMap::from(sources), witnesses: Vec::new(), faults: Vec::new() };
        let prose = Prose { cells: &cells, own: "ameles_a" };
        assert_eq!(
            prose.line("Timing: 2 * `ameles_a` (see ameles_b), `ameles_b` < `x * y`"),
            "**Timing:** 2 \\* `ameles_a` (see [`ameles_b`](ameles_b.md)), [`ameles_b`](ameles_b.md) \\< `x * y`"
        );
        let header = ["A list:".to_owned(), "  one".to_owned(), String::new(), "More.".to_owned()];
        assert_eq!(prose.header(&header), "A list:\n\n    one\n\nMore.\n");
    }
}
