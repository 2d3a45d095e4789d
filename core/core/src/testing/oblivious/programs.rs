//! Programs as a pager sees them: at each fault a page goes out and a page comes in. The number of faults is public,
//! and the pages are not.

use super::super::array_model::Operation;
use super::observer::draw_below;
use crate::types::BlockId;
use alloc::vec;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// A way to fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The same page goes out and comes in forever, never changed.
    OnePage,
    /// The same page goes out and comes in forever, changed each time.
    OneDirtyPage,
    /// Two pages take turns.
    TwoPages,
    /// All pages in turn, changed by every other fault.
    Sweep,
    /// All pages in turn from the last to the first, never changed.
    CleanBackwards,
    /// This many pages in turn, over and over.
    Window(u64),
    /// Pages at random, changed.
    Random,
    /// Pages that were never written are read, all in turn; one page goes out.
    ReadsUnwritten,
}

/// All programs, for a window of this many pages.
pub fn programs(window: u64) -> [Program; 8] {
    use Program::*;
    [OnePage, OneDirtyPage, TwoPages, Sweep, CleanBackwards, Window(window), Random, ReadsUnwritten]
}

impl Program {
    /// `batches` batches of `together` faults each: first the pages that go out, then those that come in. Contents are
    /// told by a byte, 0 for zeros; blocks of one byte hold just that.
    pub fn operations(
        self,
        capacity: u64,
        batches: usize,
        together: usize,
        seed: u64,
    ) -> Vec<Vec<Operation>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut contents = vec![0u8; capacity as usize];
        let mut nth = 0;
        let batch = |_| {
            let mut out = Vec::new();
            let mut back = Vec::new();
            for _ in 0..together {
                let (page, into, changed) = self.fault(nth, capacity, &mut random);
                let content = &mut contents[page as usize];
                *content = content.wrapping_add(u8::from(changed));
                out.push(Operation::Write(BlockId(page), *content));
                back.push(Operation::Read(BlockId(into)));
                nth += 1;
            }
            out.extend(back);
            out
        };
        (0..batches).map(batch).collect()
    }

    /// The page that goes out, the page that comes in, whether the first was changed.
    fn fault(self, nth: u64, capacity: u64, random: &mut ChaCha8Rng) -> (u64, u64, bool) {
        match self {
            Program::OnePage => (0, 0, false),
            Program::OneDirtyPage => (0, 0, true),
            Program::TwoPages => (nth % 2 % capacity, (nth + 1) % 2 % capacity, true),
            Program::Sweep => (nth % capacity, (nth + 1) % capacity, nth.is_multiple_of(2)),
            Program::CleanBackwards => {
                let back = |nth: u64| capacity - 1 - nth % capacity;
                (back(nth), back(nth + 1), false)
            }
            Program::Window(window) => {
                let window = window.clamp(1, capacity);
                (nth % window, (nth + 1) % window, true)
            }
            Program::Random => {
                let mut page = || draw_below(random, capacity as usize) as u64;
                (page(), page(), true)
            }
            Program::ReadsUnwritten => (0, nth % capacity, false),
        }
    }
}

/// The faults of a program that touches these pages in this order and changes each. There is room for `resident` pages,
/// and the least recently used one goes out. Until there is no room left, nothing goes out.
pub fn faults(touched: &[u64], resident: usize) -> Vec<Vec<Operation>> {
    // The least recently used first, with what it holds.
    let mut pages: Vec<(u64, u8)> = Vec::new();
    let mut faults = Vec::new();
    for (nth, page) in touched.iter().enumerate() {
        if let Some(at) = pages.iter().position(|(other, _)| other == page) {
            pages.remove(at);
        } else {
            let mut batch = Vec::new();
            if pages.len() == resident {
                let (out, content) = pages.remove(0);
                batch.push(Operation::Write(BlockId(out), content));
            }
            batch.push(Operation::Read(BlockId(*page)));
            faults.push(batch);
        }
        pages.push((*page, nth as u8));
    }
    faults
}

/// The pages that Pseudocode 1 of Chakravarty and Panda (2021) touches for a `secret` of 1 or of anything else, over
/// and over. With three pages resident both fault equally often, and the second or the third page goes out.
pub fn pseudocode_1(secret: u64, rounds: usize) -> Vec<u64> {
    let round = if secret == 1 { [0, 1, 2, 0, 3] } else { [0, 2, 1, 0, 3] };
    round.repeat(rounds)
}

/// The number of pages that go out in each batch, which everybody may know.
pub fn count_writes(operations: &[Vec<Operation>]) -> Vec<usize> {
    let writes = |batch: &Vec<Operation>| {
        batch.iter().filter(|operation| !matches!(operation, Operation::Read(_))).count()
    };
    operations.iter().map(writes).collect()
}
