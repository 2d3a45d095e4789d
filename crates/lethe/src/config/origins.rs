//! The origin of a value, so that an error can name the flag or the key and its file.

use super::declare::Name;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The values that stand in the configuration's file, and that file; all others came from a flag, or would.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    file: PathBuf,
    keys: BTreeSet<&'static str>,
}

/// The meaning of a value does not depend on its origin.
impl PartialEq for Origins {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Origins {
    /// These values come from `file`.
    pub(super) fn of(given: &[Name], file: &Path) -> Self {
        Origins { file: file.to_path_buf(), keys: given.iter().map(|name| name.key).collect() }
    }

    /// The same after these flags.
    pub(super) fn overlaid(mut self, flags: &[Name]) -> Self {
        self.keys.retain(|key| !flags.iter().any(|name| name.key == *key));
        self
    }

    /// A value as its writer knows it.
    pub fn name(&self, name: Name) -> String {
        if self.keys.contains(name.key) {
            format!("`{}` in {}", name.key, self.file.display())
        } else {
            name.flag.to_owned()
        }
    }
}
