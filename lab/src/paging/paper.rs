//! The figures that are known beforehand. The paper prints the means over its six programs; those of each program are
//! bars in its pictures only.

use super::configuration::Configuration;
use ameles_pager::scheme::Scheme;

/// A mean slowdown against plain encrypted paging, in the paper and at most.
struct Slowdown {
    scheme: Scheme,
    k: Option<u64>,
    /// Measured in an emulator for DetWoORAM, Path ORAM and OPAM (the paper's Figure 2), computed for Eager (5) and
    /// Parallel (6).
    paper: Option<f64>,
    /// The bound that Ameles is to stay below: the geometric mean over the six programs, with AES-256-GCM and 15
    /// resident pages on two processors.
    max: f64,
}

const fn row(scheme: Scheme, k: Option<u64>, paper: Option<f64>, max: f64) -> Slowdown {
    Slowdown { scheme, k, paper, max }
}

const SLOWDOWNS: [Slowdown; 14] = [
    row(Scheme::DetWoOram, Some(3), Some(1.4), 1.35),
    row(Scheme::DetWoOram, Some(7), Some(2.0), 1.8),
    row(Scheme::DetWoOram, Some(15), Some(3.24), 2.8),
    row(Scheme::Eager, Some(3), Some(1.2), 1.2),
    row(Scheme::Eager, Some(7), Some(1.8), 1.5),
    row(Scheme::Eager, Some(15), Some(3.0), 2.4),
    row(Scheme::Parallel, Some(3), Some(1.1), 1.25),
    row(Scheme::Parallel, Some(7), Some(1.1), 1.5),
    row(Scheme::Parallel, Some(15), Some(1.4), 2.0),
    row(Scheme::EagerParallel, Some(3), None, 1.1),
    row(Scheme::EagerParallel, Some(7), None, 1.3),
    row(Scheme::EagerParallel, Some(15), None, 1.7),
    row(Scheme::Path, None, Some(27.0), 27.0),
    row(Scheme::Opam, None, Some(7.4), 7.4),
];

fn find(configuration: Configuration) -> Option<&'static Slowdown> {
    let Configuration { scheme, k } = configuration;
    SLOWDOWNS.iter().find(|row| (row.scheme, row.k) == (scheme, k))
}

/// The paper's mean slowdown.
pub(crate) fn slowdown(configuration: Configuration) -> Option<f64> {
    find(configuration)?.paper
}

/// The greatest mean slowdown that Ameles is to have.
pub(super) fn max_slowdown(configuration: Configuration) -> Option<f64> {
    Some(find(configuration)?.max)
}
