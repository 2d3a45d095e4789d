//! Any change of shared memory is detected at the next access, and named.

use super::setup::{
    Pages, layout, memory, new_region, part, pool, read, region, slot, snapshot, workers, write,
};
use ameles_core::types::Slot;
use ameles_seal::pages::{AtomicMemory, PageCipher, PageError, SharedMemory};
use std::sync::Arc;

const PAGE: usize = 48;
const BUCKETS: u64 = 4;

struct Region {
    memory: Arc<AtomicMemory>,
    pages: Pages<Arc<AtomicMemory>>,
    tag: usize,
}

impl Region {
    /// A region in which every bucket was written once, with its own number.
    fn new(cipher: PageCipher) -> Self {
        let (memory, pages) = new_region(&layout(BUCKETS, 1, PAGE as u32), cipher, 1);
        let region = Region { memory, pages, tag: cipher.tag_bytes() };
        (0..BUCKETS).for_each(|bucket| region.write(bucket, bucket as u8));
        region
    }

    fn write(&self, bucket: u64, byte: u8) {
        write(&self.pages, &[bucket], &[byte; PAGE]).unwrap();
    }

    fn at(&self, bucket: u64) -> usize {
        bucket as usize * self.pages.stride()
    }

    /// A sealed page with its tag, in shared memory.
    fn sealed(&self, bucket: u64) -> Vec<u8> {
        part(&self.memory, self.at(bucket), PAGE + self.tag)
    }

    fn put(&self, bucket: u64, sealed: &[u8]) {
        self.memory.store(self.at(bucket), sealed);
    }

    #[track_caller]
    fn assert_forged(&self, bucket: u64, version: u64) {
        let (error, into) = read(&self.pages, &[slot(bucket, 0)], PAGE).unwrap_err();
        assert_eq!(error, PageError::Forged { slot: slot(bucket, 0), version });
        assert_eq!(into, [0; PAGE], "an unsuccessful opening leaves nothing");
        let text = error.to_string();
        assert!(text.contains(&format!("bucket {bucket} (version {version})")), "{text}");
    }

    #[track_caller]
    fn assert_holds(&self, bucket: u64, byte: u8) {
        assert_eq!(read(&self.pages, &[slot(bucket, 0)], PAGE).unwrap(), [byte; PAGE]);
    }
}

fn regions() -> impl Iterator<Item = Region> {
    PageCipher::ALL.into_iter().map(Region::new)
}

#[test]
fn any_flipped_bit_of_page_or_tag_is_forged_and_the_other_pages_still_open() {
    for region in regions() {
        for bucket in 0..BUCKETS {
            let sealed = region.sealed(bucket);
            for byte in 0..sealed.len() {
                for bit in 0..8 {
                    let mut changed = sealed.clone();
                    changed[byte] ^= 1 << bit;
                    region.put(bucket, &changed);
                    region.assert_forged(bucket, 1);
                }
                (0..BUCKETS).filter(|b| *b != bucket).for_each(|b| region.assert_holds(b, b as u8));
            }
            region.put(bucket, &sealed);
            region.assert_holds(bucket, bucket as u8);
        }
    }
}

#[test]
fn swapped_pages_are_both_forged() {
    for region in regions() {
        let (one, other) = (region.sealed(1), region.sealed(2));
        region.put(1, &other);
        region.put(2, &one);
        (1..=2).for_each(|bucket| region.assert_forged(bucket, 1));
    }
}

#[test]
fn an_older_writing_of_the_same_page_is_forged_even_if_it_held_the_same() {
    for region in regions() {
        let first = region.sealed(3);
        region.write(3, 3);
        assert_ne!(region.sealed(3), first, "the same text sealed again is other bytes");
        region.put(3, &first);
        region.assert_forged(3, 2);
        region.write(3, 9);
        region.assert_holds(3, 9);
    }
}

