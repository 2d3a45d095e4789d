//! The loss of a lost machine, as the owner reads it: by the plan of a vault, and now.

use crate::config::interval::Interval;
use crate::config::size::Size;
use crate::report::count::count;
use ameles_vault::{JournalPlace, Status, VaultParameters};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The sentence of a vault that loses nothing.
const NOTHING: &str = "loses no acknowledged write";

/// Accesses that the store lacks, as a number and as the bytes of their blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unshipped {
    /// The number of accesses.
    pub accesses: u64,
    bytes: Size,
}

impl Unshipped {
    /// These accesses to blocks of this many bytes.
    pub fn of(accesses: u64, block: u64) -> Self {
        Unshipped { accesses, bytes: Size(accesses * block) }
    }
}

impl fmt::Display for Unshipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} of blocks", count(self.accesses, "access"), self.bytes)
    }
}

/// Returns the line about the places of announcements and payloads.
pub fn journal_line(place: JournalPlace) -> (&'static str, String) {
    let places = match place {
        JournalPlace::Disk => "announcements and payloads on the trusted disk",
        JournalPlace::Store => {
            "announcements on the trusted disk, payloads in the store: one object per batch"
        }
        JournalPlace::StoreFirst => {
            "announcements and payloads in the store, before the requests leave: an object per batch and step"
        }
        JournalPlace::Standby => {
            "announcements and payloads in the store, before the requests leave: an object per batch and step, and \
             at least every 5 s; a standby takes over after 15 s without one"
        }
        JournalPlace::Etcd => {
            "announcements in etcd before the requests leave, payloads in the store beside them: an object per batch; a \
             standby takes over after 15 s without a sign of the gateway"
        }
    };
    ("journal", places.to_owned())
}

/// The accesses that a lost machine takes along by the plan of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRecoveryPoint {
    /// The place of the journal.
    pub place: JournalPlace,
    /// The accesses between two checkpoints in the store.
    pub accesses: u64,
    /// The bytes of a block.
    pub block: u64,
    /// The time for which the store lacks accesses at most, until a checkpoint with them is made.
    pub after: Duration,
}

impl PlannedRecoveryPoint {
    /// Returns the point of a vault that ships after this time.
    pub fn of(parameters: &VaultParameters, after: Duration) -> Self {
        PlannedRecoveryPoint {
            place: parameters.journal,
            accesses: parameters.recovery_point(),
            block: parameters.scheme.block_bytes().into(),
            after,
        }
    }
}

impl fmt::Display for PlannedRecoveryPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_in_store() {
            return f.write_str(NOTHING);
        }
        write!(f, "loses at most the writes of about the last {}", Unshipped::of(self.accesses, self.block))?;
        // Figures of an earlier version have no such time.
        if self.after.is_zero() { Ok(()) } else { write!(f, ", or of the last {}", Interval(self.after)) }
    }
}

/// The log in the store: what it lacks, and for how long. No caller was told that this is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogLag {
    /// The accesses of the batch whose object is on its way.
    pub accesses: u64,
    /// The seconds since that batch started.
    pub seconds: f64,
}

/// The accesses that a lost machine takes along now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recovery {
    /// The bytes of a block.
    pub block: u64,
    /// The accesses that the checkpoint in the store lacks.
    pub unshipped: u64,
    /// The seconds for which the store has lacked accesses, if that is known.
    pub lacking: Option<u64>,
    /// The seconds since the newest manifest's checkpoint was made, if that is known.
    pub manifest_age: Option<u64>,
    /// The log, if the journal is in the store.
    pub log: Option<LogLag>,
}

impl Recovery {
    /// Returns the figures of an open vault.
    pub fn of(status: &Status, parameters: &VaultParameters) -> Self {
        Recovery {
            block: parameters.scheme.block_bytes().into(),
            unshipped: status.checkpoints.unshipped,
            lacking: status.checkpoints.lacking_since.map(|since| since.elapsed().as_secs()),
            manifest_age: status.checkpoints.shipped_at.map(|at| at.elapsed().as_secs()),
            log: log_lag(status),
        }
    }

    /// The accesses that would be lost.
    pub fn accesses(&self) -> u64 {
        if self.log.is_some() { 0 } else { self.unshipped }
    }

    /// The bytes of their blocks.
    pub fn bytes(&self) -> u64 {
        self.accesses() * self.block
    }

    /// The seconds whose accesses would be lost, if that is known.
    pub fn seconds(&self) -> Option<u64> {
        if self.accesses() == 0 { Some(0) } else { self.lacking }
    }

    /// Returns the figures, each with its name.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let now = match (self.accesses(), self.log) {
            (_, Some(_)) => "nothing acknowledged would be lost".to_owned(),
            (0, None) => "nothing would be lost: the store has every access".to_owned(),
            (accesses, None) => {
                let time = self.seconds().map(|seconds| format!(", {seconds} s")).unwrap_or_default();
                format!("at most {}{time} would be lost", Unshipped::of(accesses, self.block))
            }
        };
        let mut lines = vec![("recovery point", now)];
        if let Some(LogLag { accesses, seconds }) = self.log {
            let lag = match accesses {
                0 => "none".to_owned(),
                _ => format!("{} for {seconds:.2} s, not acknowledged", count(accesses, "access")),
            };
            lines.push(("log lag", lag));
        }
        if let Some(age) = self.manifest_age {
            lines.push(("manifest", format!("the newest one in the store is {age} s old")));
        }
        lines
    }
}

/// Returns the lag of the log of an open vault, if its journal is in the store.
pub fn log_lag(status: &Status) -> Option<LogLag> {
    status.log.map(|log| LogLag {
        accesses: log.lag,
        seconds: log.since.map_or(0.0, |since| since.elapsed().as_secs_f64()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(recovery: Recovery) -> Vec<String> {
        recovery.lines().into_iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn what_a_machine_would_take_along_is_said_in_accesses_bytes_and_seconds() {
        let recovery =
            Recovery { block: 64 << 10, unshipped: 12, lacking: Some(14), manifest_age: Some(99), log: None };
        assert_eq!(
            lines(recovery),
            [
                "recovery point: at most 12 accesses, 768 KiB of blocks, 14 s would be lost",
                "manifest: the newest one in the store is 99 s old"
            ]
        );
        assert_eq!((recovery.accesses(), recovery.bytes(), recovery.seconds()), (12, 12 << 16, Some(14)));
        let unknown = Recovery { unshipped: 1, lacking: None, manifest_age: None, ..recovery };
        assert_eq!(lines(unknown), ["recovery point: at most 1 access, 64 KiB of blocks would be lost"]);
        let all = Recovery { unshipped: 0, ..unknown };
        assert_eq!(lines(all), ["recovery point: nothing would be lost: the store has every access"]);
        assert_eq!(all.seconds(), Some(0));
    }

    #[test]
    fn with_the_journal_in_the_store_nothing_is_lost_and_the_lag_is_said() {
        let lag = LogLag { accesses: 16, seconds: 0.021 };
        let recovery = Recovery { block: 1 << 16, unshipped: 900, log: Some(lag), ..Recovery::default() };
        assert_eq!(
            lines(recovery),
            [
                "recovery point: nothing acknowledged would be lost",
                "log lag: 16 accesses for 0.02 s, not acknowledged"
            ]
        );
        assert_eq!((recovery.accesses(), recovery.bytes(), recovery.seconds()), (0, 0, Some(0)));
        let still = Recovery { log: Some(LogLag::default()), ..recovery };
        assert_eq!(lines(still)[1], "log lag: none");
    }
}
