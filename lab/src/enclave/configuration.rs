//! The configurations that are compared.

use crate::paging::configuration::RATIOS;
use crate::paging::{self, paper};
use ameles_pager::scheme::Scheme;
use std::fmt;

/// The numbers of harts that share the work of a fault, if the scheme is a parallel one.
const HARTS: [u32; 2] = [2, 4];

/// A scheme, with its K and its harts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The scheme.
    pub scheme: Scheme,
    /// The K of schemes that have one.
    pub k: Option<u64>,
    /// The number of harts that seal and open pages.
    pub harts: u32,
}

impl Configuration {
    /// The configuration that all others are compared with.
    pub(super) const PLAIN: Configuration = Configuration { scheme: Scheme::Plain, k: None, harts: 1 };

    /// Every scheme, with all of the paper's values of K and both numbers of harts if it has them. Plain comes first.
    pub(super) fn paper_configurations() -> Vec<Self> {
        Scheme::ALL.into_iter().flat_map(|scheme| Self::of(scheme, &RATIOS, &HARTS)).collect()
    }

    /// Every scheme once, with its least K and fewest harts. Plain comes first.
    pub(super) fn sweep_configurations() -> Vec<Self> {
        Scheme::ALL.into_iter().flat_map(|scheme| Self::of(scheme, &RATIOS[..1], &HARTS[..1])).collect()
    }

    fn of(scheme: Scheme, ratios: &[u64], harts: &[u32]) -> Vec<Self> {
        let ratios: Vec<Option<u64>> =
            if scheme.has_ratio() { ratios.iter().copied().map(Some).collect() } else { vec![None] };
        let harts = if scheme.is_parallel() { harts } else { &[1] };
        harts
            .iter()
            .flat_map(|&harts| ratios.iter().map(move |&k| Configuration { scheme, k, harts }))
            .collect()
    }

    /// The paper's mean slowdown, if it prints one.
    pub(super) fn paper(self) -> Option<f64> {
        paper::slowdown(self.paging_configuration())
    }

    /// The configuration of `ameles page bench` with the same scheme and K.
    pub(super) fn paging_configuration(self) -> paging::Configuration {
        paging::Configuration::new(self.scheme, self.k)
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.paging_configuration())?;
        if self.harts > 1 { write!(f, ", {} harts", self.harts) } else { Ok(()) }
    }
}
