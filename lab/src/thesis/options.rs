//! The options of the workloads.

use super::driver::DriverSettings;
use super::error::ThesisError;
use super::workloads;
use crate::prices::{self, Provider};
use crate::virtual_time::{LinkModel, ServerTime};
use ameles_gateway::AnyDevice;
use ameles_store::{BitsPerSecond, LinkSpeed};
use ameles_vault::Vault;
use std::time::Duration;

/// The part of the filling of an ORAM, before its first access, that is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountFilling {
    /// Nothing.
    Nothing,
    /// The requests of filling count, its bytes do not: the thesis's uploads and costs include them, its MB do not.
    #[default]
    Requests,
    /// The requests and the bytes of filling count.
    All,
}

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The five workloads, or those that are named.
    Workloads,
    /// Sweeps of the size of blocks and of the link.
    Sweeps,
    /// The costs that differential privacy saves.
    Study,
    /// The workloads without an ORAM, by block size.
    Estimates,
    /// Git over Swift, in a public and in a private cloud.
    Git,
    /// The growth of each scheme with its number of blocks.
    Growth,
    /// The thesis's verdicts, from the rows of the workloads.
    Verdicts,
    /// Workload A, or those that are named, in real time. Run only when it is named.
    Real,
    /// A vault that grows under load, in real time. Run only when it is named.
    Elasticity,
    /// A vault that is killed and comes back, in real time. Run only when it is named.
    Reliability,
}

impl Part {
    /// All parts that run by default, in the order of the report.
    pub const DEFAULT: [Part; 7] = [
        Part::Workloads,
        Part::Git,
        Part::Estimates,
        Part::Sweeps,
        Part::Study,
        Part::Growth,
        Part::Verdicts,
    ];
}

/// The choices of a run: workloads, schemes, link, prices and seeds.
#[derive(Clone, Debug)]
pub struct Options {
    // Wide: each field is a choice of the command line.
    /// The parts of the report. The default is [`Part::DEFAULT`], or only the workloads if a workload, a scheme or a
    /// block size is selected.
    pub parts: Vec<Part>,
    /// The letters of the workloads, or files of COSBench. The default is all of the thesis.
    pub workloads: Vec<String>,
    /// The schemes. The default is all but those that must be named.
    pub schemes: Vec<String>,
    /// The block sizes in bytes. The default is the thesis's three sizes for each workload.
    pub block_bytes: Vec<u64>,
    /// True if each workload is run with its largest blocks only, and its first 30 steps.
    pub quick: bool,
    /// The seed of all that is drawn: the first of them.
    pub seed: u64,
    /// The number of seeds, of which tables give medians and ranges. Runs in real time use only the first.
    pub seeds: u64,
    /// The link.
    pub link: LinkSpeed,
    /// The bandwidth that a single request gets at most; 0 for the whole bandwidth of the link.
    pub request_bandwidth: BitsPerSecond,
    /// The time that the store takes for a request.
    pub server: ServerTime,
    /// The time that the application takes for each operation, in addition to the store. The default is that of the
    /// thesis's workload.
    pub application_time: Option<Duration>,
    /// True if Ameles's schemes are run under the gateway's object layer.
    pub objects: bool,
    /// The part of the filling that is counted.
    pub filling: CountFilling,
    /// The providers in whose dollars the workloads are given, in addition to the provider of the thesis.
    pub prices: Vec<Provider>,
    /// The number of bytes of the ORAM of runs in real time. By default, the run has the first 30 steps of a workload,
    /// and its objects fill at most half of the ORAM.
    pub oram_bytes: Option<u64>,
    /// Makes the gateway's device of a vault, for runs of the whole gateway in real time.
    pub device: Option<fn(Vault) -> AnyDevice>,
}

/// The application's time for each operation in the thesis's runs of C and E. Their printed runs without an ORAM take
/// this much longer than link and store explain. In A, B and D there is no such time.
const APPLICATION_TIME: Duration = Duration::from_millis(330);

impl Options {
    /// All workloads and schemes over the link of the thesis: 23.6 ms, 510.4 Mbit/s each way. The store takes 5 ms for
    /// a GET and 80 ms for a PUT. In the printed runs that send one small block after the other, a request takes this
    /// much longer than the link.
    pub fn standard() -> Self {
        Options {
            parts: Vec::new(),
            workloads: Vec::new(),
            schemes: Vec::new(),
            block_bytes: Vec::new(),
            quick: false,
            seed: 1,
            seeds: 1,
            link: LinkSpeed {
                round_trip: Duration::from_micros(23_600),
                up: BitsPerSecond(510_400_000),
                down: BitsPerSecond(510_400_000),
            },
            request_bandwidth: BitsPerSecond(0),
            server: ServerTime { get: Duration::from_millis(5), put: Duration::from_millis(80) },
            application_time: None,
            objects: false,
            filling: CountFilling::Requests,
            prices: prices::current_providers(),
            oram_bytes: None,
            device: None,
        }
    }

    /// Checks what is true of every part.
    pub(super) fn check(&self) -> Result<(), ThesisError> {
        let is_a_block = |bytes: &u64| bytes.is_multiple_of(1 << 10) && (4 << 10..=16 << 20).contains(bytes);
        match self.block_bytes.iter().find(|bytes| !is_a_block(bytes)) {
            Some(bytes) => {
                let (name, known) =
                    (format!("of {bytes} bytes"), "a multiple of 1 KiB from 4 KiB to 16 MiB".to_owned());
                Err(ThesisError::Unknown { what: "block", name, known })
            }
            None => Ok(()),
        }
    }

    /// The workloads that are run.
    pub(super) fn letters(&self) -> Vec<String> {
        match self.workloads.as_slice() {
            [] => workloads::WORKLOADS.map(|(letter, _)| letter.to_owned()).into(),
            named => named.into(),
        }
    }

    /// The link and the store, for schemes that have as many requests in flight as Ameles's store.
    pub(super) fn model(&self) -> LinkModel {
        let in_flight = DriverSettings::CONCURRENT.in_flight;
        LinkModel {
            speed: self.link,
            server: self.server,
            request_bandwidth: self.request_bandwidth,
            in_flight,
        }
    }

    /// The application's time for each operation of a workload, in addition to the store.
    pub(super) fn application_time_of(&self, letter: &str) -> Duration {
        let thesis_providers = if matches!(letter, "C" | "E") { APPLICATION_TIME } else { Duration::ZERO };
        self.application_time.unwrap_or(thesis_providers)
    }

    /// The parts that are run.
    pub fn parts(&self) -> Vec<Part> {
        let is_narrowed =
            !(self.workloads.is_empty() && self.schemes.is_empty() && self.block_bytes.is_empty());
        match self.parts.as_slice() {
            [] if is_narrowed => vec![Part::Workloads],
            [] => Part::DEFAULT.into(),
            named => named.into(),
        }
    }
}
