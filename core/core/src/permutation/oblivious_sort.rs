//! Oblivious sorting: records of untrusted memory are put in order by reads and writes that do not depend on their
//! contents.
//!
//! The network is Batcher's merge exchange: Knuth, "The Art of Computer Programming", volume 3, section 5.2.2,
//! algorithm M. It sorts whole runs: a comparator reads two runs, and writes the smaller half back to the first place
//! and the greater to the second. With runs of one record it is the network itself. The trusted side holds two runs.
//!
//! **What the trace shows**: nothing but the number of records, which is public.
//!
//! **Costs** of n records in r = n/c runs of c: each record is read and written once for its run. It is read and
//! written again in each of about (lg r)(lg r + 1) / 2 stages. A comparator takes a read and a write, one after the
//! other.

use crate::store::Store;
use crate::types::{Bucket, Slot};
use alloc::vec::Vec;

/// Records in buckets of one slot each, in runs of one length.
pub(crate) struct Records {
    /// The bucket of the first record.
    pub(crate) first: Bucket,
    /// The number of runs.
    pub(crate) runs: u64,
    /// c, the number of records of a run: at least 1.
    pub(crate) run_records: u32,
    /// The bytes of a record: at least 1.
    pub(crate) record_bytes: usize,
}

/// Buffers of a sort, used again from one to the next.
#[derive(Default)]
pub(crate) struct Scratch {
    buckets: Vec<Bucket>,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    sorted: Vec<u8>,
    order: Vec<usize>,
}

impl Records {
    /// Sorts by a key. Before that, `prepare` is called with each index and its record, in order.
    ///
    /// # Errors
    /// The errors of the store.
    pub(crate) async fn sort<S: Store, K: Ord>(
        &self,
        store: &S,
        scratch: &mut Scratch,
        mut prepare: impl FnMut(u64, &mut [u8]),
        key: impl Fn(&[u8]) -> K,
    ) -> Result<(), S::Error> {
        for run in 0..self.runs {
            self.read(store, scratch, &[run]).await?;
            let first = run * u64::from(self.run_records);
            for (index, record) in (first..).zip(scratch.bytes.chunks_exact_mut(self.record_bytes)) {
                prepare(index, record);
            }
            self.write_in_order(store, scratch, &key).await?;
        }
        for (one, other) in merge_exchange(self.runs) {
            self.read(store, scratch, &[one, other]).await?;
            self.write_in_order(store, scratch, &key).await?;
        }
        Ok(())
    }

    async fn read<S: Store>(&self, store: &S, scratch: &mut Scratch, runs: &[u64]) -> Result<(), S::Error> {
        let Scratch { buckets, slots, bytes, .. } = scratch;
        let records = u64::from(self.run_records);
        let indices = runs.iter().flat_map(|run| run * records..(run + 1) * records);
        buckets.clear();
        buckets.extend(indices.map(|index| Bucket(self.first.0 + index)));
        slots.clear();
        slots.extend(buckets.iter().copied().map(Slot::only));
        bytes.resize(slots.len() * self.record_bytes, 0);
        store.read_buffer(slots, bytes).await
    }

    async fn write_in_order<S: Store, K: Ord>(
        &self,
        store: &S,
        scratch: &mut Scratch,
        key: impl Fn(&[u8]) -> K,
    ) -> Result<(), S::Error> {
        let Scratch { buckets, bytes, sorted, order, .. } = scratch;
        let record = |nth: usize| &bytes[nth * self.record_bytes..][..self.record_bytes];
        order.clear();
        order.extend(0..buckets.len());
        order.sort_by_key(|nth| key(record(*nth)));
        sorted.clear();
        order.iter().for_each(|nth| sorted.extend_from_slice(record(*nth)));
        store.write_buffer(buckets, sorted).await
    }
}

/// The comparators of algorithm M for n items, in order: each a smaller index and a greater one.
fn merge_exchange(places: u64) -> impl Iterator<Item = (u64, u64)> {
    stages(places).flatten()
}

