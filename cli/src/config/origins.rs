//! The origins of values, so that an error can name the flag, or the key and its file.

use super::option_table::Name;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The values that come from the configuration file, and that file. All other values come from flags or defaults.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    file: PathBuf,
    keys: BTreeSet<&'static str>,
    /// The flags that replace some keys, in a command that renames them.
    flags: BTreeMap<&'static str, &'static str>,
}

/// The meaning of a value does not depend on its origin.
impl PartialEq for Origins {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Origins {
    /// Records that these values come from `file`.
    pub(super) fn of(names: &[Name], file: &Path) -> Self {
        let keys = names.iter().map(|name| name.key).collect();
        Origins { file: file.to_path_buf(), keys, flags: BTreeMap::new() }
    }

    /// Returns the origins after these flags are applied.
    pub(super) fn overlay(mut self, flags: &[Name]) -> Self {
        self.keys.retain(|key| !flags.iter().any(|name| name.key == *key));
        self
    }

    /// Returns the origins with other flags for these values.
    #[must_use]
    pub fn with_flags(mut self, flags: impl IntoIterator<Item = (Name, &'static str)>) -> Self {
        for (name, flag) in flags {
            self.keys.remove(name.key);
            self.flags.insert(name.key, flag);
        }
        self
    }

    /// Returns the name of a value as the user gave it.
    pub fn name(&self, name: Name) -> String {
        if self.keys.contains(name.key) {
            format!("`{}` in {}", name.key, self.file.display())
        } else {
            self.flags.get(name.key).copied().unwrap_or(name.flag).to_owned()
        }
    }
}
