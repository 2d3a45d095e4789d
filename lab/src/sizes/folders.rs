//! Folders of files that do not exist: the sizes of the files are drawn.

use super::distribution::Distribution;
use rand_core::RngCore;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::str::FromStr;

/// A folder of a workload, and the sizes of its files.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Folder {
    /// The number of its files.
    pub files: usize,
    /// The sizes.
    pub sizes: Distribution,
    /// The mean of the sizes in KiB, as the file states it.
    pub mean_kib: f64,
    /// The standard deviation of the sizes in KiB, as the file states it.
    pub deviation_kib: f64,
}

/// Folders by their names, read from TOML.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Folders(BTreeMap<String, Folder>);

/// The reason why folders cannot be read, or a named one is missing.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum FolderError {
    /// The text is not a table of folders.
    #[error("this is not a table of folders: {0}")]
    Unreadable(#[from] toml::de::Error),
    /// The numbers are invalid.
    #[error("in the folder {name:?}: {why}")]
    Senseless {
        /// The folder.
        name: String,
        /// The fault.
        why: &'static str,
    },
    /// The stated moments are not those of the distribution.
    #[error(
        "in the folder {name:?}: the sizes give mean_kib = {mean:.1} and deviation_kib = {deviation:.1}, but the file states other values: correct them"
    )]
    Moments {
        /// The folder.
        name: String,
        /// The mean in KiB.
        mean: f64,
        /// The standard deviation in KiB.
        deviation: f64,
    },
    /// There is no such folder.
    #[error("there are no sizes for the folder {name:?}; known are {known}")]
    Unknown {
        /// The folder.
        name: String,
        /// The folders that exist.
        known: String,
    },
}

/// The relative difference allowed between a stated moment and the true one: it is stated in a few digits.
const ROUNDING: f64 = 0.005;

impl FromStr for Folders {
    type Err = FolderError;

    fn from_str(text: &str) -> Result<Self, FolderError> {
        let folders: Folders = toml::from_str(text)?;
        for (name, folder) in &folders.0 {
            let name = || name.clone();
            if folder.files == 0 {
                return Err(FolderError::Senseless { name: name(), why: "it has no files" });
            }
            if let Some(why) = folder.sizes.fault() {
                return Err(FolderError::Senseless { name: name(), why });
            }
            let (mean, deviation) = (folder.sizes.mean() / 1024.0, folder.sizes.deviation() / 1024.0);
            let is_stated = |stated: f64, is: f64| (stated - is).abs() <= ROUNDING * is;
            if !is_stated(folder.mean_kib, mean) || !is_stated(folder.deviation_kib, deviation) {
                return Err(FolderError::Moments { name: name(), mean, deviation });
            }
        }
        Ok(folders)
    }
}

impl Folders {
    /// The folder of a path: its last part names it.
    ///
    /// # Errors
    /// [`FolderError::Unknown`], which lists the folders that exist.
    pub fn folder(&self, path: &str) -> Result<&Folder, FolderError> {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
        self.0.get(name).ok_or_else(|| FolderError::Unknown {
            name: name.to_owned(),
            known: self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Folder {
    /// Draws the sizes of its files in bytes, in the order of their names.
    pub fn draw(&self, random: &mut impl RngCore) -> Vec<u64> {
        (0..self.files).map(|_| self.sizes.draw(random)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha12Rng;
    use rand_core::SeedableRng;

    const SHIPPED: &str = include_str!("../../workloads/sizes.toml");

    fn shipped() -> Folders {
        SHIPPED.parse().unwrap()
    }

    #[test]
    fn samples_have_the_stated_moments() {
        let folders = shipped();
        for name in folders.names() {
            let folder = folders.folder(name).unwrap();
            let mut random = ChaCha12Rng::seed_from_u64(5);
            let drawn: Vec<f64> = (0..200_000).map(|_| folder.sizes.draw(&mut random) as f64).collect();
            let count = drawn.len() as f64;
            let mean = drawn.iter().sum::<f64>() / count;
            let deviation =
                (drawn.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / count).sqrt();
            let off = (mean / 1024.0 / folder.mean_kib - 1.0).abs();
            assert!(off < 0.03, "{name}: mean {} KiB", mean / 1024.0);
            // A heavy tail shows late.
            let off = (deviation / 1024.0 / folder.deviation_kib - 1.0).abs();
            assert!(off < 0.15, "{name}: deviation {} KiB", deviation / 1024.0);
            for bytes in [4096.0, 1e6, 4e6] {
                let share = drawn.iter().filter(|size| **size < bytes).count() as f64 / count;
                assert!((share - folder.sizes.share_below(bytes)).abs() < 0.005, "{name}: below {bytes}");
            }
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_sizes() {
        let folders = shipped();
        let drawn =
            |seed| folders.folder("/tmp/testfiles/A/").unwrap().draw(&mut ChaCha12Rng::seed_from_u64(seed));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn the_home_user_s_files_are_as_the_thesis_describes_them() {
        let sizes = &shipped().folder("A").unwrap().sizes.clone();
        let below_4_mib = sizes.share_below(f64::from(4 << 20));
        assert!((0.88..0.92).contains(&below_4_mib), "{below_4_mib}");
        assert!(sizes.share_below(1023.0) < 1e-9 && sizes.share_below(4.0 * f64::from(1 << 30)) == 1.0);
    }

    #[test]
    fn a_wrong_table_is_refused_by_the_folder_and_the_fault() {
        let read = |text: &str| text.parse::<Folders>().unwrap_err().to_string();
        let folder = |sizes: &str, mean: f64| {
            format!("[A]\nfiles = 3\nsizes = [{sizes}]\nmean_kib = {mean}\ndeviation_kib = 0.0\n")
        };
        assert!(folder("{ shape = 'constant', kib = 2.0 }", 2.0).parse::<Folders>().is_ok());
        assert!(read(&folder("{ shape = 'constant', kib = 2.0 }", 3.0)).contains("mean_kib = 2.0"));
        assert!(read(&folder("", 3.0)).contains("\"A\": it has no parts"));
        assert!(read(&folder("{ shape = 'constant', kib = -2.0 }", 3.0)).contains("more than 0 KiB"));
        let backwards = "{ shape = 'uniform', min_kib = 4.0, max_kib = 2.0 }";
        assert!(read(&folder(backwards, 3.0)).contains("the lesser one first"));
        assert!(read("[A]\nfiles = 3\n").contains("not a table of folders"));
        let unknown = shipped().folder("/nowhere").unwrap_err().to_string();
        assert!(unknown.contains("\"nowhere\"") && unknown.contains("A-prepare"), "{unknown}");
    }
}
