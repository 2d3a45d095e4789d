//! A region returns what an array would, on any number of threads, and its bytes do not depend on them.

use super::setup::{layout, memory, new_region, pool, read, region, slot, snapshot, workers, write};
use ameles_seal::pages::PageCipher;
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
enum Step {
    Write(Vec<(u64, u8)>),
    Read(Vec<(u64, u32)>),
}

fn steps(buckets: u64, slots: u32) -> impl Strategy<Value = Vec<Step>> {
    let write = proptest::collection::vec((0..buckets, any::<u8>()), 0..12).prop_map(Step::Write);
    let read = proptest::collection::vec((0..buckets, 0..slots), 0..20).prop_map(Step::Read);
    proptest::collection::vec(prop_oneof![write, read], 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
    #[test]
    fn a_region_answers_as_an_array_would_and_threads_change_none_of_its_bytes(
        cipher in proptest::sample::select(PageCipher::ALL.to_vec()),
        threads in 2usize..4,
        by_workers in any::<bool>(),
        page in 1usize..200,
        (buckets, slots, steps) in (1u64..9, 1u32..4).prop_flat_map(|(buckets, slots)| {
            (Just(buckets), Just(slots), steps(buckets, slots))
        }),
    ) {
        let layout = layout(buckets, slots, page as u32);
        let memories = [(), ()].map(|()| memory(&layout, cipher));
        let alone = region(Arc::clone(&memories[0]), &layout, cipher, 5);
        let spread = region(Arc::clone(&memories[1]), &layout, cipher, 5);
        let spread = if by_workers { spread.with_workers(workers()) } else { spread.with_pool(pool(threads)) };
        let bucket_bytes = page * slots as usize;
        let mut array = vec![0u8; buckets as usize * bucket_bytes];
        for step in steps {
            match step {
                Step::Write(batch) => {
                    let numbers: Vec<u64> = batch.iter().map(|(bucket, _)| *bucket).collect();
                    let mut from = Vec::new();
                    for (bucket, seed) in batch {
                        // Every byte of a bucket differs from the byte of its neighbour; a bucket may occur twice, and
                        // the last write counts.
                        let bytes: Vec<u8> = (0..bucket_bytes).map(|i| seed.wrapping_add(i as u8)).collect();
                        array[bucket as usize * bucket_bytes..][..bucket_bytes].copy_from_slice(&bytes);
                        from.extend(bytes);
                    }
                    write(&alone, &numbers, &from).unwrap();
                    write(&spread, &numbers, &from).unwrap();
                }
                Step::Read(batch) => {
                    let slots: Vec<_> = batch.iter().map(|&(bucket, index)| slot(bucket, index)).collect();
                    let expected: Vec<u8> = batch
                        .iter()
                        .flat_map(|&(bucket, index)| {
                            &array[bucket as usize * bucket_bytes + index as usize * page..][..page]
                        })
                        .copied()
                        .collect();
                    prop_assert_eq!(read(&alone, &slots, page).unwrap(), &expected[..]);
                    prop_assert_eq!(read(&spread, &slots, page).unwrap(), &expected[..]);
                }
            }
            prop_assert_eq!(snapshot(&memories[0]), snapshot(&memories[1]));
        }
    }
}

#[test]
fn a_bucket_that_a_batch_names_twice_keeps_the_last() {
    for cipher in PageCipher::ALL {
        let (_, pages) = new_region(&layout(2, 1, 64), cipher, 5);
        write(&pages, &[1, 0, 1], &[[1; 64], [2; 64], [3; 64]].concat()).unwrap();
        assert_eq!(pages.version(ameles_core::types::Bucket(1)), 2);
        assert_eq!(read(&pages, &[slot(1, 0), slot(0, 0)], 64).unwrap(), [[3; 64], [2; 64]].concat());
    }
}
