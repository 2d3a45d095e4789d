//! The sizes of a user's objects: from a table, from a folder, or from a bucket's listing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Sizes in bytes, and how many objects have each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectSizes(BTreeMap<u64, u64>);

/// The reason why there are no sizes.
#[derive(Debug, thiserror::Error)]
pub enum ObjectSizesError {
    /// The file or folder cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A line of a table is malformed.
    #[error(
        "line {line} of the table of sizes is {text:?}: write a size in bytes, or a size and a count, such as 4096,17"
    )]
    Row {
        /// The number of the line, from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// A line of a listing is malformed.
    #[error(
        "line {line} of the listing is {text:?}: give what `aws s3 ls --recursive` prints (date, time, size, name), or a \
         table whose name ends with .csv"
    )]
    Listing {
        /// The number of the line, from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// The list has no object.
    #[error("{} contains no object: a plan needs the size of at least one", .0.display())]
    Empty(PathBuf),
}

impl ObjectSizes {
    /// Objects of one size in bytes.
    pub fn uniform(bytes: u64) -> Self {
        ObjectSizes(BTreeMap::from([(bytes, 1)]))
    }

    /// The greatest size in bytes; 0 of no objects.
    pub fn max(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(size, _)| *size)
    }

    /// Reads sizes: the files of a folder; a table if the name ends with `.csv`; a listing otherwise.
    ///
    /// # Errors
    /// [`ObjectSizesError`].
    pub fn read(path: &Path) -> Result<Self, ObjectSizesError> {
        let unreadable = |error| ObjectSizesError::Unreadable { path: path.into(), error };
        let sizes = if fs::metadata(path).map_err(unreadable)?.is_dir() {
            Self::from_folder(path).map_err(unreadable)?
        } else {
            let text = fs::read_to_string(path).map_err(unreadable)?;
            let is_table = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
            if is_table { Self::from_table(&text)? } else { Self::from_listing(&text)? }
        };
        if sizes.0.is_empty() { Err(ObjectSizesError::Empty(path.into())) } else { Ok(sizes) }
    }

    /// The sizes of a table: lines of a size in bytes and, behind a comma, a count. A first line of words is a heading.
    ///
    /// # Errors
    /// [`ObjectSizesError::Row`].
    pub fn from_table(text: &str) -> Result<Self, ObjectSizesError> {
        let mut sizes = BTreeMap::new();
        for (nth, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let number = |cell: &str| cell.parse::<u64>().ok();
            let row = match *cells {
                [size] => number(size).map(|size| (size, 1)),
                [size, count] => number(size).zip(number(count)),
                _ => None,
            };
            match row {
                Some((size, count)) if count > 0 => *sizes.entry(size).or_default() += count,
                Some(_) => {}
                None if nth == 0 && cells.iter().all(|cell| cell.starts_with(char::is_alphabetic)) => {}
                None => return Err(ObjectSizesError::Row { line: nth + 1, text: line.to_owned() }),
            }
        }
        Ok(ObjectSizes(sizes))
    }

    /// The sizes of a bucket's listing: lines of a date, a time, a size in bytes and a name.
    ///
    /// # Errors
    /// [`ObjectSizesError::Listing`].
    pub fn from_listing(text: &str) -> Result<Self, ObjectSizesError> {
        let mut sizes = BTreeMap::new();
        for (nth, line) in text.lines().enumerate() {
            let mut words = line.split_whitespace();
            let size = match (words.next(), words.next(), words.next()) {
                // Blank lines, and the sums below a listing.
                (None, ..) => continue,
                (Some("Total"), ..) => continue,
                (Some(_), Some(_), Some(size)) => size.parse::<u64>().ok().filter(|_| words.next().is_some()),
                _ => None,
            };
            let listed = || ObjectSizesError::Listing { line: nth + 1, text: line.to_owned() };
            *sizes.entry(size.ok_or_else(listed)?).or_default() += 1;
        }
        Ok(ObjectSizes(sizes))
    }

    fn from_folder(path: &Path) -> io::Result<Self> {
        let (mut sizes, mut folders) = (BTreeMap::new(), vec![path.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                // The target of a link may be counted elsewhere.
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    *sizes.entry(entry.metadata()?.len()).or_default() += 1;
                }
            }
        }
        Ok(ObjectSizes(sizes))
    }

    /// The number of objects.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The mean of a value over the objects.
    pub fn mean(&self, value: impl Fn(u64) -> f64) -> f64 {
        let sum: f64 = self.0.iter().map(|(size, count)| value(*size) * *count as f64).sum();
        sum / self.count() as f64
    }

    /// The sizes and their counts, the smallest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(size, count)| (*size, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(sizes: &ObjectSizes) -> Vec<(u64, u64)> {
        sizes.iter().collect()
    }

    #[test]
    fn a_table_has_sizes_with_counts_or_without_and_may_have_a_heading() {
        let sizes = ObjectSizes::from_table("size,count\n4096,3\n10\n4096, 1\n\n7,0\n").unwrap();
        assert_eq!(pairs(&sizes), [(10, 1), (4096, 4)]);
        assert_eq!(sizes.count(), 5);
        assert!((sizes.mean(|size| size as f64) - (10.0 + 4.0 * 4096.0) / 5.0).abs() < 1e-9);
    }

    #[test]
    fn an_invalid_line_is_reported_with_its_number() {
        for (text, line) in [("4096,x\n", 1), ("1\n2,3,4\n", 2), ("size\n1\n-5\n", 3)] {
            let error = ObjectSizes::from_table(text).unwrap_err();
            assert!(error.to_string().starts_with(&format!("line {line} of the table")), "{error}");
        }
        let error = ObjectSizes::from_listing("2026-01-01 10:00:00 12 a\n12 a\n").unwrap_err();
        assert!(error.to_string().starts_with("line 2 of the listing"), "{error}");
    }

    #[test]
    fn a_listing_is_read_with_the_sums_below_it() {
        let text = "2026-01-01 10:00:00         12 a name with spaces\n2026-01-01 10:00:01 0 b\n\nTotal Objects: 2\n   Total Size: 12\n";
        assert_eq!(pairs(&ObjectSizes::from_listing(text).unwrap()), [(0, 1), (12, 1)]);
    }

    #[test]
    fn a_folder_counts_its_files_and_those_below() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("a"), [0; 5]).unwrap();
        fs::write(folder.path().join("below/b"), [0; 9]).unwrap();
        assert_eq!(pairs(&ObjectSizes::read(folder.path()).unwrap()), [(5, 1), (9, 1)]);
        let empty = tempfile::tempdir().unwrap();
        assert!(matches!(ObjectSizes::read(empty.path()), Err(ObjectSizesError::Empty(_))));
        assert!(matches!(
            ObjectSizes::read(&empty.path().join("x")),
            Err(ObjectSizesError::Unreadable { .. })
        ));
    }
}
