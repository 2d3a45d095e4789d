//! The origin of a value, so that an error can name the flag or the key and its file.

use super::option_table::Name;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The values that stand in the configuration's file, and that file; all others came from a flag, or would.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    file: PathBuf,
    keys: BTreeSet<&'static str>,
    /// The flags of a command that has others for these keys.
    flags: BTreeMap<&'static str, &'static str>,
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
        let keys = given.iter().map(|name| name.key).collect();
        Origins { file: file.to_path_buf(), keys, flags: BTreeMap::new() }
    }

    /// The same after these flags.
    pub(super) fn overlaid(mut self, flags: &[Name]) -> Self {
        self.keys.retain(|key| !flags.iter().any(|name| name.key == *key));
        self
    }

    /// The same where these values came from other flags than their own.
    #[must_use]
    pub fn from_flags(mut self, flags: impl IntoIterator<Item = (Name, &'static str)>) -> Self {
        for (name, flag) in flags {
            self.keys.remove(name.key);
            self.flags.insert(name.key, flag);
        }
        self
    }

    /// A value as its writer knows it.
    pub fn name(&self, name: Name) -> String {
        if self.keys.contains(name.key) {
            format!("`{}` in {}", name.key, self.file.display())
        } else {
            self.flags.get(name.key).copied().unwrap_or(name.flag).to_owned()
        }
    }
}
