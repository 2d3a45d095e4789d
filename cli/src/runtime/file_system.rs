//! The kind of a folder's file system.

use std::path::Path;

/// Returns true if a folder is on a file system with one of these Linux magic numbers. Returns false on other systems, and if
/// the kind is unknown.
pub fn is_one_of(folder: &Path, magic_numbers: &[u64]) -> bool {
    #[cfg(target_os = "linux")]
    {
        rustix::fs::statfs(folder)
            .is_ok_and(|stat| magic_numbers.contains(&(stat.f_type as u64 & 0xffff_ffff)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (folder, magic_numbers);
        false
    }
}
