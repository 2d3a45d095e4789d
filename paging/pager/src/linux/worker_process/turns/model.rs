//! Every interleaving of two sides, and every value that the memory of a machine may show them (loom).

use super::*;
use ameles_seal::pages::PageId;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use std::panic::catch_unwind;

const SLOTS: usize = 3;

/// The order that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weakened {
    Nothing,
    Loads,
    Stores,
}

struct Weak(AtomicU64, Weakened);

impl Number for Weak {
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(if self.1 == Weakened::Loads { Ordering::Relaxed } else { order })
    }

    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, if self.1 == Weakened::Stores { Ordering::Relaxed } else { order });
    }

    fn exchange(&self, now: u64, then: u64) -> Result<u64, u64> {
        self.0.compare_exchange_weak(now, then, Ordering::Relaxed, Ordering::Relaxed)
    }
}

/// The contents of a slot: a version, and a byte in place of the page.
type Sealed = (u64, u8);

/// Two processes' memory. Loom finds whoever looks at a cell that another may be writing.
struct Model {
    asked: Weak,
    begun: Weak,
    done: Vec<Weak>,
    orders: Vec<UnsafeCell<PageJob>>,
    lanes: Vec<UnsafeCell<u8>>,
    slots: [UnsafeCell<Sealed>; SLOTS],
}

impl Model {
    fn new(room: usize, asking: Weakened, ending: Weakened) -> Self {
        Model {
            asked: Weak(AtomicU64::new(0), asking),
            begun: Weak(AtomicU64::new(0), Weakened::Nothing),
            done: (0..room).map(|_| Weak(AtomicU64::new(0), ending)).collect(),
            orders: (0..room).map(|_| UnsafeCell::new(PageJob::default())).collect(),
            lanes: (0..room).map(|_| UnsafeCell::new(0)).collect(),
            slots: std::array::from_fn(|_| UnsafeCell::new((0, 0))),
        }
    }

    fn index(&self, turn: Ticket) -> usize {
        turn as usize % self.lanes.len()
    }

    fn fill(&self, turn: Ticket, byte: u8) {
        // SAFETY: loom looks whether nobody else is there.
        self.lanes[self.index(turn)].with_mut(|lane| unsafe { *lane = byte });
    }

    fn open(&self, id: PageId) -> Option<u8> {
        // SAFETY: as above.
        let (version, byte) = self.slots[id.slot as usize].with(|slot| unsafe { *slot });
        (version == id.version).then_some(byte)
    }
}

impl Shared for Model {
    type Number = Weak;

    fn asked(&self) -> &Weak {
        &self.asked
    }

    fn begun(&self) -> &Weak {
        &self.begun
    }

    fn done(&self, turn: Ticket) -> &Weak {
        &self.done[self.index(turn)]
    }

    fn room(&self) -> usize {
        self.lanes.len()
    }

    fn write(&self, turn: Ticket, carry: PageJob) {
        // SAFETY: as above.
        self.orders[self.index(turn)].with_mut(|order| unsafe { *order = carry });
    }

    fn read(&self, turn: Ticket) -> PageJob {
        // SAFETY: as above.
        self.orders[self.index(turn)].with(|order| unsafe { *order })
    }

    fn pause(&self, _: u32) {
        loom::thread::yield_now();
    }
}

impl Side for &Model {
    fn act(&mut self, turn: Ticket, carry: &PageJob) -> bool {
        let opened = match carry.open.map(|id| self.open(id)) {
            Some(None) => return false,
            Some(opened) => opened,
            None => None,
        };
        let Some((to, source)) = carry.seal else {
            self.fill(turn, opened.expect("a turn does something"));
            return true;
        };
        // SAFETY: as above.
        let held = || self.lanes[self.index(source)].with(|lane| unsafe { *lane });
        let byte = opened.filter(|_| source == turn).unwrap_or_else(held);
        // SAFETY: as above.
        self.slots[to.slot as usize].with_mut(|slot| unsafe { *slot = (to.version, byte) });
        true
    }

    fn ends(&mut self, _: Ticket, _: &PageJob) -> bool {
        false
    }

    fn has_ended(&self) -> bool {
        false
    }
}

fn id(slot: u32, version: u64) -> PageId {
    PageId { slot, version }
}

