//! The Markdown pages of cells.

use super::inputs::Cells;
use super::source::{self, Group, Item, LABELS, Source};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Returns the page of a cell or a package.
pub(super) fn cell(cells: &Cells, name: &str) -> String {
    let source = &cells.sources[name];
    let prose = CommentText { cells, this_cell: name };
    let mut page = format!("# `{name}`\n\n{}", prose.header(&source.header));
    if source.is_package {
        package(&mut page, source, &prose);
    } else {
        let parameters: Vec<&Item> = source.parameters.iter().collect();
        let (chosen, derived): (Vec<&Item>, Vec<&Item>) =
            parameters.into_iter().partition(|item| item.kind == "parameter");
        table(&mut page, "## Parameters", "parameter | type | default", &chosen, &prose, |item| {
            [code(&item.name), code(&item.data_type), code(&item.default)].join(" | ")
        });
        table(&mut page, "## Follows from them", "name | value", &derived, &prose, |item| {
            [code(&item.name), code(&item.default)].join(" | ")
        });
        ports(&mut page, &source.ports, &prose);
    }
    relations(&mut page, cells, name);
    evidence(&mut page, cells, name);
    let _ = write!(
        page,
        "\nMade of [`rtl/{name}.sv`](../rtl/{name}.sv) by `cargo xtask hardware cells`; [all cells](README.md).\n"
    );
    page
}

/// Returns the index: each cell below the cell that instantiates it, in the order of the data; then cells with several
/// users, then packages.
pub(super) fn index(cells: &Cells) -> String {
    let mut page = String::from(
        "# The cells\n\n`cargo xtask hardware cells` makes a page for each cell from the sources: what it does, its interface, \
         its timing, and what it stores.\nA cell is listed below the cell that instantiates it, in the order in which data \
         pass them. [A walk](../../docs/how-it-works/walk-controller.md) follows an access from cell to cell.\n\n",
    );
    let is_shared = |name: &str| cells.users(name).len() > 1;
    let is_package = |name: &str| cells.sources[name].is_package;
    let mut listed = BTreeSet::new();
    for name in cells.sources.keys().filter(|name| !is_package(name) && cells.users(name).is_empty()) {
        list_with_parts(&mut page, cells, name, 0, &mut listed);
    }
    page.push_str("\n## Parts of several\n\n");
    for name in cells.sources.keys().filter(|name| is_shared(name)) {
        // The parts of only this shared cell are listed below it.
        list_with_parts(&mut page, cells, name, 0, &mut listed);
    }
    page.push_str("\n## Packages\n\n");
    for name in cells.sources.keys().filter(|name| is_package(name)) {
        line(&mut page, cells, name, 0);
    }
    page
}

/// Adds a line for a cell, and below it lines for its parts that no other cell uses.
fn list_with_parts<'a>(
    page: &mut String,
    cells: &'a Cells,
    name: &'a str,
    depth: usize,
    listed: &mut BTreeSet<&'a str>,
) {
    if !listed.insert(name) {
        return;
    }
    line(page, cells, name, depth);
    for part in cells.parts(name).into_iter().filter(|part| cells.users(part).len() == 1) {
        list_with_parts(page, cells, part, depth + 1, listed);
    }
}

fn line(page: &mut String, cells: &Cells, name: &str, depth: usize) {
    let prose = CommentText { cells, this_cell: name };
    let sentence = prose.line(&source::first_sentence(&cells.sources[name].header));
    let _ = writeln!(page, "{:indent$}- [`{name}`]({name}.md): {sentence}", "", indent = 2 * depth);
}

fn package(page: &mut String, source: &Source, prose: &CommentText) {
    let constants: Vec<&Item> = source.constants.iter().collect();
    table(page, "## Constants and short types", "name | type | value", &constants, prose, |item| {
        [code(&item.name), code(&item.data_type), code(&item.default)].join(" | ")
    });
    for data_type in &source.types {
        let _ = write!(page, "\n## `{}`\n\n{}\n", data_type.name, prose.line(&data_type.comment));
        for group in &data_type.groups {
            let items: Vec<&Item> = group.items.iter().collect();
            let heading = prose.line(&group.comment);
            table(page, &heading, "name | type or value", &items, prose, |item| {
                let what = if item.data_type.is_empty() { &item.default } else { &item.data_type };
                [code(&item.name), code(what)].join(" | ")
            });
        }
    }
    let functions: Vec<&Item> = source.functions.iter().collect();
    table(page, "## Functions", "function | gives", &functions, prose, |item| {
        [code(&item.name), code(&item.data_type)].join(" | ")
    });
}

