//! The driver of a scheme: it asks for the blocks of objects, and gives the scheme its time for what is owed.

use super::error::ThesisError;
use super::job::{Job, Step};
use super::ran::Ran;
use super::recorded::{Batch, Recorded};
use crate::virtual_time::Clock;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::types::BlockId;
use futures::future::{Either, select};
use futures::stream::{FuturesUnordered, StreamExt};
use rand_core::RngCore;
use std::collections::BTreeMap;
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
    /// As Ameles's vault and store do it.
    pub(super) const TOGETHER: How = How { batch: 16, beside: true, in_flight: 64 };
}

type Idle<'a> = Pin<Box<dyn Future<Output = Result<(), OramError<Infallible>>> + 'a>>;

struct Driver<'a, O> {
    oram: &'a O,
    how: How,
    idles: FuturesUnordered<Idle<'a>>,
}

/// The blocks that the steps of a job access.
pub(super) enum Blocks<'a> {
    /// Those of the objects, which lie in these blocks of so many bytes.
    Objects(&'a [Range<u64>], u64),
    /// Those that the object layer accessed in each step.
    Recorded(&'a Recorded),
}

/// A job with its blocks, and how often it is done.
pub(super) struct Course<'a> {
    pub(super) job: &'a Job,
    pub(super) blocks: Blocks<'a>,
    /// The time that the application takes for each operation, beside the store.
    pub(super) operation: Duration,
    /// The number of times that the job is done, one after the other. Figures are those of one.
    pub(super) repeats: u32,
}

impl Course<'_> {
    /// The batches of steps that are asked for together: the steps with these numbers.
    fn batches(&self, group: &[Step], steps: &Range<usize>) -> Vec<Batch> {
        match &self.blocks {
            Blocks::Objects(places, payload) => {
                let of = |step: &Step| step.blocks(&places[step.object], *payload);
                let all = group.iter().flat_map(|step| of(step).map(|block| (block, step.writes)));
                vec![each_once(all)]
            }
            Blocks::Recorded(objects) => match &objects.0[steps.clone()] {
                [alone] => alone.clone(),
                together => vec![each_once(together.iter().flatten().flatten().copied())],
            },
        }
    }
}

/// The blocks, each once: written if any of those who ask for it writes it.
fn each_once(all: impl Iterator<Item = (u64, bool)>) -> Batch {
    let mut blocks = BTreeMap::new();
    all.for_each(|(block, writes)| *blocks.entry(block).or_default() |= writes);
    blocks.into_iter().collect()
}

/// Writes so many blocks at random, and does what is owed.
pub(super) async fn warm_up<O: Oram<Error = Infallible>>(
    oram: &O,
    random: &mut impl RngCore,
    accesses: u64,
) -> Result<(), ThesisError> {
    let mut driver = Driver { oram, how: How::TOGETHER, idles: FuturesUnordered::new() };
    let max = oram.max_batch() as u64;
    let mut left = accesses;
    while left > 0 {
        let first = random.next_u64() % oram.capacity();
        let end = oram.capacity().min(first + left.min(max));
        driver.access(&(first..end).map(|block| (block, true)).collect::<Vec<_>>()).await?;
        left -= end - first;
    }
    driver.settle().await
}

/// Does a job. Counts and times are those of the driver; the store has its own.
pub(super) async fn serve<O: Oram<Error = Infallible>>(
    oram: &O,
    clock: &Clock,
    course: &Course<'_>,
    how: How,
) -> Result<Ran, ThesisError> {
    let mut driver = Driver { oram, how, idles: FuturesUnordered::new() };
    let (mut reads, mut writes) = (Mean::default(), Mean::default());
    let (mut accesses, mut runtime, mut ends) = (0, Duration::ZERO, [Duration::ZERO; 4]);
    for _ in 0..course.repeats {
        accesses = 0;
        let mut begun = clock.now();
        for (group, steps) in course.job.groups() {
            if steps.start == course.job.prepared {
                begun = clock.now();
            }
            driver.rest(clock, course.operation).await?;
            let begin = clock.now();
            for batch in course.batches(group, &steps) {
                accesses += batch.len() as u64;
                driver.blocks(&batch).await?;
            }
            for step in group.iter().filter(|_| steps.start >= course.job.prepared) {
                let mean = if step.writes { &mut writes } else { &mut reads };
                mean.add(clock.now() - begin);
            }
            note(&course.job.ends, steps.end, clock.now() - begun, &mut ends);
        }
        driver.settle().await?;
        runtime += clock.now() - begun;
    }
    let runtime = runtime / course.repeats.max(1);
    let ends = ends.map(|end| end / course.repeats.max(1));
    Ok(Ran { accesses, runtime, read: reads.mean(), write: writes.mean(), ends, ..Ran::default() })
}

impl<O: Oram<Error = Infallible>> Driver<'_, O> {
    /// Accesses blocks, each of which is written or read.
    async fn blocks(&mut self, blocks: &[(u64, bool)]) -> Result<(), ThesisError> {
        let max = self.how.batch.min(self.oram.max_batch() as u64) as usize;
        for batch in blocks.chunks(max.max(1)) {
            self.access(batch).await?;
        }
        Ok(())
    }

    async fn access(&mut self, blocks: &[(u64, bool)]) -> Result<(), ThesisError> {
        while self.oram.must_step() {
            self.begin_idles();
            if self.idles.is_empty() {
                self.idles.push(Box::pin(self.oram.step()));
            }
            self.idles.next().await.transpose()?;
        }
        self.begin_idles();
        let access = |(block, writes): &(u64, bool)| match writes {
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

    /// Lets so much time go by, and does what is owed meanwhile, if it may be done beside accesses.
    async fn rest(&mut self, clock: &Clock, time: Duration) -> Result<(), ThesisError> {
        let mut end = pin!(clock.until(clock.now() + time));
        while !self.idles.is_empty() {
            match select(end.as_mut(), self.idles.next()).await {
                Either::Left(_) => return Ok(()),
                Either::Right((ended, _)) => ended.transpose()?,
            };
        }
        end.await;
        Ok(())
    }

    /// Begins as many steps of what is owed as gain from being in flight together.
    fn begin_idles(&self) {
        let room = self.oram.max_concurrent_steps().saturating_sub(self.idles.len()) as u64;
        for _ in 0..room.min(self.oram.pending_steps()) {
            self.idles.push(Box::pin(self.oram.step()));
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

/// Adds a time to each of these that the job notes after so many steps.
pub(super) fn note(noted: &[usize], steps: usize, time: Duration, ends: &mut [Duration; 4]) {
    for (_, end) in noted.iter().zip(ends).filter(|(noted, _)| **noted == steps) {
        *end += time;
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
