//! The choices of whoever runs the workloads.

use crate::virtual_time::ServerTime;
use lethe_store::{BitsPerSecond, LinkSpeed};
use std::time::Duration;

/// The part of the filling of an ORAM, before its first access, that is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountFilling {
    /// Nothing.
    Nothing,
    /// Its requests, and not its bytes: the thesis's uploads and costs have them, its MB have not.
    #[default]
    Requests,
    /// Its requests and its bytes.
    All,
}

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The five workloads, or those that are named.
    Workloads,
    /// Git over Swift, in a public and in a private cloud.
    Git,
}

impl Part {
    /// All of them, in the order of the report.
    pub const ALL: [Part; 2] = [Part::Workloads, Part::Git];
}

/// The choices.
#[derive(Clone, Debug)]
pub struct Options {
    /// The parts of the report; if none is named, all, or the workloads alone where a workload, a scheme or a block size
    /// is named.
    pub parts: Vec<Part>,
    /// The letters of the workloads, or files of COSBench; all of the thesis, if none is named.
    pub workloads: Vec<String>,
    /// The schemes; if none is named, all but those that are run only when they are named.
    pub schemes: Vec<String>,
    /// Bytes of a block; the thesis's three for each workload, if none is named.
    pub block_bytes: Vec<u64>,
    /// True if each workload is run with its largest blocks only, and its first 30 steps.
    pub quick: bool,
    /// The seed of all that is drawn.
    pub seed: u64,
    /// The link.
    pub link: LinkSpeed,
    /// The time that the store takes for a request.
    pub server: ServerTime,
    /// The part of the filling that is counted.
    pub filling: CountFilling,
}

impl Options {
    /// All workloads and schemes over the link of the thesis: 23.6 ms, 510.4 Mbit/s each way. The store takes 5 ms for a
    /// GET and 80 ms for a PUT: so much more than the link does a request take in those printed runs that send one small
    /// block after the other.
    pub fn standard() -> Self {
        Options {
            parts: Vec::new(),
            workloads: Vec::new(),
            schemes: Vec::new(),
            block_bytes: Vec::new(),
            quick: false,
            seed: 1,
            link: LinkSpeed {
                round_trip: Duration::from_micros(23_600),
                up: BitsPerSecond(510_400_000),
                down: BitsPerSecond(510_400_000),
            },
            server: ServerTime { get: Duration::from_millis(5), put: Duration::from_millis(80) },
            filling: CountFilling::Requests,
        }
    }

    /// The parts that are run.
    pub(super) fn parts(&self) -> Vec<Part> {
        let is_narrowed =
            !(self.workloads.is_empty() && self.schemes.is_empty() && self.block_bytes.is_empty());
        match self.parts.as_slice() {
            [] if is_narrowed => vec![Part::Workloads],
            [] => Part::ALL.into(),
            named => named.into(),
        }
    }
}
