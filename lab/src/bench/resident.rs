//! The resident memory of this process, as Linux reports it.

use std::fs;

/// The resident memory of this process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resident {
    /// The resident memory now (`VmRSS`).
    pub(crate) now: u64,
    /// The maximum resident memory since the process began, or since [`reset_peak`] (`VmHWM`).
    pub(crate) peak: u64,
}

/// Reads the resident memory. Returns `None` if there is no `/proc`.
pub(crate) fn resident_memory() -> Option<Resident> {
    parse(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Resets the peak, if the system allows it.
pub(crate) fn reset_peak() {
    // Refused in some containers: the peak then counts from the beginning of the process, which is never less.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn parse(status: &str) -> Option<Resident> {
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
    };
    Some(Resident { now: of("VmRSS:")?, peak: of("VmHWM:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_figures_are_found_among_the_others() {
        let status = "Name:\tameles\nVmPeak:\t  900 kB\nVmHWM:\t     300 kB\nVmRSS:\t     200 kB\n";
        assert_eq!(parse(status), Some(Resident { now: 200 << 10, peak: 300 << 10 }));
        assert_eq!(parse("Name:\tameles\n"), None);
    }
}