/// The stages of algorithm M for n items, in order. The comparators of one stage touch no item twice, so they can run
/// in parallel.
pub(crate) fn stages(places: u64) -> impl Iterator<Item = impl Iterator<Item = (u64, u64)>> {
    let half = places.next_power_of_two() / 2;
    let strides =
        core::iter::successors(Some(half), |stride| Some(stride / 2)).take_while(|stride| *stride > 0);
    strides.flat_map(move |stride| {
        // The first stage of a stride compares over the stride, and the other stages compare over the gaps that are
        // left.
        let gaps =
            core::iter::successors(Some(half), |gap| Some(gap / 2)).take_while(move |gap| *gap > stride);
        let later = gaps.map(move |gap| (gap - stride, stride));
        core::iter::once((stride, 0)).chain(later).map(move |(distance, offset)| {
            let last = places.saturating_sub(distance);
            (0..last)
                .filter(move |place| place & stride == offset)
                .map(move |place| (place, place + distance))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TraceEntry, TraceStore, finish_now};
    use crate::tree::layout::{Extent, Layout};
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn the_network_sorts_every_sequence_of_zeros_and_ones() {
        // By the principle of zeros and ones it sorts everything then.
        for places in 0..=14u64 {
            let comparators: Vec<(u64, u64)> = merge_exchange(places).collect();
            for mut ones in 0u32..1 << places {
                for (one, other) in &comparators {
                    assert!(one < other && *other < places);
                    if ones >> one & 1 > ones >> other & 1 {
                        ones ^= 1 << one | 1 << other;
                    }
                }
                let is_sorted = (1..places).all(|place| ones >> (place - 1) & 1 <= ones >> place & 1);
                assert!(is_sorted, "{places} places: {ones:b}");
            }
        }
    }

    #[test]
    fn the_network_has_as_many_comparators_as_knuth_counts() {
        // Section 5.2.2, exercise 11 and table 1 of section 5.3.4.
        let counted = [1u64, 2, 4, 8, 16, 32, 64].map(|places| merge_exchange(places).count());
        assert_eq!(counted, [0, 1, 5, 19, 63, 191, 543]);
    }

    #[test]
    fn a_stage_touches_no_place_twice() {
        for places in 0..70u64 {
            for driver in stages(places) {
                let mut touched: Vec<u64> = driver.flat_map(|(one, other)| [one, other]).collect();
                let all = touched.len();
                touched.sort_unstable();
                touched.dedup();
                assert_eq!(touched.len(), all, "{places} places");
            }
        }
    }

    fn sorted(runs: u64, run_records: u32, values: &[u8]) -> (Vec<u8>, Vec<TraceEntry>) {
        let buckets = runs * u64::from(run_records);
        let store = TraceStore::new(Layout::new(vec![Extent { buckets, slots: 1, slot_bytes: 2 }]));
        let records = Records { first: Bucket(0), runs, run_records, record_bytes: 2 };
        let label = |place: u64, record: &mut [u8]| record.copy_from_slice(&[values[place as usize], 7]);
        finish_now(records.sort(&store, &mut Scratch::default(), label, |record| record[0])).unwrap();
        let trace = store.take_trace();
        let mut bytes = vec![0; 2 * buckets as usize];
        let slots: Vec<Slot> = (0..buckets).map(|bucket| Slot::only(Bucket(bucket))).collect();
        finish_now(store.read(&slots, &mut bytes)).unwrap();
        assert!(bytes.chunks(2).all(|record| record[1] == 7), "records stay whole");
        (bytes.chunks(2).map(|record| record[0]).collect(), trace)
    }

    proptest! {
        #[test]
        fn runs_of_any_length_are_sorted_and_the_trace_says_nothing_of_them(
            (runs, run_records, one, other) in (1u64..12, 1u32..6).prop_flat_map(|(runs, records)| {
                let values = || prop::collection::vec(any::<u8>(), runs as usize * records as usize);
                (Just(runs), Just(records), values(), values())
            }),
        ) {
            let (answer, trace) = sorted(runs, run_records, &one);
            let mut expected = one;
            expected.sort_unstable();
            prop_assert_eq!(answer, expected);
            prop_assert_eq!(trace, sorted(runs, run_records, &other).1);
        }
    }
}
