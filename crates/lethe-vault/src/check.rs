//! Reading and authenticating the whole vault, bucket by bucket, in the order of their numbers: a public pattern.

use crate::error::VaultError;
use lethe_core::store::Untrusted;
use lethe_core::words::{Bucket, Slot};
use lethe_seal::error::SealError;
use lethe_seal::sealed::{Resolved, Sealed};

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Buckets that were written at some time, all of which were read.
    pub buckets: u64,
    /// Slots in them.
    pub slots: u64,
    /// Sealed bytes read.
    pub bytes: u64,
    /// What is wrong, one line for each bucket, at most a hundred.
    pub complaints: Vec<String>,
}

/// Complaints that a report holds at most.
pub(crate) const MOST_COMPLAINTS: usize = 100;

/// Told how much of how much is done.
pub type Progress = Box<dyn Fn(u64, u64) + Send>;

/// Reads every bucket that was ever written.
pub(crate) async fn check<U: Untrusted>(
    sealed: &Sealed<U>,
    progress: Progress,
) -> Result<Report, VaultError> {
    let live: Vec<(Bucket, lethe_core::words::Version)> =
        sealed.with_versions(|versions| versions.live().map(|live| (live.bucket, live.version)).collect());
    let mut report = Report { buckets: live.len() as u64, ..Report::default() };
    let mut plaintext = Vec::new();
    for (nth, (bucket, version)) in live.iter().copied().enumerate() {
        let slots = sealed.layout().extent(bucket).slots;
        let places: Vec<Resolved> =
            (0..slots).map(|index| Resolved { slot: Slot { bucket, index }, version }).collect();
        plaintext.resize(sealed.layout().bucket_bytes(bucket), 0);
        match sealed.read_places(&places, &mut plaintext).await {
            Ok(()) => {}
            Err(wrong @ (SealError::Forged(_) | SealError::Missing(_) | SealError::Truncated(_))) => {
                report.complaints.push(wrong.to_string());
                if report.complaints.len() == MOST_COMPLAINTS {
                    break;
                }
            }
            Err(other) => return Err(other.into()),
        }
        report.slots += u64::from(slots);
        report.bytes += sealed.untrusted().layout().bucket_bytes(bucket) as u64;
        progress(nth as u64 + 1, live.len() as u64);
    }
    Ok(report)
}
