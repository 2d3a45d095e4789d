//! The benefit of more threads on this machine: the time that they save against the time that they cost.

use crate::error::Error;
use crate::linux::shootdown;
use crate::linux::sigbus_handler::OfflineWork;
use crate::options::Options;
use crate::page::PAGE_BYTES;
use crate::scheme::Scheme;
use ameles_seal::pages::{PageCipher, PageId, PageKey};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Returns whether the offline work of one fault is worth waking another thread, which may then delay the next fault.
pub(crate) fn offline_work(options: &Options) -> Result<OfflineWork, Error> {
    Ok(match options.scheme {
        _ if options.work_mode().is_some() => OfflineWork::Nothing,
        Scheme::Eager | Scheme::EagerParallel => {
            OfflineWork::Some { is_worth_waking: write_work(options)? > 2 * shootdown::cost()? }
        }
        Scheme::Path => OfflineWork::Some { is_worth_waking: false },
        _ => OfflineWork::Nothing,
    })
}

/// Returns the number of threads that have work. Returns 1 if they cost more time at the two moves of pages of a fault
/// than they save.
pub(super) fn worthwhile_threads(options: &Options) -> Result<usize, Error> {
    let processors = available_parallelism().map_or(1, |processors| processors.get() as u64);
    let threads = processors.min(options.ratio.saturating_add(1));
    if threads == 1 {
        return Ok(1);
    }
    let saved = write_work(options)?.mul_f64(1.0 - 1.0 / threads as f64);
    let pays = saved > 2 * shootdown::cost()?;
    Ok(if pays { threads as usize } else { 1 })
}

/// Returns the time to open and to seal the pages that one write moves.
fn write_work(options: &Options) -> Result<Duration, Error> {
    let pages = u32::try_from(options.ratio.min(options.pages)).unwrap_or(u32::MAX).saturating_add(1);
    Ok(page_work(options.cipher)?.saturating_mul(pages))
}

/// Returns the time to open and to seal a page, the least of a few trials.
fn page_work(cipher: PageCipher) -> Result<Duration, Error> {
    let mut rng = ChaCha20Rng::try_from_os_rng().map_err(|error| Error::Entropy(error.into()))?;
    let key = PageKey::draw(cipher, &mut rng);
    let (mut page, mut tag) = (vec![0; PAGE_BYTES], vec![0; cipher.tag_bytes()]);
    let trials = (1..10).map(|version| {
        let id = PageId { slot: 0, version };
        let begin = Instant::now();
        key.seal(id, &mut page, &mut tag);
        key.open(id, &mut page, &tag).map(|()| begin.elapsed())
    });
    Ok(trials.flatten().min().unwrap_or_default())
}
