//! The memory and the room on the disk that a vault of the bench needs.

use super::super::BenchError;
use super::super::report::bytes;
use super::super::service::VaultOptions;
use std::fs;

/// The system's own part of memory, which stays free.
const SPARE: u64 = 1 << 30;

/// Returns the memory or disk space that is missing to measure a vault on this machine. Returns `None` if there is
/// enough, or if it cannot be read.
pub(super) fn missing_resources(options: &VaultOptions) -> Result<Option<String>, BenchError> {
    let parameters = options.parameters()?;
    let trusted = parameters.trusted_bytes() + parameters.checkpoint_memory();
    let memory = parameters.stored_bytes() + trusted + SPARE;
    if let Some(available) = available_memory().filter(|available| *available < memory) {
        let (needed, available) = (bytes(memory), bytes(available));
        return Ok(Some(format!(
            "they need {needed} of memory, their store included, and {available} are available"
        )));
    }
    let disk = 2 * parameters.trusted_bytes() + parameters.trusted_disk_bytes();
    Ok(free_on_disk()
        .filter(|free| *free < disk)
        .map(|free| format!("they need {} on the trusted disk, and {} are free", bytes(disk), bytes(free))))
}

/// The memory that is available without swapping, as Linux reports it.
fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The free bytes of the file system with the temporary folders.
fn free_on_disk() -> Option<u64> {
    let text = rustix::fs::statvfs(std::env::temp_dir()).ok()?;
    Some(text.f_bavail * text.f_frsize)
}