/// Asks for these turns, half as many at a time as there are lanes, helps with them, and looks at a slot. No side gives
/// way to the other in the middle of something more often than is said, if it is.
fn ask_for(
    asked: &[PageJob],
    room: usize,
    max_switches: Option<usize>,
    [asking, ending]: [Weakened; 2],
    finally: (u32, Sealed),
) {
    let (asked, at_a_time) = (asked.to_vec(), room as Ticket / 2);
    let mut every = loom::model::Builder::new();
    every.preemption_bound = max_switches;
    every.check(move || {
        let model = Arc::new(Model::new(room, asking, ending));
        let (shared, turns) = (Arc::clone(&model), asked.len());
        let beside = loom::thread::spawn(move || {
            // It looks once for each turn but the last: what it leaves, the other does.
            for _ in 1..turns {
                do_next(&*shared, &mut &*shared);
            }
        });
        let wait_for = |turn| {
            while outcome(&*model, turn) == JobStatus::Pending {
                if !do_next(&*model, &mut &*model) {
                    loom::thread::yield_now();
                }
            }
        };
        for (turn, carry) in (1..).zip(&asked) {
            if turn > at_a_time {
                wait_for(turn - at_a_time);
            }
            if carry.open.is_none() && carry.seal.is_some_and(|(_, source)| source == turn) {
                model.fill(turn, turn as u8);
            }
            ask(&*model, turn, *carry);
        }
        let last = asked.len() as Ticket;
        (last.saturating_sub(at_a_time) + 1..=last).for_each(wait_for);
        assert_eq!(outcome(&*model, last), JobStatus::Done);
        let (slot, (version, byte)) = finally;
        assert_eq!(model.open(id(slot, version)), Some(byte));
        beside.join().expect("it does not panic");
    });
}

/// The page of turn 1 goes from slot to slot.
fn chain() -> Vec<PageJob> {
    vec![
        PageJob { open: None, seal: Some((id(0, 1), 1)), after: [0, 0] },
        PageJob { open: Some(id(0, 1)), seal: Some((id(1, 1), 2)), after: [1, 0] },
        PageJob { open: Some(id(1, 1)), seal: Some((id(2, 1), 3)), after: [1, 0] },
    ]
}

/// A page is read ahead, another is held, and its slot gets the one that is held: turn 4 waits for both.
fn read_ahead(after: [u32; 2]) -> Vec<PageJob> {
    vec![
        PageJob { open: None, seal: Some((id(1, 1), 1)), after: [0, 0] },
        PageJob { open: Some(id(1, 1)), seal: None, after: [1, 0] },
        PageJob { open: None, seal: Some((id(0, 1), 3)), after: [0, 0] },
        PageJob { open: None, seal: Some((id(1, 2), 3)), after },
    ]
}

const ORDERED: [Weakened; 2] = [Weakened::Nothing; 2];

#[test]
fn two_sides_leave_what_one_would_in_every_interleaving() {
    // Two turns, one at a time and both, and whatever the two sides do.
    ask_for(&chain()[..2], 2, None, ORDERED, (1, (1, 1)));
    ask_for(&chain()[..2], 4, None, ORDERED, (1, (1, 1)));
    // A lane that is used again, three turns at a time, and four turns that do not wait in a row.
    ask_for(&chain(), 2, Some(2), ORDERED, (2, (1, 1)));
    ask_for(&chain(), 6, Some(3), ORDERED, (2, (1, 1)));
    ask_for(&read_ahead([0, 2]), 6, Some(2), ORDERED, (1, (2, 3)));
}

#[test]
fn an_order_that_is_left_out_is_found() {
    for weakened in [Weakened::Loads, Weakened::Stores] {
        // Of what was asked for, and of what is done.
        for orders in [[weakened, Weakened::Nothing], [Weakened::Nothing, weakened]] {
            let found = catch_unwind(|| ask_for(&chain()[..2], 4, None, orders, (1, (1, 1))));
            assert!(found.is_err(), "{orders:?}");
        }
    }
    let found = catch_unwind(|| ask_for(&read_ahead([0, 0]), 6, Some(2), ORDERED, (1, (2, 3))));
    assert!(found.is_err(), "a turn that does not wait for the one that reads its slot ahead");
}