#[test]
fn rolling_all_of_memory_back_is_caught_at_every_page_written_since() {
    for region in regions() {
        let before = snapshot(&region.memory);
        region.write(0, 70);
        region.write(2, 72);
        region.memory.store(0, &before);
        [0, 2].into_iter().for_each(|bucket| region.assert_forged(bucket, 2));
        [1, 3].into_iter().for_each(|bucket| region.assert_holds(bucket, bucket as u8));
    }
}

#[test]
fn a_tag_of_another_page_or_of_an_older_writing_is_forged() {
    for region in regions() {
        let first = region.sealed(0);
        region.write(0, 0);
        let second = region.sealed(0);
        for foreign in [&first, &region.sealed(1)] {
            region.put(0, &[&second[..PAGE], &foreign[PAGE..]].concat());
            region.assert_forged(0, 2);
        }
        region.put(0, &[&first[..PAGE], &second[PAGE..]].concat());
        region.assert_forged(0, 2);
    }
}

#[test]
fn erased_memory_is_forged_and_not_zeros() {
    for region in regions() {
        let blank = vec![0; region.memory.bytes()];
        region.memory.store(0, &blank);
        (0..BUCKETS).for_each(|bucket| region.assert_forged(bucket, 1));
    }
}

#[test]
fn pages_of_another_region_are_forged_at_the_same_slot_and_version() {
    for region in regions() {
        let layout = layout(BUCKETS, 1, PAGE as u32);
        let other = memory(&layout, region.pages.cipher());
        let pages = super::setup::region(Arc::clone(&other), &layout, region.pages.cipher(), 2);
        write(&pages, &[0], &[0; PAGE]).unwrap();
        region.put(0, &part(&other, 0, PAGE + region.tag));
        region.assert_forged(0, 1);
    }
}

#[test]
fn of_several_forged_pages_the_first_asked_for_is_named_and_all_of_the_buffer_is_wiped() {
    let slots: Vec<Slot> = [0, 3, 2, 1].map(|bucket| slot(bucket, 0)).to_vec();
    for mut region in regions() {
        for bucket in [1, 2] {
            let sealed = region.sealed(bucket);
            region.put(bucket, &[&[sealed[0] ^ 1], &sealed[1..]].concat());
        }
        for threads in [1, 2, 3] {
            region.pages = region.pages.with_pool(pool(threads));
            assert_first_is_named(&region.pages, &slots);
        }
        region.pages = region.pages.with_workers(workers());
        assert_first_is_named(&region.pages, &slots);
    }
}

fn assert_first_is_named(pages: &Pages<Arc<AtomicMemory>>, slots: &[Slot]) {
    let (error, into) = read(pages, slots, PAGE).unwrap_err();
    assert_eq!(error, PageError::Forged { slot: slot(2, 0), version: 1 });
    assert_eq!(into, [0; 4 * PAGE]);
}

#[test]
fn what_lies_in_a_slot_never_written_is_not_looked_at() {
    for cipher in PageCipher::ALL {
        let layout = layout(2, 1, PAGE as u32);
        let memory = memory(&layout, cipher);
        let garbage = vec![0x77; memory.bytes()];
        memory.store(0, &garbage);
        let pages = region(Arc::clone(&memory), &layout, cipher, 1);
        assert_eq!(read(&pages, &[slot(1, 0), slot(0, 0)], PAGE).unwrap(), [0; 2 * PAGE]);
    }
}

#[test]
fn nothing_of_a_page_lies_readable_in_shared_memory() {
    for cipher in PageCipher::ALL {
        let (memory, pages) = new_region(&layout(3, 1, 4096), cipher, 1);
        let text: Vec<u8> = b"seen by nobody! ".repeat(3 * 256);
        write(&pages, &[0, 1, 2], &text).unwrap();
        let seen = snapshot(&memory);
        assert!(!seen.windows(8).any(|window| text.windows(8).take(16).any(|part| part == window)));
        // The same text three times gives three unrelated pages.
        assert_ne!(part(&memory, 0, 4096), part(&memory, pages.stride(), 4096));
    }
}
