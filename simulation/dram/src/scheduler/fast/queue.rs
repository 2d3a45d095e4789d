//! The requests of one direction: those in the queue by bank, and those that wait outside.

use crate::command::Kind;
use crate::geometry::MAX_BANKS;
use crate::scheduler::fast::banks::{Bank, NO_ROW, gate};
use crate::scheduler::request::Request;

/// The end of a list.
const NIL: u32 = u32::MAX;
/// A bit that puts opening and closing rows behind reads and writes of any age.
const ROW: u64 = 1 << 63;
/// An array by bank.
const BANKS: usize = MAX_BANKS as usize;

/// A request as a member of a list: of its bank, of those outside, or of the free places.
#[derive(Clone, Copy, Debug)]
struct Slot {
    request: Request,
    next: u32,
    /// The one before it in the list of its bank.
    previous: u32,
}

/// The requests of a bank, oldest first.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    /// The oldest request for the open row.
    hit: u32,
}

/// The next command for the requests of a bank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    /// The cycle from which on the bank takes it.
    pub(super) cycle: u64,
    /// The place among the entries of the same cycle: the lowest comes first.
    pub(super) order: u64,
    /// The gate of its rank through which it must pass.
    pub(super) gate: u8,
    pub(super) kind: Kind,
}

/// The requests of one direction.
#[derive(Debug)]
pub(super) struct Queue {
    slots: Vec<Slot>,
    free: u32,
    max: usize,
    /// The command that moves the blocks of the queue.
    kind: Kind,
    lists: [List; BANKS],
    next: [Next; BANKS],
    /// A bit for each bank that has a request.
    pub(super) busy: u64,
    pub(super) queued: usize,
    /// The first and the last request outside.
    waiting: (u32, u32),
}

impl Queue {
    pub(super) fn new(kind: Kind, max: u32) -> Self {
        Queue {
            slots: Vec::with_capacity(max as usize),
            free: NIL,
            max: max as usize,
            kind,
            lists: [List { head: NIL, tail: NIL, hit: NIL }; BANKS],
            next: [Next { cycle: 0, order: 0, gate: 0, kind }; BANKS],
            busy: 0,
            queued: 0,
            waiting: (NIL, NIL),
        }
    }

    /// The next command for a bank that has requests.
    #[inline]
    pub(super) fn next(&self, bank: usize) -> &Next {
        &self.next[bank % BANKS]
    }

