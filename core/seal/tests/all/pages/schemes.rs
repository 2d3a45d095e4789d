//! The schemes of a pager over sealed pages: the changed slots in shared memory depend on the schedule only.

use super::setup::{key, pool, snapshot, write};
use ameles_core::oram::{Access, Oram};
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::schemes::eager::{EagerOram, EagerParameters};
use ameles_core::schemes::write_schedule::WriteSchedule;
use ameles_core::types::{BlockId, Bucket};
use ameles_seal::pages::{AtomicMemory, PageCipher, PageError, ScheduledVersions, SealedPages, memory_bytes};
use futures::FutureExt;
use std::sync::Arc;

const PAGE: usize = 256;

fn areas(capacity: u64, holding: u64) -> DetWoParameters {
    DetWoParameters { capacity, holding, block_bytes: PAGE as u32, max_batch: 1 }
}

type Region = SealedPages<Arc<AtomicMemory>, ScheduledVersions>;

fn region(areas: &DetWoParameters, cipher: PageCipher, threads: usize) -> (Arc<AtomicMemory>, Region) {
    let layout = areas.layout();
    let memory = Arc::new(AtomicMemory::new(memory_bytes(&layout, cipher).unwrap()));
    let versions = ScheduledVersions::new(&areas.schedule().unwrap());
    let pages = SealedPages::new(Arc::clone(&memory), &layout, key(cipher, 3), versions).unwrap();
    (memory, pages.with_pool(pool(threads)))
}

/// Writes and reads pages in a pattern that sweeps, stays and comes back; checks the changes after each write.
fn drive(oram: &impl Oram<Error = PageError>, memory: &AtomicMemory, schedule: &WriteSchedule, idles: bool) {
    let capacity = oram.capacity();
    let stride = memory_stride(memory, schedule);
    let mut array = vec![[0u8; PAGE]; capacity as usize];
    let (mut changed, mut expected) = (Vec::new(), Vec::new());
    for write in 0..300u64 {
        let page = if write % 3 == 0 { 0 } else { write * 5 % capacity };
        let text = [write as u8; PAGE];
        let before = snapshot(memory);
        oram.access(&mut [Access::Write(BlockId(page), &text)]).now_or_never().unwrap().unwrap();
        while idles && oram.pending_steps() > 0 {
            oram.step().now_or_never().unwrap().unwrap();
        }
        let after = snapshot(memory);
        let slots = before.chunks(stride).zip(after.chunks(stride)).zip(0u64..);
        changed.push(slots.filter(|((b, a), _)| b != a).map(|(_, slot)| slot).collect::<Vec<_>>());
        let mut due: Vec<u64> = schedule.refreshes(write).collect();
        due.push(schedule.main() + schedule.holding_slot(write));
        due.sort_unstable();
        expected.push(due);

        array[page as usize] = text;
        let mut back = [0; PAGE];
        let asked = write * 7 % capacity;
        oram.access(&mut [Access::Read(BlockId(asked), &mut back)]).now_or_never().unwrap().unwrap();
        assert_eq!(back, array[asked as usize]);
    }
    assert_eq!(changed, expected);
}

fn memory_stride(memory: &AtomicMemory, schedule: &WriteSchedule) -> usize {
    snapshot(memory).len() / (schedule.main() + schedule.holding()) as usize
}

#[test]
fn detworam_and_eager_change_exactly_the_scheduled_pages_on_any_number_of_threads() {
    for cipher in PageCipher::ALL {
        for (capacity, holding, threads) in [(21, 7, 1), (21, 7, 2), (20, 3, 2), (5, 5, 3), (7, 1, 2)] {
            let areas = areas(capacity, holding);
            let schedule = areas.schedule().unwrap();
            let (memory, pages) = region(&areas, cipher, threads);
            drive(&DetWoOram::new(areas.clone(), pages).unwrap(), &memory, &schedule, false);
            let (memory, pages) = region(&areas, cipher, threads);
            let parameters = EagerParameters { areas: areas.clone(), step_pages: 2 };
            drive(&EagerOram::new(parameters, pages).unwrap(), &memory, &schedule, true);
        }
    }
}

#[test]
fn a_scheme_that_leaves_the_schedule_is_refused_before_anything_changes() {
    let areas = areas(6, 2);
    let (memory, pages) = region(&areas, PageCipher::default(), 1);
    let before = snapshot(&memory);
    let outcome = write(&pages, &[6, 0, 1, 3], &[1; 4 * PAGE]);
    assert_eq!(outcome, Err(PageError::OutOfOrder { bucket: Bucket(3), expected: Bucket(2) }));
    assert_eq!(snapshot(&memory), before);
    write(&pages, &[6, 0, 1, 2], &[1; 4 * PAGE]).unwrap();
    assert_ne!(snapshot(&memory), before);
}
