//! The newest version of each bucket: the trusted state by which an old page is refused.

use super::error::PageError;
use alloc::vec;
use alloc::vec::Vec;
use ameles_core::schemes::write_schedule::WriteSchedule;
use ameles_core::types::Bucket;

/// The newest version of every bucket. Versions count the writes of a bucket from 1; 0 is "never written".
///
/// No version of a bucket is given twice: nonces are made of versions. So it is neither cloned nor set back.
pub trait Versions {
    /// Returns the number of buckets, which are numbered from 0.
    fn buckets(&self) -> u64;

    /// Returns the newest version of a bucket.
    ///
    /// # Panics
    /// If the bucket lies outside.
    fn newest(&self, bucket: Bucket) -> u64;

    /// Takes the next version of each bucket, in order, and passes it to `each`. A bucket may occur twice.
    ///
    /// # Errors
    /// [`PageError::OutOfOrder`], [`PageError::VersionsExhausted`]: no version was taken then, although `each` may have
    /// been called.
    ///
    /// # Panics
    /// If a bucket lies outside; no version was taken then either.
    fn advance(&mut self, buckets: &[Bucket], each: impl FnMut(Bucket, u64)) -> Result<(), PageError>;

    /// Returns the trusted memory of the versions, in bytes.
    fn trusted_bytes(&self) -> u64;
}

/// A version for each bucket: for schemes that write in any order. Eight bytes per bucket.
#[derive(Debug)]
pub struct TableVersions {
    table: Vec<u64>,
}

impl TableVersions {
    /// Makes the versions of a region in which nothing was ever written.
    ///
    /// # Panics
    /// If the table does not fit the address space.
    pub fn new(buckets: u64) -> Self {
        TableVersions { table: vec![0; usize::try_from(buckets).expect("the version table fits in memory")] }
    }

    #[cfg(test)]
    fn at(versions: &[u64]) -> Self {
        TableVersions { table: versions.to_vec() }
    }
}

impl Versions for TableVersions {
    fn buckets(&self) -> u64 {
        self.table.len() as u64
    }

    fn newest(&self, bucket: Bucket) -> u64 {
        self.table[bucket.0 as usize]
    }

    fn advance(&mut self, buckets: &[Bucket], mut each: impl FnMut(Bucket, u64)) -> Result<(), PageError> {
        // A bucket needs as many versions as the batch is long, because all writes may go to one bucket. So no bucket
        // runs out in the middle of the batch.
        let max = u64::MAX - buckets.len() as u64;
        if let Some(&bucket) = buckets.iter().find(|bucket| self.newest(**bucket) > max) {
            return Err(PageError::VersionsExhausted { bucket });
        }
        for &bucket in buckets {
            let version = &mut self.table[bucket.0 as usize];
            *version += 1;
            each(bucket, *version);
        }
        Ok(())
    }

    fn trusted_bytes(&self) -> u64 {
        self.buckets() * 8
    }
}

/// Two counters, for schemes that write in the order of a [`WriteSchedule`]: DetWoORAM and its kin. Sixteen bytes.
///
/// The main area is buckets 0 to N - 1, the holding area N to N + M - 1. Each area is written cyclically. After `r`
/// refreshes, main bucket i was written as many times as there are numbers below `r` with remainder i modulo N. A write
/// of any bucket but the next one of its area is refused. So even under a faulty scheme the pages that change are those
/// of the schedule. The scheme decides when refreshes and holding writes come.
#[derive(Debug)]
pub struct ScheduledVersions {
    main: Area,
    holding: Area,
}

impl ScheduledVersions {
    /// Makes the counters of a region in which nothing was ever written.
    pub fn new(schedule: &WriteSchedule) -> Self {
        let area = |first, buckets| Area { first, buckets, written: 0 };
        ScheduledVersions {
            main: area(0, schedule.main()),
            holding: area(schedule.main(), schedule.holding()),
        }
    }