    /// Puts a request behind those outside.
    #[inline]
    pub(super) fn push(&mut self, request: Request) {
        let slot = Slot { request, next: NIL, previous: NIL };
        let nth = self.free;
        let nth = if let Some(free) = self.slots.get_mut(nth as usize) {
            self.free = free.next;
            *free = slot;
            nth
        } else {
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        };
        match self.slots.get_mut(self.waiting.1 as usize) {
            Some(last) => last.next = nth,
            None => self.waiting.0 = nth,
        }
        self.waiting.1 = nth;
    }

    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting.0 != NIL
    }

    /// The cycle in which the next request enters, unless others leave before.
    #[inline]
    pub(super) fn next_arrival(&self) -> u64 {
        match self.slots.get(self.waiting.0 as usize) {
            Some(slot) if self.queued < self.max => slot.request.arrival.0,
            _ => u64::MAX,
        }
    }

    /// The next request that has arrived, if there is room for it.
    #[inline]
    pub(super) fn next_arrived(&self, now: u64) -> Option<&Request> {
        if self.next_arrival() > now { None } else { Some(&self.slots[self.waiting.0 as usize].request) }
    }

    /// Drops the first request outside.
    pub(super) fn drop_first(&mut self) {
        let nth = self.pop_waiting();
        self.free(nth);
    }

    /// Takes the first request out of those outside, and leaves its slot in no list.
    #[inline]
    fn pop_waiting(&mut self) -> u32 {
        let nth = self.waiting.0;
        self.waiting.0 = self.slots[nth as usize].next;
        if self.waiting.0 == NIL {
            self.waiting.1 = NIL;
        }
        nth
    }

    #[inline]
    fn free(&mut self, nth: u32) {
        self.slots[nth as usize].next = self.free;
        self.free = nth;
    }

    /// Puts the first request outside into the queue, the youngest of its bank.
    #[inline]
    pub(super) fn enter(&mut self, nth_bank: usize, bank: &Bank) {
        let nth = self.pop_waiting();
        let list = &mut self.lists[nth_bank % BANKS];
        let previous = list.tail;
        let slot = &mut self.slots[nth as usize];
        (slot.next, slot.previous) = (NIL, previous);
        list.tail = nth;
        let is_first_hit = list.hit == NIL && slot.request.row == bank.row;
        if is_first_hit {
            list.hit = nth;
        }
        self.queued += 1;
        if let Some(previous) = self.slots.get_mut(previous as usize) {
            previous.next = nth;
            if !is_first_hit {
                return;
            }
        } else {
            list.head = nth;
            self.busy |= 1 << nth_bank;
        }
        self.update(nth_bank, bank);
    }

    /// Takes out the oldest request for the open row of a bank. Returns it and the number of the next one, or else the
    /// greatest number. [`Queue::update`] must follow.
    #[inline]
    pub(super) fn take_hit(&mut self, nth_bank: usize) -> (Request, u64) {
        let list = &mut self.lists[nth_bank % BANKS];
        let nth = list.hit;
        let Slot { request, next, previous } = self.slots[nth as usize];
        match self.slots.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => list.head = next,
        }
        match self.slots.get_mut(next as usize) {
            Some(next) => next.previous = previous,
            None => list.tail = previous,
        }
        // All that are older were not hits.
        let hit = find_hit(&self.slots, next, request.row);
        list.hit = hit;
        if list.head == NIL {
            self.busy &= !(1 << nth_bank);
        }
        self.queued -= 1;
        self.free(nth);
        (request, self.slots.get(hit as usize).map_or(u64::MAX, |slot| slot.request.id.0))
    }

    /// The row of the oldest request of a bank.
    pub(super) fn head_row(&self, bank: usize) -> u32 {
        self.slots[self.lists[bank].head as usize].request.row
    }

    /// Takes note that a bank has opened or closed a row.
    #[inline]
    pub(super) fn open_or_close(&mut self, nth: usize, bank: &Bank) {
        let list = &mut self.lists[nth % BANKS];
        if list.head == NIL {
            return;
        }
        list.hit = if bank.row == NO_ROW { NIL } else { find_hit(&self.slots, list.head, bank.row) };
        self.update(nth, bank);
    }

    /// Takes note that a bank takes a precharge later than before.
    #[inline]
    pub(super) fn delay_precharge(&mut self, nth: usize, bank: &Bank) {
        let next = &mut self.next[nth % BANKS];
        if next.kind == Kind::Precharge {
            next.cycle = bank.precharge;
        }
    }

    /// Takes note of a bank's state, its first request and its first hit, if it has requests.
    #[inline]
    pub(super) fn update(&mut self, nth: usize, bank: &Bank) {
        let List { head, hit, .. } = self.lists[nth % BANKS];
        let age = |slot: u32| self.slots.get(slot as usize).map(|slot| slot.request.id.0);
        let Some(head) = age(head) else { return };
        let (cycle, order, kind) = if let Some(hit) = age(hit) {
            (if self.kind == Kind::Write { bank.write } else { bank.read }, hit, self.kind)
        } else if bank.row == NO_ROW {
            (bank.activate, ROW | head, Kind::Activate)
        } else {
            (bank.precharge, ROW | head, Kind::Precharge)
        };
        self.next[nth % BANKS] = Next { cycle, order, gate: gate(kind, bank.group), kind };
    }

    /// Returns whether a request for the same block and older than `young` is in the queue or outside.
    pub(super) fn has_older(&self, young: &Request, bank: usize) -> bool {
        [self.lists[bank].head, self.waiting.0].into_iter().any(|mut nth| {
            while let Some(Slot { request, next, .. }) = self.slots.get(nth as usize) {
                if request.id < young.id && request.is_for_same_burst(young) {
                    return true;
                }
                nth = *next;
            }
            false
        })
    }
}

/// The first request for a row, of a list from one of its members on.
#[inline]
fn find_hit(slots: &[Slot], mut from: u32, row: u32) -> u32 {
    while let Some(Slot { request, next, .. }) = slots.get(from as usize) {
        if request.row == row {
            break;
        }
        from = *next;
    }
    from
}
