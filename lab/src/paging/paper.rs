//! The figures that are known beforehand. The paper prints the means over its six programs; those of each program are
//! bars in its pictures only.

use super::configuration::Configuration;
use ameles_pager::scheme::Scheme;

/// The paper's mean slowdown against plain encrypted paging: measured in an emulator for DetWoORAM, Path ORAM and OPAM
/// (its Figure 2), computed for Eager (5) and Parallel (6).
pub(crate) fn slowdown(configuration: Configuration) -> Option<f64> {
    Some(match (configuration.scheme, configuration.k) {
        (Scheme::DetWoOram, Some(3)) => 1.4,
        (Scheme::DetWoOram, Some(7)) => 2.0,
        (Scheme::DetWoOram, Some(15)) => 3.24,
        (Scheme::Eager, Some(3)) => 1.2,
        (Scheme::Eager, Some(7)) => 1.8,
        (Scheme::Eager, Some(15)) => 3.0,
        (Scheme::Parallel, Some(3 | 7)) => 1.1,
        (Scheme::Parallel, Some(15)) => 1.4,
        (Scheme::Path, _) => 27.0,
        (Scheme::Opam, _) => 7.4,
        _ => return None,
    })
}

/// The bound that Ameles is to stay below: the geometric mean over the six programs, with AES-256-GCM and 15 resident
/// pages on two processors.
pub(super) fn max_slowdown(configuration: Configuration) -> Option<f64> {
    Some(match (configuration.scheme, configuration.k) {
        (Scheme::DetWoOram, Some(3)) => 1.35,
        (Scheme::DetWoOram, Some(7)) => 1.8,
        (Scheme::DetWoOram, Some(15)) => 2.8,
        (Scheme::Eager, Some(3)) => 1.2,
        (Scheme::Eager, Some(7)) => 1.5,
        (Scheme::Eager, Some(15)) => 2.4,
        (Scheme::Parallel, Some(3)) => 1.25,
        (Scheme::Parallel, Some(7)) => 1.5,
        (Scheme::Parallel, Some(15)) => 2.0,
        (Scheme::EagerParallel, Some(3)) => 1.1,
        (Scheme::EagerParallel, Some(7)) => 1.3,
        (Scheme::EagerParallel, Some(15)) => 1.7,
        (Scheme::Path, _) => 27.0,
        (Scheme::Opam, _) => 7.4,
        _ => return None,
    })
}
