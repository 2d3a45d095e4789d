//! Estimates how many resident pages would have halved the faults, from the reuse distances of pages.
//!
//! Suppose that a page is paged in after this many evictions. It would still be resident with that many more resident
//! pages: with fewer faults, there are fewer evictions. So the estimate is rather too large than too small.

use alloc::boxed::Box;
#[cfg(any(feature = "linux", test))]
use alloc::vec;

/// The number of classes of numbers in each power of two.
const CLASSES_PER_OCTAVE: usize = 8;

/// The number of classes in all, up to 2^32 pages.
const CLASSES: usize = 33 * CLASSES_PER_OCTAVE;

/// Trusted bookkeeping: 4 bytes per page.
pub(super) struct ReuseEstimator {
    /// The number of the eviction, from 1 and modulo 2^32, at which each page was evicted last; 0 if it never was.
    gone: Box<[u32]>,
    evictions: u32,
    /// The faults by the number of resident pages that would have avoided them.
    faults_saved_by: Box<[u64; CLASSES]>,
    faults: u64,
}

impl ReuseEstimator {
    #[cfg(any(feature = "linux", test))]
    pub(super) fn new(pages: u64) -> Self {
        let gone = vec![0; pages as usize].into();
        ReuseEstimator { gone, evictions: 0, faults_saved_by: Box::new([0; CLASSES]), faults: 0 }
    }

    pub(super) fn on_evicted(&mut self, page: u64) {
        // 0 means never.
        self.evictions = self.evictions.wrapping_add(1).max(1);
        self.gone[page as usize] = self.evictions;
    }

    /// A page is paged in, with this limit of resident pages.
    pub(super) fn on_paged_in(&mut self, page: u64, resident: usize) {
        self.faults += 1;
        let gone = self.gone[page as usize];
        if gone != 0 {
            let since = self.evictions.wrapping_sub(gone) as usize + 1;
            self.faults_saved_by[class(since + resident)] += 1;
        }
    }

    /// The least number of resident pages that would have caused at most half of the faults. `None` if no number would:
    /// too many faults were first accesses.
    #[cfg(any(feature = "linux", test))]
    pub(super) fn resident_for_half_the_faults(&self) -> Option<u64> {
        let mut saved = 0;
        let at = self.faults_saved_by.iter().position(|faults| {
            saved += faults;
            saved > 0 && saved >= self.faults.div_ceil(2)
        })?;
        Some(max_in(at).min(self.gone.len() as u64))
    }

    /// Returns the trusted memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.gone) + size_of_val(&*self.faults_saved_by)
    }
}

/// The class of a number: its highest bit and the three below it.
fn class(number: usize) -> usize {
    let power = (number.max(CLASSES_PER_OCTAVE).ilog2() as usize).min(31);
    let part = if number < CLASSES_PER_OCTAVE { 0 } else { (number >> (power - 3)) - CLASSES_PER_OCTAVE };
    power * CLASSES_PER_OCTAVE + part.min(CLASSES_PER_OCTAVE - 1)
}

/// The largest number of a class.
#[cfg(any(feature = "linux", test))]
fn max_in(class: usize) -> u64 {
    let (power, part) = (class / CLASSES_PER_OCTAVE, class % CLASSES_PER_OCTAVE);
    if power < 3 {
        CLASSES_PER_OCTAVE as u64
    } else {
        (((CLASSES_PER_OCTAVE + part + 1) as u64) << (power - 3)) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_lies_in_its_class_and_classes_are_an_eighth_wide() {
        for number in (8..5000).chain([1 << 20, (1 << 20) - 1, 1 << 31]) {
            let max = max_in(class(number)) as usize;
            assert!(number <= max && max <= number + number / 8, "{number}: {max}");
            assert!(class(number + 1) >= class(number));
        }
    }

    #[test]
    fn who_goes_through_pages_in_turn_needs_them_all_and_who_never_comes_back_is_not_helped() {
        let mut reuse = ReuseEstimator::new(2000);
        assert_eq!(reuse.resident_for_half_the_faults(), None);
        for page in 0..1000_u64 {
            reuse.on_paged_in(page, 100);
            if page >= 100 {
                reuse.on_evicted(page - 100);
            }
        }
        assert_eq!(reuse.resident_for_half_the_faults(), None);
        for page in (0..1000_u64).cycle().take(5000) {
            reuse.on_paged_in(page, 100);
            reuse.on_evicted((page + 900) % 1000);
        }
        assert!(
            (1000..1125).contains(&reuse.resident_for_half_the_faults().unwrap()),
            "{:?}",
            reuse.resident_for_half_the_faults()
        );
    }
}
