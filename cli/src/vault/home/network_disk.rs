//! Refusing a trusted disk that somebody else may watch, for a vault whose tree top is there.
//!
//! Which places of it are read tells which blocks are asked for again. Trusting a disk to keep what it is given is another
//! thing than trusting its owner not to look.

use super::Home;
use crate::config::SettingsError;
use crate::runtime::file_system::is_one_of;
use ameles_vault::{TreeTopPlace, VaultParameters};

/// The magic numbers of file systems whose blocks another machine, or another program, hands out: NFS, SMB (three), CIFS by
/// the older name, 9p, FUSE (sshfs, virtiofs and others), Ceph, AFS, Coda, NCP, Lustre, GFS2, OCFS2, vboxsf.
const WATCHED: [u64; 14] = [
    0x6969,
    0x517b,
    0xfe53_4d42,
    0xff53_4d42,
    0x0102_1997,
    0x6573_5546,
    0x00c3_6400,
    0x5346_414f,
    0x7375_7245,
    0x564c,
    0x0bd0_0bd0,
    0x0116_1970,
    0x7461_636f,
    0x786f_4256,
];

impl Home<'_> {
    /// Refuses to keep the tree top of such a vault on a network file system, unless the settings say what that shows.
    ///
    /// # Errors
    /// [`SettingsError::WatchedDisk`].
    pub fn refuse_network_disk(&self, parameters: &VaultParameters) -> Result<(), SettingsError> {
        let data = &self.settings.data;
        let is_accepted =
            parameters.tree_top == TreeTopPlace::Memory || self.settings.scheme.allows_network_disk;
        // Before the vault is made there may be no folder yet: the file system is that of the first one above.
        let is_watched = |folder: std::path::PathBuf| {
            let mut above = folder.ancestors().map(|folder| match folder.as_os_str().is_empty() {
                true => ".".as_ref(),
                false => folder,
            });
            above.find(|folder| folder.exists()).is_some_and(is_watched)
        };
        if is_accepted || !is_watched(data.trusted()) {
            return Ok(());
        }
        Err(SettingsError::WatchedDisk { folder: data.trusted().display().to_string() })
    }
}

/// Tells whether a folder is on one of them. Where nothing says it, the owner is to know; one that does not say what it is
/// fails when it is written, if not before.
fn is_watched(folder: &std::path::Path) -> bool {
    is_one_of(folder, &WATCHED)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};
    use crate::vault::parameters::vault_parameters;
    use std::path::Path;

    fn refused(data: &Path, also: &str) -> Option<String> {
        let text = format!("data = {data:?}\n[vault]\ncapacity = \"1MiB\"\nblock_size = \"4KiB\"\n{also}");
        let settings = Settings::resolve(Config::parse(&text, Path::new("ameles.toml")).unwrap()).unwrap();
        let parameters = vault_parameters(&settings).unwrap();
        Home::new(&settings).refuse_network_disk(&parameters).err().map(|error| error.to_string())
    }

    /// A file system of the kernel's own whose magic number is none of them.
    #[test]
    fn a_disk_of_this_machine_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(refused(&folder.path().join("a/b"), "tree_top_on = \"disk\""), None);
        assert!(!is_watched("/proc".as_ref()));
    }

    /// Wherever a network file system is mounted.
    #[test]
    fn a_network_file_system_is_refused_unless_its_leak_is_named() {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        for point in points.map(Path::new).filter(|point| is_watched(point)) {
            let error = refused(&point.join("vault"), "tree_top_on = \"disk\"").unwrap();
            assert!(error.contains("--allow-network-disk"), "{error}");
            for accepted in ["tree_top_on = \"disk\"\nallow_network_disk = true", "tree_top_on = \"memory\""]
            {
                assert_eq!(refused(&point.join("vault"), accepted), None);
            }
        }
    }
}
