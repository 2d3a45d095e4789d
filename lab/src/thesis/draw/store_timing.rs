//! The time that operations take without an ORAM. Works that end by seconds use it, so that every scheme does the
//! same job.

use crate::virtual_time::{LinkModel, Network, RequestKind};
use std::time::Duration;

/// The store, and the time of the application.
#[derive(Clone, Copy, Debug)]
pub struct StoreTiming {
    /// The link and the store.
    pub model: LinkModel,
    /// The time that the application takes for each operation, in addition to the store.
    pub application_time: Duration,
}

/// A clock of the workers of a stage.
pub(super) struct StageClock {
    network: Network,
    application_time: Duration,
    now: Duration,
}

impl StageClock {
    /// A clock at the beginning of a stage.
    pub(super) fn new(timing: &StoreTiming, workers: usize) -> Self {
        let network = Network::new(LinkModel { in_flight: workers, ..timing.model });
        StageClock { network, application_time: timing.application_time, now: Duration::ZERO }
    }

    /// The time since the beginning.
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    /// Lets the workers ask together, and waits for the last answer.
    pub(super) fn round(&mut self, requests: impl Iterator<Item = (RequestKind, u64)>) {
        self.now += self.application_time;
        let begin = self.now;
        for (kind, bytes) in requests {
            self.now = self.now.max(self.network.request(begin, kind, bytes));
        }
    }
}
