//! Invalid regions are refused with the reason, and slots outside of a region are not read.

use super::setup::{key, layout, memory, read, region, slot, write};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_seal::pages::{
    AtomicMemory, PageCipher, RegionError, SealedPages, SharedMemory, TableVersions, memory_bytes,
};
use std::sync::Arc;

const CIPHER: PageCipher = PageCipher::Aes256Gcm;

#[test]
fn a_slot_takes_its_page_and_tag_and_the_rest_of_a_cache_line() {
    assert_eq!(memory_bytes(&layout(10, 1, 4096), CIPHER), Ok(10 * (4096 + 64)));
    assert_eq!(memory_bytes(&layout(5, 2, 4096 + 48), CIPHER), Ok(10 * (4096 + 64)));
    assert_eq!(memory_bytes(&layout(10, 1, 4096 + 49), CIPHER), Ok(10 * (4096 + 128)));
    assert_eq!(memory_bytes(&layout(10, 1, 32), PageCipher::ChaCha20HmacSha256), Ok(10 * 64));
}

#[test]
fn buckets_of_different_shapes_or_with_nothing_in_them_are_refused() {
    let extent = |slots, slot_bytes| Extent { buckets: 3, slots, slot_bytes };
    for extents in [
        vec![],
        vec![extent(1, 0)],
        vec![extent(0, 64)],
        vec![extent(1, 64), extent(2, 64)],
        vec![extent(1, 64), extent(1, 65)],
    ] {
        assert_eq!(memory_bytes(&Layout::new(extents), CIPHER), Err(RegionError::Uneven));
    }
    assert!(memory_bytes(&Layout::new(vec![extent(1, 64), extent(1, 64)]), CIPHER).is_ok());
}

#[test]
fn more_slots_than_a_nonce_can_name_are_refused() {
    let slots = (1 << 32) + 1;
    assert_eq!(memory_bytes(&layout(slots, 1, 4096), CIPHER), Err(RegionError::TooManySlots { slots }));
    assert!(memory_bytes(&layout(1 << 32, 1, 4096), CIPHER).is_ok());
}

#[test]
fn memory_one_byte_too_small_and_versions_of_other_layouts_are_refused() {
    let layout = layout(3, 1, 64);
    let needed = memory_bytes(&layout, CIPHER).unwrap();
    let make = |bytes, versions| {
        SealedPages::new(AtomicMemory::new(bytes), &layout, key(CIPHER, 1), TableVersions::new(versions))
            .map(|pages| pages.trusted_bytes())
    };
    let found = needed - 1;
    assert_eq!(make(found, 3), Err(RegionError::MemoryTooSmall { needed, found }));
    assert_eq!(make(needed, 4), Err(RegionError::OtherVersions { found: 4, expected: 3 }));
    assert_eq!(make(needed + 5, 3), Ok(24));
}

#[test]
#[should_panic(expected = "a buffer of 65 bytes was given for pages of 64 bytes together")]
fn a_buffer_of_another_length_is_refused() {
    let layout = layout(1, 1, 64);
    let pages = region(memory(&layout, CIPHER), &layout, CIPHER, 1);
    let _ = write(&pages, &[0], &[0; 65]);
}

#[test]
#[should_panic(expected = "slot 1 of bucket 0 lies outside of the layout")]
fn a_slot_beyond_its_bucket_is_refused() {
    let layout = layout(2, 1, 64);
    let pages = region(memory(&layout, CIPHER), &layout, CIPHER, 1);
    let _ = read(&pages, &[slot(0, 1)], 64);
}

#[test]
fn a_key_shows_nothing_of_itself_when_printed() {
    let layout = layout(1, 1, 64);
    let memory = Arc::new(AtomicMemory::new(128));
    let pages = region(Arc::clone(&memory), &layout, CIPHER, 1);
    assert_eq!(format!("{pages:?}"), "SealedPages { key: PageKey { cipher: Aes256Gcm, .. }, .. }");
    assert_eq!(pages.memory().bytes(), 128);
}
