//! The driver of a scheme: it asks for the blocks of objects, and gives the scheme its time for what is owed.

use super::error::ThesisError;
use super::job::Job;
use super::ran::Ran;
use crate::virtual_time::Clock;
use futures::future::{Either, select};
use futures::stream::{FuturesUnordered, StreamExt};
use lethe_core::oram::{Access, Oram, OramError};
use lethe_core::words::BlockId;
use std::convert::Infallible;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::time::Duration;

/// The way in which a scheme is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct How {
    /// The most accesses of a batch.
    pub(super) batch: u64,
    /// True if what is owed is done beside the next accesses; otherwise before them.
    pub(super) beside: bool,
    /// The most requests in flight.
    pub(super) in_flight: usize,
}

impl How {
    /// A request after the other, as the thesis's synchronous schemes do it.
    pub(super) const ONE_BY_ONE: How = How { batch: 1, beside: false, in_flight: 1 };
    /// As Lethe's vault and store do it.
    pub(super) const TOGETHER: How = How { batch: 16, beside: true, in_flight: 64 };
}

type Idle<'a> = Pin<Box<dyn Future<Output = Result<(), OramError<Infallible>>> + 'a>>;

struct Driver<'a, O> {
    oram: &'a O,
    how: How,
    idles: FuturesUnordered<Idle<'a>>,
}

/// Does a job whose objects lie in these blocks. Counts and times are those of the driver; the store has its own.
pub(super) async fn serve<O: Oram<Error = Infallible>>(
    oram: &O,
    clock: &Clock,
    job: &Job,
    places: &[Range<u64>],
    payload: u64,
    how: How,
) -> Result<Ran, ThesisError> {
    let mut driver = Driver { oram, how, idles: FuturesUnordered::new() };
    let (mut reads, mut writes) = (Mean::default(), Mean::default());
    let mut accesses = 0;
    let mut ends = [Duration::ZERO; 4];
    for (group, end) in job.groups() {
        let (begin, writes_it) = (clock.now(), group[0].writes);
        let mut blocks: Vec<u64> =
            group.iter().flat_map(|step| step.blocks(&places[step.object], payload)).collect();
        // A batch has each of its blocks once.
        blocks.sort_unstable();
        blocks.dedup();
        accesses += blocks.len() as u64;
        driver.blocks(writes_it, &blocks).await?;
        let mean = if writes_it { &mut writes } else { &mut reads };
        mean.add(clock.now() - begin);
        note(&job.ends, end, clock.now(), &mut ends);
    }
    driver.settle().await?;
    Ok(Ran {
        accesses,
        runtime: clock.now(),
        read: reads.mean(),
        write: writes.mean(),
        ends,
        ..Ran::default()
    })
}

impl<O: Oram<Error = Infallible>> Driver<'_, O> {
    async fn blocks(&mut self, writes: bool, blocks: &[u64]) -> Result<(), ThesisError> {
        let most = self.how.batch.min(self.oram.max_batch() as u64) as usize;
        for batch in blocks.chunks(most.max(1)) {
            self.access(writes, batch).await?;
        }
        Ok(())
    }

    async fn access(&mut self, writes: bool, blocks: &[u64]) -> Result<(), ThesisError> {
        while self.oram.must_idle() {
            self.begin_idles();
            if self.idles.is_empty() {
                self.idles.push(Box::pin(self.oram.idle()));
            }
            self.idles.next().await.transpose()?;
        }
        self.begin_idles();
        let access = |block: &u64| match writes {
            true => Access::Write(BlockId(*block), &[]),
            false => Access::Read(BlockId(*block), &mut []),
        };
        let mut batch: Vec<Access<'_>> = blocks.iter().map(access).collect();
        {
            let mut access = pin!(self.oram.access(&mut batch));
            loop {
                if self.idles.is_empty() {
                    access.await?;
                    break;
                }
                match select(access.as_mut(), self.idles.next()).await {
                    Either::Left((served, _)) => {
                        served?;
                        break;
                    }
                    Either::Right((ended, _)) => ended.transpose()?,
                };
            }
        }
        if !self.how.beside {
            self.settle().await?;
        }
        Ok(())
    }

    /// Begins as many steps of what is owed as gain from being in flight together.
    fn begin_idles(&self) {
        let room = self.oram.most_idles().saturating_sub(self.idles.len()) as u64;
        for _ in 0..room.min(self.oram.owed()) {
            self.idles.push(Box::pin(self.oram.idle()));
        }
    }

    /// Does all that is owed.
    async fn settle(&mut self) -> Result<(), ThesisError> {
        loop {
            self.begin_idles();
            match self.idles.next().await {
                Some(ended) => ended?,
                None => return Ok(()),
            }
        }
    }
}

/// Notes an instant if the job asks for it after so many steps.
pub(super) fn note(asked: &[usize], steps: usize, now: Duration, ends: &mut [Duration; 4]) {
    for (_, end) in asked.iter().zip(ends).filter(|(asked, _)| **asked == steps) {
        *end = now;
    }
}

/// A mean of times.
#[derive(Default)]
pub(super) struct Mean {
    sum: Duration,
    count: u32,
}

impl Mean {
    /// Adds a time.
    pub(super) fn add(&mut self, time: Duration) {
        self.sum += time;
        self.count += 1;
    }

    /// The mean; zero of no times.
    pub(super) fn mean(&self) -> Duration {
        self.sum.checked_div(self.count).unwrap_or_default()
    }
}