    /// Returns the number of refreshes of main buckets so far.
    pub fn refreshes(&self) -> u64 {
        self.main.written
    }

    /// Returns the number of writes to the holding area so far.
    pub fn holding_writes(&self) -> u64 {
        self.holding.written
    }
}

impl Versions for ScheduledVersions {
    fn buckets(&self) -> u64 {
        self.main.buckets + self.holding.buckets
    }

    fn newest(&self, bucket: Bucket) -> u64 {
        assert!(bucket.0 < self.buckets(), "{bucket} lies outside of the schedule");
        if bucket.0 < self.main.buckets { self.main.newest(bucket) } else { self.holding.newest(bucket) }
    }

    fn advance(&mut self, buckets: &[Bucket], mut each: impl FnMut(Bucket, u64)) -> Result<(), PageError> {
        let (mut main, mut holding) = (self.main, self.holding);
        for &bucket in buckets {
            assert!(bucket.0 < self.buckets(), "{bucket} lies outside of the schedule");
            let area = if bucket.0 < main.buckets { &mut main } else { &mut holding };
            each(bucket, area.advance(bucket)?);
        }
        (self.main, self.holding) = (main, holding);
        Ok(())
    }

    fn trusted_bytes(&self) -> u64 {
        16
    }
}

/// Buckets that are written cyclically.
#[derive(Clone, Copy, Debug)]
struct Area {
    first: u64,
    buckets: u64,
    /// The number of writes so far.
    written: u64,
}

impl Area {
    fn newest(&self, bucket: Bucket) -> u64 {
        let index = bucket.0 - self.first;
        self.written / self.buckets + u64::from(index < self.written % self.buckets)
    }

