//! Long values in chunks that fill the database's pages.
//!
//! redb stores a long value in a page of its own, and writes the whole page. The page's size is a power of two times 4
//! KiB. A value of slightly more than 64 KiB would take 128 KiB.

use redb::{ReadableTable, Table, TableDefinition};

/// The smallest page.
const PAGE: usize = 4096;
/// The number of bytes in each page for the key and the database's metadata.
const OVERHEAD: usize = 64;
/// The largest chunk, so that the database need not find a long run of free pages.
const LARGEST: usize = 1 << 20;

/// Splits a value into chunks. Each of them fills a page, except for the last one. An empty value has no chunks.
pub(crate) fn chunks(mut value: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (chunk, rest) = value.split_at(next(value.len()));
        value = rest;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// A table of values in chunks, by the numbers of the value and the chunk.
pub(super) type ChunksTable = TableDefinition<'static, (u64, u32), &'static [u8]>;

/// Inserts the chunks of values into a table.
pub(super) fn insert_values(
    table: &mut Table<'_, (u64, u32), &'static [u8]>,
    values: &[(u64, Vec<u8>)],
) -> Result<(), redb::Error> {
    for (number, value) in values {
        for (nth, chunk) in (0..).zip(chunks(value)) {
            table.insert((*number, nth), chunk)?;
        }
    }
    Ok(())
}

/// Reads all values of a table, in the order of their numbers. A missing chunk shows when the value is opened.
pub(super) fn read_values(
    table: &impl ReadableTable<(u64, u32), &'static [u8]>,
) -> Result<Vec<(u64, Vec<u8>)>, redb::Error> {
    let mut values: Vec<(u64, Vec<u8>)> = Vec::new();
    for entry in table.iter()? {
        let (key, chunk) = entry?;
        let (number, _) = key.value();
        match values.last_mut() {
            Some((last, value)) if *last == number => value.extend_from_slice(chunk.value()),
            _ => values.push((number, chunk.value().to_vec())),
        }
    }
    Ok(values)
}

/// Returns the number of bytes of the next chunk.
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
    use std::sync::LazyLock;

    /// The longest value.
    const MAX: usize = 3_000_000;
    static VALUE: LazyLock<Vec<u8>> = LazyLock::new(|| (0..MAX).map(|at| at as u8).collect());

    proptest! {
        #[test]
        fn chunks_put_together_are_the_value_and_waste_less_than_a_page_beside_each(len in 0..MAX) {
            let value = &VALUE[..len];
            let chunks: Vec<&[u8]> = chunks(value).collect();
            prop_assert!(chunks.concat() == value);
            let pages: usize = chunks.iter().map(|chunk| (chunk.len() + OVERHEAD).next_power_of_two().max(PAGE)).sum();
            let count = chunks.len();
            prop_assert!(pages <= len + OVERHEAD * count + PAGE, "{} bytes take {}", len, pages);
            prop_assert!(count <= len / LARGEST + 12, "{} chunks", count);
        }
    }
}
