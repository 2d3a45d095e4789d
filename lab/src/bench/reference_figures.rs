//! The reference counts of these benches, from docs/reference/figures.md. A run that is a twentieth above one of them
//! fails. They do not depend on the machine: a change that moves one is a change of the vault, and changes the page
//! too.

/// A line of the table of sizes.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceFigure {
    /// The name of the figure in the table that the bench prints.
    pub figure: &'static str,
    /// The name of the figure in the documentation.
    pub in_docs: &'static str,
    /// The figures of 2^12, 2^14 and 2^17 blocks, in the documentation's unit.
    pub expected: [f64; 3],
    /// The number of units of the bench in a unit of the documentation.
    pub unit: f64,
}

/// The counts of `bench files`.
pub(super) const FILES: &[(&str, f64)] = &[
    ("bytes moved, all", 15.2),
    ("store", 13.8),
    ("trusted disk, written", 1.27),
    ("trusted disk, read", 0.113),
    ("requests, all", 4.81),
    ("syncs of the trusted disk", 1.04),
    ("stash and tree top, peak", 0.126),
    ("stored, peak", 5.6),
];

/// The counts of `bench files-on-disk`.
pub(super) const FILES_ON_DISK: &[(&str, f64)] = &[
    ("bytes moved, all", 13.8),
    ("store", 7.32),
    ("trusted disk, written", 1.85),
    ("trusted disk, read", 4.68),
    ("requests, all", 1.79),
    ("syncs of the trusted disk", 2.14),
    ("stash and tree top, peak", 0.035),
    ("stored, peak", 3.09),
];

/// The sizes of the table, in blocks.
pub(super) const SIZES: [u64; 3] = [1 << 12, 1 << 14, 1 << 17];

/// The ratio of two processor times after a kill: of opening the largest vault, and of reading and opening the same
/// bytes. It is the maximum of three runs, because it depends on other work of the machine.
pub(super) const OPENING: f64 = 3.73;

/// KiB in a MiB.
const MIB: f64 = 1024.0;

const fn line(figure: &'static str, in_docs: &'static str, expected: [f64; 3], unit: f64) -> ReferenceFigure {
    ReferenceFigure { figure, in_docs, expected, unit }
}

/// The counts of `bench grow`.
pub(super) const GROW: &[ReferenceFigure] = &[
    line("local, bytes/access", "**local bytes an access, written and read**", [5978.0, 7047.0, 7554.0], 1.0),
    line("journal's records", "journal's records", [2225.0, 2196.0, 2181.0], 1.0),
    line("payloads to their places", "payloads to their places", [2981.0, 3737.0, 3885.0], 1.0),
    line("the database's own", "the database's own, and the journal's checksums", [356.0, 354.0, 403.0], 1.0),
    line("read, by shipments", "read, for shipped checkpoints", [171.0, 482.0, 790.0], 1.0),
    line("read: the journal's records, KiB", "read: journal's records", [512.0, 499.0, 506.0], 1.0),
    line("read: the database, all, KiB", "read: all of the database and the journal", [2.8, 3.6, 12.1], MIB),
    line("read: the places, KiB", "read: the places of the stash, once", [1.0, 5.6, 52.8], MIB),
    line("trusted disk, KiB", "trusted disk", [3.9, 10.3, 75.3], MIB),
];

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/reference/figures.md");

    /// The numbers that begin the cells of the line of this name, in the page of figures.
    fn cells(name: &str) -> Vec<f64> {
        let begins = format!("| {name} |");
        let line = PAGE.lines().find_map(|line| line.strip_prefix(&begins));
        let line = line.unwrap_or_else(|| panic!("the page of figures has no line `{name}`"));
        let number = |cell: &str| cell.split_whitespace().next()?.replace(',', "").parse().ok();
        line.split('|').map_while(number).collect()
    }

    #[test]
    fn what_the_benches_hold_is_what_the_page_of_figures_says() {
        for ((figure, of_files), (same, on_disk)) in FILES.iter().zip(FILES_ON_DISK) {
            assert_eq!(figure, same);
            assert_eq!(cells(figure), [*of_files, *on_disk], "{figure}");
        }
        let opening = cells("its processor time, over the time to read and open the same bytes");
        assert_eq!(opening[2], OPENING);
        for ReferenceFigure { in_docs, expected, .. } in GROW {
            assert_eq!(cells(in_docs)[..3], *expected, "{in_docs}");
        }
    }
}