    fn advance(&mut self, bucket: Bucket) -> Result<u64, PageError> {
        let expected = Bucket(self.first + self.written % self.buckets);
        if bucket != expected {
            return Err(PageError::OutOfOrder { bucket, expected });
        }
        let version = self.written / self.buckets + 1;
        self.written = self.written.checked_add(1).ok_or(PageError::VersionsExhausted { bucket })?;
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    fn scheduled(main: u64, holding: u64) -> ScheduledVersions {
        ScheduledVersions::new(&WriteSchedule::new(main, holding).unwrap())
    }

    fn advance(versions: &mut impl Versions, buckets: &[u64]) -> Result<Vec<(u64, u64)>, PageError> {
        let buckets: Vec<Bucket> = buckets.iter().copied().map(Bucket).collect();
        let mut taken = Vec::new();
        versions.advance(&buckets, |bucket, version| taken.push((bucket.0, version)))?;
        Ok(taken)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn two_counters_say_the_same_as_a_table_after_any_number_of_scheduled_writes(
            (main, holding) in (1u64..20).prop_flat_map(|main| (Just(main), 1..=main)),
            writes in 0u64..60,
        ) {
            let schedule = WriteSchedule::new(main, holding).unwrap();
            let mut counters = ScheduledVersions::new(&schedule);
            let mut table = TableVersions::new(main + holding);
            for write in 0..writes {
                let mut buckets = vec![main + schedule.holding_slot(write)];
                buckets.extend(schedule.refreshes(write));
                prop_assert_eq!(advance(&mut counters, &buckets), advance(&mut table, &buckets));
                for bucket in (0..main + holding).map(Bucket) {
                    prop_assert_eq!(counters.newest(bucket), table.newest(bucket));
                }
            }
            // The formula of the design: h holding writes give (h + M - 1 - j) / M; r refreshes, (r + N - 1 - i) / N.
            let (refreshes, held) = (counters.refreshes(), counters.holding_writes());
            prop_assert_eq!(held, writes);
            prop_assert_eq!(u128::from(refreshes), schedule.refreshes_before(writes.into()));
            for index in 0..main {
                prop_assert_eq!(counters.newest(Bucket(index)), (refreshes + main - 1 - index) / main);
            }
            for index in 0..holding {
                prop_assert_eq!(counters.newest(Bucket(main + index)), (held + holding - 1 - index) / holding);
            }
        }

        #[test]
        fn no_version_of_a_bucket_is_given_twice_whatever_is_asked_for(
            batches in proptest::collection::vec(proptest::collection::vec(0u64..7, 0..9), 0..40),
        ) {
            let mut last = BTreeMap::new();
            let mut scheduled_last = BTreeMap::new();
            let (mut table, mut counters) = (TableVersions::new(7), scheduled(4, 3));
            for batch in batches {
                for (bucket, version) in advance(&mut table, &batch).unwrap() {
                    prop_assert!(last.insert(bucket, version).unwrap_or(0) < version);
                }
                for (bucket, version) in advance(&mut counters, &batch).unwrap_or_default() {
                    prop_assert!(scheduled_last.insert(bucket, version).unwrap_or(0) < version);
                }
            }
        }
    }

    #[test]
    fn a_write_out_of_order_is_refused_with_the_bucket_that_is_next_and_takes_no_version() {
        let mut versions = scheduled(3, 2);
        let refused = |bucket, expected| {
            Err(PageError::OutOfOrder { bucket: Bucket(bucket), expected: Bucket(expected) })
        };
        assert_eq!(advance(&mut versions, &[1]), refused(1, 0));
        assert_eq!(advance(&mut versions, &[0, 1, 3, 3]), refused(3, 4));
        assert_eq!(advance(&mut versions, &[0, 0]), refused(0, 1));
        assert_eq!((versions.refreshes(), versions.holding_writes()), (0, 0));
        assert_eq!(
            advance(&mut versions, &[0, 3, 1, 2, 0]).unwrap(),
            [(0, 1), (3, 1), (1, 1), (2, 1), (0, 2)]
        );
        assert_eq!(advance(&mut versions, &[3]), refused(3, 4));
        assert_eq!(advance(&mut versions, &[2]), refused(2, 1));
    }

    #[test]
    fn a_table_gives_its_last_version_and_then_refuses_without_taking_any() {
        let mut table = TableVersions::at(&[u64::MAX - 1, 5]);
        let exhausted = Err(PageError::VersionsExhausted { bucket: Bucket(0) });
        assert_eq!(advance(&mut table, &[1, 0]), exhausted);
        assert_eq!(advance(&mut table, &[0]).unwrap(), [(0, u64::MAX)]);
        assert_eq!(advance(&mut table, &[0]), exhausted);
        assert_eq!(advance(&mut table, &[1]).unwrap(), [(1, 6)]);
    }

    #[test]
    fn counters_near_their_end_neither_wrap_nor_repeat() {
        let mut versions = scheduled(4, 3);
        versions.main.written = u64::MAX - 1;
        versions.holding.written = u64::MAX;
        // 2^64 - 2 writes over 4 buckets: two more than 2^62 - 1 rounds.
        let round = u64::MAX / 4;
        for (bucket, version) in [(0, round + 1), (1, round + 1), (2, round), (3, round)] {
            assert_eq!(versions.newest(Bucket(bucket)), version);
        }
        assert_eq!(advance(&mut versions, &[2]).unwrap(), [(2, round + 1)]);
        assert_eq!(advance(&mut versions, &[3]), Err(PageError::VersionsExhausted { bucket: Bucket(3) }));
        // 2^64 - 1 is divisible by 3: the next is the first of the holding area.
        assert_eq!(advance(&mut versions, &[4]), Err(PageError::VersionsExhausted { bucket: Bucket(4) }));
        assert_eq!(versions.refreshes(), u64::MAX);
    }

    #[test]
    fn trusted_memory_is_eight_bytes_a_bucket_or_sixteen_in_all() {
        assert_eq!(TableVersions::new(1000).trusted_bytes(), 8000);
        assert_eq!(scheduled(1000, 10).trusted_bytes(), 16);
    }
}
