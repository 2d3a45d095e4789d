//! Refuses a trusted disk that others may watch, for a vault with its tree top on that disk.
//!
//! The read places of the disk reveal which blocks are accessed again. A network disk may be trusted to store data
//! while its owner is not trusted to ignore the accesses.

use super::Home;
use crate::config::SettingsError;
use crate::runtime::file_system::is_on_network;
use ameles_vault::{TreeTopPlace, VaultParameters};

impl Home<'_> {
    /// Refuses a tree top on a network file system, unless the settings allow it.
    ///
    /// # Errors
    /// [`SettingsError::NetworkDisk`].
    pub fn refuse_network_disk(&self, parameters: &VaultParameters) -> Result<(), SettingsError> {
        let data = &self.settings.data;
        let is_accepted =
            parameters.tree_top == TreeTopPlace::Memory || self.settings.scheme.allows_network_disk;
        // A new vault may have no folder yet: its file system is that of the closest existing parent.
        let is_network_disk = |folder: std::path::PathBuf| {
            let mut ancestors = folder.ancestors().map(|folder| match folder.as_os_str().is_empty() {
                true => ".".as_ref(),
                false => folder,
            });
            ancestors.find(|folder| folder.exists()).is_some_and(is_on_network)
        };
        if is_accepted || !is_network_disk(data.trusted()) {
            return Ok(());
        }
        Err(SettingsError::NetworkDisk { folder: data.trusted().display().to_string() })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::vault::parameters::vault_parameters;
    use std::path::Path;

    fn error_of(data: &Path, also: &str) -> Option<String> {
        let text = format!("data = {data:?}\n[vault]\ncapacity = \"1MiB\"\nblock_size = \"4KiB\"\n{also}");
        let settings = Settings::from_toml(&text);
        let parameters = vault_parameters(&settings).unwrap();
        Home::new(&settings).refuse_network_disk(&parameters).err().map(|error| error.to_string())
    }

    /// `/proc` is a file system of the kernel with another magic number.
    #[test]
    fn a_disk_of_this_machine_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(error_of(&folder.path().join("a/b"), "tree_top_on = \"disk\""), None);
        assert!(!is_on_network("/proc".as_ref()));
    }

    /// Checks every mounted network file system of this machine.
    #[test]
    fn a_network_file_system_is_refused_unless_it_is_allowed() {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        for point in points.map(Path::new).filter(|point| is_on_network(point)) {
            let error = error_of(&point.join("vault"), "tree_top_on = \"disk\"").unwrap();
            assert!(error.contains("--allow-network-disk"), "{error}");
            for accepted in ["tree_top_on = \"disk\"\nallow_network_disk = true", "tree_top_on = \"memory\""]
            {
                assert_eq!(error_of(&point.join("vault"), accepted), None);
            }
        }
    }
}
