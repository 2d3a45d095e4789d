//! Tables for people: each figure, and in brackets the one that the thesis prints.

use super::dollars;
use super::published::{Published, PublishedRow};
use super::row::{Column, RELATIVE, Row, THESIS_PROVIDER, TRAFFIC, printed_line, printed_times_dollars};
use crate::prices::{self, Provider};
use crate::report::{Section, Sheet};

/// The mark of a run that is too short, and what it means.
pub(super) const SHORT: &str = " *";
pub(super) const SHORT_MEANS: &str =
    "* fewer than four evictions or rebuilds came due: much of what these accesses cost comes later";

/// The tables of a workload with one seed.
pub(super) fn workload_section(rows: &[Row], printed: &Published, others: &[Provider]) -> Section {
    let letter = rows.first().map_or("", |row| row.workload.as_str());
    let providers = prices::thesis_providers();
    let first = || ["scheme", "block, KiB"].map(str::to_owned).into_iter();
    let name = |table: &str| format!("{}-{table}", letter.to_lowercase());

    let traffic = first().chain(["accesses".to_owned()]).chain(headings(&TRAFFIC));
    let mut traffic = Sheet::new(&name("traffic"), "", traffic);
    let money = providers.iter().map(|provider| format!("{}, $", provider.name));
    let relative = first().chain(headings(&RELATIVE)).chain(money).chain([format!("{THESIS_PROVIDER}, ×")]);
    let mut relative = Sheet::new(&name("relative"), "", relative);
    for row in rows {
        let theirs = printed_line(row, printed);
        let mut cells = name_cells(row);
        cells.push(row.result.accesses.to_string());
        cells.extend(TRAFFIC.iter().map(|column| cell(row, column, theirs)));
        traffic.rows.push(cells);
        let mut cells = name_cells(row);
        cells.extend(RELATIVE.iter().map(|column| cell(row, column, theirs)));
        cells.extend(providers.iter().map(|provider| self::money(row, provider, theirs)));
        cells.extend(
            providers
                .iter()
                .find(|provider| provider.name == THESIS_PROVIDER)
                .map(|ibm| bill_ratio(row, ibm, printed)),
        );
        relative.rows.push(cells);
    }
    let brackets = if printed.baseline(letter).is_some() { " (in brackets: the thesis)" } else { "" };
    let title = format!("Workload {letter}{brackets}");
    let mut section = Section::new(format!("workload-{}", letter.to_lowercase()), title);
    section.add_table(traffic);
    section.add_table(relative);
    section.add_table(dollars::dollar_sheet(rows, others));
    section
}

/// Requests and bytes for each access of a block, of the schemes that the thesis prints and of ours with its parameters
/// and requests.
pub(super) fn access_section(rows: &[Row], printed: &Published) -> Option<Section> {
    let title = "Each access of a block (in brackets: the thesis)";
    let mut section = Section::new("each-access", title);
    ["curious", "ring"].iter().for_each(|scheme| section.add_table(accesses(scheme, rows, printed)));
    (!section.pieces.is_empty()).then_some(section)
}

fn accesses(scheme: &str, rows: &[Row], printed: &Published) -> Sheet {
    let mut sheet = Sheet::new(
        &format!("accesses-{scheme}"),
        &format!("{scheme}-thesis:"),
        [
            "workload",
            "block, KiB",
            "accesses",
            "GETs/access",
            "PUTs/access",
            "blocks down/access",
            "blocks up/access",
        ],
    );
    for row in rows.iter().filter(|row| row.printed == Some(scheme)) {
        let Some((kib, theirs)) = row.block_kib.zip(printed_line(row, printed)) else { continue };
        let Some((accesses, of_theirs)) = printed_accesses(scheme, kib, theirs, printed) else { continue };
        let usage = row.result.usage;
        let ours = |count: u64| count as f64 / row.result.accesses as f64;
        let block = (kib << 10) as f64;
        let pair = |ours: f64, theirs: f64| format!("{ours:.2} ({theirs:.2})");
        sheet.rows.push(vec![
            row.workload.clone(),
            kib.to_string(),
            format!("{} ({accesses:.0})", row.result.accesses),
            pair(ours(usage.gets()), of_theirs[0]),
            pair(ours(usage.puts()), of_theirs[1]),
            pair(ours(usage.bytes_down) / block, of_theirs[2]),
            pair(ours(usage.bytes_up) / block, of_theirs[3]),
        ]);
    }
    sheet
}

/// Returns the accesses of a printed run, and for each access the GETs, PUTs, blocks down and blocks up. They follow
/// from the bytes. Ring ORAM reads a block of each bucket of a path without writing it, and writes everything else that
/// it reads. CURIOUS writes what it reads, and a block of its log.
fn printed_accesses(
    scheme: &str,
    kib: u64,
    theirs: PublishedRow<'_>,
    printed: &Published,
) -> Option<(f64, [f64; 4])> {
    let of = |name| theirs.number(name);
    let blocks = 1024.0 / kib as f64;
    let extra_down = (of("mb_down")? - of("mb_up")?) * blocks;
    let (accesses, puts) = match scheme {
        "ring" => {
            let (height, buckets) = printed.ring_tree(kib)?;
            // The filling writes each bucket and its record.
            (extra_down / height, of("uploads")? - 2.0 * buckets)
        }
        // The filling is the rest of the uploads.
        "curious" => (-extra_down, of("downloads")? - extra_down),
        _ => return None,
    };
    let each = [of("downloads")?, puts, of("mb_down")? * blocks, of("mb_up")? * blocks];
    Some((accesses, each.map(|sum| sum / accesses)))
}

fn cell(row: &Row, column: &Column, theirs: Option<PublishedRow<'_>>) -> String {
    let digits = column.digits;
    let ours = (column.of)(row);
    // An empty trusted side has no ratio.
    let ours = if ours.is_finite() { format!("{ours:.digits$}") } else { "–".to_owned() };
    bracketed(ours, theirs.and_then(|line| line.number(column.printed)), digits)
}

fn money(row: &Row, provider: &Provider, theirs: Option<PublishedRow<'_>>) -> String {
    let is_billed = provider.name == THESIS_PROVIDER;
    let theirs = theirs.filter(|_| is_billed).and_then(|line| line.number("cost_usd"));
    bracketed(format!("{:.4}", row.dollars(provider)), theirs, 4)
}

fn bill_ratio(row: &Row, provider: &Provider, printed: &Published) -> String {
    let ours = row.times_dollars(provider).map_or_else(|| "–".to_owned(), |times| format!("{times:.1}"));
    bracketed(ours, printed_times_dollars(row, printed, provider), 1)
}

pub(super) fn bracketed(ours: String, theirs: Option<f64>, digits: usize) -> String {
    match theirs {
        Some(theirs) => format!("{ours} ({theirs:.digits$})"),
        None => ours,
    }
}

fn name_cells(row: &Row) -> Vec<String> {
    let mut cells = row.names();
    if row.result.is_short() {
        cells[0].push_str(SHORT);
    }
    cells
}

fn headings(columns: &[Column]) -> impl Iterator<Item = String> {
    columns.iter().map(|column| column.heading.to_owned())
}
