//! The kind of the file system that a folder is on.

use std::path::Path;

/// Tells whether a folder is on a file system with one of these magic numbers, as Linux has them. Elsewhere, and of a folder
/// that does not say, nothing is known: false.
pub fn is_one_of(folder: &Path, magic_numbers: &[u64]) -> bool {
    #[cfg(target_os = "linux")]
    {
        rustix::fs::statfs(folder)
            .is_ok_and(|found| magic_numbers.contains(&(found.f_type as u64 & 0xffff_ffff)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (folder, magic_numbers);
        false
    }
}