fn ports(page: &mut String, groups: &[Group], prose: &CommentText) {
    page.push_str("\n## Ports\n");
    if groups.is_empty() {
        page.push_str("\nNone.\n");
    }
    for group in groups {
        let items: Vec<&Item> = group.items.iter().collect();
        let heading = prose.line(&group.comment);
        table(page, &heading, "port | direction | bits", &items, prose, |item| {
            let direction = match item.kind.as_str() {
                "input" => "in",
                "output" => "out",
                modport => modport,
            };
            let bits = if item.data_type.ends_with("_if") {
                prose.line(&item.data_type)
            } else {
                bits(&item.data_type)
            };
            [code(&item.name), direction.into(), bits].join(" | ")
        });
    }
}

/// Adds a table below its heading, unless it is empty. The last column has the comments, if any item has one.
fn table(
    page: &mut String,
    heading: &str,
    columns: &str,
    items: &[&Item],
    prose: &CommentText,
    row: impl Fn(&Item) -> String,
) {
    if items.is_empty() {
        return;
    }
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

fn relations(page: &mut String, cells: &Cells, name: &str) {
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
    let prose = CommentText { cells, this_cell: name };
    let mut lines = Vec::new();
    for check in &cells.checks {
        if source::instances(check.text.lines()).iter().any(|part| part == name) {
            let (path, promise) = (&check.path, prose.line(&check.promise));
            lines.push(format!("- [`{path}`](../{path}): {promise}"));
        }
    }
    let file = format!("{name}.sv");
    for (_, fault) in cells.faults.iter().filter(|(changed, _)| *changed == file) {
        lines.push(format!("- Broken here on purpose, a controller must be found out: {fault}."));
    }
    if !lines.is_empty() {
        let _ = write!(page, "\n## Proofs and benches\n\n{}\n", lines.join("\n"));
    }
}

/// Returns the number of bits of a port of this type.
fn bits(data_type: &str) -> String {
    let Some(ranges) = data_type.strip_prefix("logic").map(str::trim) else { return code(data_type) };
    if ranges.is_empty() {
        return "1".into();
    }
    let widths: Vec<String> = ranges.trim_matches(['[', ']']).split("][").map(width).collect();
    widths.join(" of ")
}

/// Returns the number of bits of a range that ends at 0.
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

/// Converts comments to Markdown: escapes characters, and links the names of other cells.
struct CommentText<'a> {
    cells: &'a Cells,
    this_cell: &'a str,
}

impl CommentText<'_> {
    /// Converts the paragraphs of a header. Indented lines are a table or a formula, and stay as they are.
    fn header(&self, header: &[String]) -> String {
        let mut text = String::new();
        let mut was_indented = false;
        for line in header {
            let is_indented = line.starts_with("  ");
            if is_indented != was_indented && !line.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
            let line = if is_indented { format!("  {line}") } else { self.line(line) };
            let _ = writeln!(text, "{line}");
            was_indented = is_indented;
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

    /// Returns a link if the word is the name of another cell.
    fn name(&self, word: &str) -> Option<String> {
        let is_other = word != self.this_cell && self.cells.sources.contains_key(word);
        is_other.then(|| format!("[`{word}`]({word}.md)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_width_of_a_port_is_given_in_bits() {
        assert_eq!(bits("logic"), "1");
        assert_eq!(bits("logic [127:0]"), "128");
        assert_eq!(bits("logic [Z-1:0][10:0]"), "`Z` of 11");
        assert_eq!(bits("logic [LeafLevel:0]"), "`LeafLevel + 1`");
        assert_eq!(bits("job_t"), "`job_t`");
    }

    #[test]
    fn comments_become_markdown_with_links_to_other_cells() {
        let sources = ["ameles_a", "ameles_b"].map(|name| (name.to_owned(), Source::default()));
        let cells = Cells { sources: BTreeMap::from(sources), checks: Vec::new(), faults: Vec::new() };
        let prose = CommentText { cells: &cells, this_cell: "ameles_a" };
        assert_eq!(
            prose.line("Timing: 2 * `ameles_a` (see ameles_b), `ameles_b` < `x * y`"),
            "**Timing:** 2 \\* `ameles_a` (see [`ameles_b`](ameles_b.md)), [`ameles_b`](ameles_b.md) \\< `x * y`"
        );
        let header = ["A list:".to_owned(), "  one".to_owned(), String::new(), "More.".to_owned()];
        assert_eq!(prose.header(&header), "A list:\n\n    one\n\nMore.\n");
    }
}
