//! The steps of processors that send each other messages: who sends to whom, and what becomes of it.

use super::record;
use crate::network::{Message, Network, Processor};
use crate::permutation::oblivious_sort::stages;
use alloc::vec::Vec;

/// Carries the messages of one step, in their order. A message of a processor to itself stays there, and a step without
/// messages leaves no trace.
pub(super) async fn exchange<N: Network>(
    network: &N,
    messages: Vec<Message>,
) -> Result<Vec<Message>, N::Error> {
    let is_own = |message: &Message| message.from == message.to;
    let order: Vec<bool> = messages.iter().map(is_own).collect();
    let (own, mut sent): (Vec<Message>, Vec<Message>) = messages.into_iter().partition(is_own);
    if !sent.is_empty() {
        network.exchange(&mut sent).await?;
    }
    let (mut own, mut sent) = (own.into_iter(), sent.into_iter());
    Ok(order.iter().filter_map(|is_own| if *is_own { own.next() } else { sent.next() }).collect())
}

/// A message from one place to another. Each processor is a place.
pub(super) fn message(from: usize, to: usize, contents: &[u8]) -> Message {
    let [from, to] = [from, to].map(|place| Processor(place as u32));
    Message { from, to, contents: contents.to_vec() }
}

/// The place of a processor.
pub(super) fn place(processor: Processor) -> usize {
    processor.0 as usize
}

/// A record at each processor.
pub(super) struct Places {
    record_bytes: usize,
    bytes: Vec<u8>,
}

/// The place of a request among those for the same block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceInRun {
    /// True for the first request of the run, which speaks for all.
    pub(super) is_first: bool,
    /// True for the last request of the run, which has the final contents of the block.
    pub(super) is_last: bool,
}

impl Places {
    /// Returns this many records of zeros.
    pub(super) fn new(places: usize, record_bytes: usize) -> Self {
        Places { record_bytes, bytes: alloc::vec![0; places * record_bytes] }
    }

    /// The number of places.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.record_bytes
    }

    /// The record at a place.
    pub(super) fn record(&self, place: usize) -> &[u8] {
        &self.bytes[place * self.record_bytes..][..self.record_bytes]
    }

    /// The record at a place, to be changed.
    pub(super) fn record_mut(&mut self, place: usize) -> &mut [u8] {
        &mut self.bytes[place * self.record_bytes..][..self.record_bytes]
    }

    /// Sorts the records by a key that no two have in common. The two processors of a comparator send each other their
    /// records. One keeps the smaller record, and the other keeps the greater.
    pub(super) async fn sort<N: Network, K: Ord>(
        &mut self,
        network: &N,
        key: impl Fn(&[u8]) -> K,
    ) -> Result<(), N::Error> {
        for driver in stages(self.len() as u64) {
            let mut messages = Vec::new();
            for (one, other) in driver {
                let (one, other) = (one as usize, other as usize);
                messages.push(message(one, other, self.record(one)));
                messages.push(message(other, one, self.record(other)));
            }
            for came in exchange(network, messages).await? {
                let (from, to) = (place(came.from), place(came.to));
                let mine = self.record_mut(to);
                let is_smaller = key(&came.contents) < key(mine);
                if is_smaller == (to < from) {
                    mine.copy_from_slice(&came.contents);
                }
            }
        }
        Ok(())
    }

    /// Finds the runs of requests for the same block among records in the order of blocks. Each processor tells its
    /// block to both neighbours.
    pub(super) async fn find_runs<N: Network>(&self, network: &N) -> Result<Vec<PlaceInRun>, N::Error> {
        let block_at = |place: usize| record::word_of(record::block(self.record(place))).to_le_bytes();
        let mut messages = Vec::new();
        for after in 1..self.len() {
            messages.push(message(after - 1, after, &block_at(after - 1)));
            messages.push(message(after, after - 1, &block_at(after)));
        }
        let alone = |place: usize| {
            let is_one = record::block(self.record(place)).is_some();
            PlaceInRun { is_first: is_one, is_last: is_one }
        };
        let mut runs: Vec<PlaceInRun> = (0..self.len()).map(alone).collect();
        for came in exchange(network, messages).await? {
            let (from, to) = (place(came.from), place(came.to));
            if came.contents == block_at(to) {
                let PlaceInRun { is_first, is_last } = &mut runs[to];
                *if from < to { is_first } else { is_last } = false;
            }
        }
        Ok(runs)
    }

    /// Lets each request learn from all earlier requests for the same block. The records are in the order of blocks,
    /// and each step covers twice the distance of the previous one.
    pub(super) async fn pass_on<N: Network>(&mut self, network: &N) -> Result<(), N::Error> {
        let mut distance = 1;
        while distance < self.len() {
            let messages = (distance..self.len())
                .map(|to| message(to - distance, to, self.record(to - distance)))
                .collect();
            for came in exchange(network, messages).await? {
                record::learn(self.record_mut(place(came.to)), &came.contents);
            }
            distance *= 2;
        }
        Ok(())
    }
}

/// Lets every processor know what each of them knows, in the order of processors: twice as much after each step.
/// Returns the result of the first one, which is the result of all.
pub(super) async fn spread<N: Network>(network: &N, own: Vec<Vec<u8>>) -> Result<Vec<u8>, N::Error> {
    let mut known = own;
    let mut distance = 1;
    while distance < known.len() {
        let messages = known.iter().enumerate().map(|(from, known)| message(from, from ^ distance, known));
        for came in exchange(network, messages.collect()).await? {
            let (from, to) = (place(came.from), place(came.to));
            let at = if from < to { 0 } else { known[to].len() };
            known[to].splice(at..at, came.contents);
        }
        distance *= 2;
    }
    Ok(known.into_iter().next().unwrap_or_default())
}
