//! Long values in pieces that fill the database's pages.
//!
//! redb stores a long value in a page of its own, whose size is a power of two times 4 KiB, and writes the whole page.
//! A value of slightly more than 64 KiB would take 128 KiB.

use redb::{ReadableTable, Table, TableDefinition};

/// The smallest page.
const PAGE: usize = 4096;
/// Bytes in each page for the key and the database's metadata.
const OVERHEAD: usize = 64;
/// The largest piece, so that the database need not find a long run of free pages.
const LARGEST: usize = 1 << 20;

/// Splits a value into pieces. Each of them fills a page, except for the last one. An empty value has no pieces.
pub(crate) fn pieces(mut value: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (piece, rest) = value.split_at(next(value.len()));
        value = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

/// A table of values in pieces, by the numbers of the value and the piece.
pub(super) type PiecesTable = TableDefinition<'static, (u64, u32), &'static [u8]>;

/// Puts the pieces of values into a table.
pub(super) fn put(
    table: &mut Table<'_, (u64, u32), &'static [u8]>,
    values: &[(u64, Vec<u8>)],
) -> Result<(), redb::Error> {
    for (number, value) in values {
        for (nth, piece) in (0..).zip(pieces(value)) {
            table.insert((*number, nth), piece)?;
        }
    }
    Ok(())
}

/// Reads all values of a table, in the order of their numbers. A missing piece shows when the value is opened.
pub(super) fn whole(
    table: &impl ReadableTable<(u64, u32), &'static [u8]>,
) -> Result<Vec<(u64, Vec<u8>)>, redb::Error> {
    let mut values: Vec<(u64, Vec<u8>)> = Vec::new();
    for entry in table.iter()? {
        let (key, piece) = entry?;
        let (number, _) = key.value();
        match values.last_mut() {
            Some((last, value)) if *last == number => value.extend_from_slice(piece.value()),
            _ => values.push((number, piece.value().to_vec())),
        }
    }
    Ok(values)
}

/// Bytes of the next piece.
fn next(remaining: usize) -> usize {
    if remaining < PAGE - OVERHEAD {
        return remaining;
    }
    let page = 1 << (remaining + OVERHEAD).min(LARGEST).ilog2();
    page - OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_put_together_are_the_value_and_waste_less_than_a_page_beside_each(len in 0usize..3_000_000) {
            let value: Vec<u8> = (0..len).map(|at| at as u8).collect();
            prop_assert_eq!(pieces(&value).flatten().copied().collect::<Vec<_>>(), value);
            let pages: usize = pieces(&vec![0; len]).map(|piece| (piece.len() + OVERHEAD).next_power_of_two().max(PAGE)).sum();
            let count = pieces(&vec![0; len]).count();
            prop_assert!(pages <= len + OVERHEAD * count + PAGE, "{} bytes take {}", len, pages);
            prop_assert!(count <= len / LARGEST + 12, "{} pieces", count);
        }
    }
}
