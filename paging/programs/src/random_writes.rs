//! `random_writes`: fills pages of a large array in random order. Represents programs that mostly write.

use crate::checksum::Checksum;
use crate::random::Random;

const WORDS_PER_PAGE: usize = 512;

/// A page aligned to a page of memory, so that a write touches only one.
#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Page([u64; WORDS_PER_PAGE]);

/// The amount that is written.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of pages of 4 KiB in the array.
    pub pages: u32,
    /// The number of writes, each of a whole page at a random index.
    pub writes: u32,
    /// The seed of the indices.
    pub seed: u64,
}

/// The sum over the array after the last write, in hexadecimal.
pub fn run(size: &Size) -> String {
    sum(&write_pages(size)).to_string()
}

fn write_pages(size: &Size) -> Vec<Page> {
    let mut random = Random::new(size.seed);
    let mut pages: Vec<Page> = vec![Page([0; WORDS_PER_PAGE]); size.pages as usize];
    for number in 1..=u64::from(size.writes) {
        let index = random.below(size.pages) as usize;
        for (place, word) in (0..).zip(&mut pages[index].0) {
            *word = number << 32 | place;
        }
    }
    pages
}

fn sum(pages: &[Page]) -> Checksum {
    let mut sum = Checksum::new();
    pages.iter().flat_map(|page| &page.0).for_each(|&word| sum.add(word));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::small;

    #[test]
    fn a_page_holds_what_was_written_there_last() {
        let size = small::RANDOM_WRITES.size;
        let mut random = Random::new(size.seed);
        let mut last = vec![0; size.pages as usize];
        for number in 1..=u64::from(size.writes) {
            last[random.below(size.pages) as usize] = number;
        }
        let pages = write_pages(&size);
        for (Page(page), number) in pages.iter().zip(&last) {
            if *number == 0 {
                assert_eq!(*page, [0; WORDS_PER_PAGE]);
            } else {
                assert_eq!((page[0], page[511]), (number << 32, number << 32 | 511));
            }
        }
        assert!(
            last.contains(&0) && last.contains(&u64::from(size.writes)),
            "some untouched, and the last write"
        );
    }
}
