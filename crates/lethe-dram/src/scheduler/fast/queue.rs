//! The requests of one direction: those in the queue by bank, and those that wait outside.

use crate::scheduler::fast::banks::{Bank, NO_ROW, Way};
use crate::scheduler::request::Request;
use std::collections::VecDeque;

/// The end of a list.
const NIL: u16 = u16::MAX;
/// A bit that puts opening and closing rows behind reads and writes of any age.
const ROW: u64 = 1 << 63;

/// A place of the queue.
#[derive(Clone, Debug)]
struct Slot {
    request: Request,
    next: u16,
    previous: u16,
}

/// The requests of a bank, oldest first.
#[derive(Clone, Debug)]
struct List {
    head: u16,
    tail: u16,
    /// The oldest request for the open row.
    hit: u16,
}

/// The next command for the requests of a bank.
#[derive(Clone, Debug, Default)]
pub(super) struct Next {
    /// The cycle from which on the bank takes it.
    pub(super) cycle: u64,
    /// Its place among those of the same cycle: the least comes first.
    pub(super) order: u64,
    /// The gate of its rank through which it must pass.
    pub(super) gate: u32,
}

/// The requests of one direction.
#[derive(Debug)]
pub(super) struct Queue {
    slots: Vec<Slot>,
    free: Vec<u16>,
    most: usize,
    /// The command that moves its blocks.
    way: Way,
    lists: Vec<List>,
    next: Vec<Next>,
    /// A bit for each bank that has a request.
    pub(super) busy: u64,
    pub(super) queued: usize,
    pub(super) outside: VecDeque<Request>,
}

impl Queue {
    pub(super) fn new(way: Way, most: u32, banks: usize) -> Self {
        let list = List { head: NIL, tail: NIL, hit: NIL };
        Queue {
            slots: Vec::with_capacity(most as usize),
            free: Vec::with_capacity(most as usize),
            most: most as usize,
            way,
            lists: vec![list; banks],
            next: vec![Next::default(); banks],
            busy: 0,
            queued: 0,
            outside: VecDeque::new(),
        }
    }

    /// The next command for each bank that has requests.
    #[inline]
    pub(super) fn next(&self) -> &[Next] {
        &self.next
    }

    /// Takes note that a bank's state has changed, or its first request or hit.
    #[inline]
    pub(super) fn update(&mut self, nth: usize, bank: &Bank) {
        let List { head, hit, .. } = self.lists[nth];
        if head == NIL {
            return;
        }
        let age = |slot: u16| self.slots[slot as usize].request.id.0;
        let (cycle, order, way) = if hit != NIL {
            (bank.column, age(hit), self.way)
        } else if bank.row == NO_ROW {
            (bank.activate, ROW | age(head), Way::Activate)
        } else {
            (bank.precharge, ROW | age(head), Way::Precharge)
        };
        self.next[nth] = Next { cycle, order, gate: way.gate(bank.rank) };
    }

    /// The cycle in which the next request enters, unless others leave before.
    pub(super) fn next_arrival(&self) -> u64 {
        match self.outside.front() {
            Some(request) if self.queued < self.most => request.arrival.0,
            _ => u64::MAX,
        }
    }

    /// Takes the next request that has arrived, if there is room for it.
    #[inline]
    pub(super) fn next_arrived(&mut self, now: u64) -> Option<Request> {
        if self.queued == self.most {
            return None;
        }
        self.outside.pop_front_if(|request| request.arrival.0 <= now)
    }

    /// Puts a request into the queue, the youngest of its bank.
    #[inline]
    pub(super) fn enter(&mut self, request: Request, nth_bank: usize, bank: &Bank) {
        let list = &mut self.lists[nth_bank];
        let (row, previous) = (request.row, list.tail);
        let slot = Slot { request, next: NIL, previous };
        let nth = if let Some(nth) = self.free.pop() {
            self.slots[nth as usize] = slot;
            nth
        } else {
            self.slots.push(slot);
            (self.slots.len() - 1) as u16
        };
        list.tail = nth;
        let is_first_hit = list.hit == NIL && row == bank.row;
        if is_first_hit {
            list.hit = nth;
        }
        self.queued += 1;
        if previous == NIL {
            list.head = nth;
            self.busy |= 1 << nth_bank;
        } else {
            self.slots[previous as usize].next = nth;
        }
        if previous == NIL || is_first_hit {
            self.update(nth_bank, bank);
        }
    }

    /// Takes out the oldest request for the open row of a bank.
    #[inline]
    pub(super) fn take_hit(&mut self, bank: usize) -> Request {
        let nth = self.lists[bank].hit;
        let Slot { request, next, previous } = self.slots[nth as usize].clone();
        let list = &mut self.lists[bank];
        if previous == NIL {
            list.head = next;
        } else {
            self.slots[previous as usize].next = next;
        }
        if next == NIL {
            list.tail = previous;
        } else {
            self.slots[next as usize].previous = previous;
        }
        if list.head == NIL {
            self.busy &= !(1 << bank);
        }
        self.free.push(nth);
        self.queued -= 1;
        // All that are older were no hits.
        self.find_hit(bank, next, request.row);
        request
    }

    /// The row that the oldest request of a bank wants.
    pub(super) fn head_row(&self, bank: usize) -> u32 {
        self.slots[self.lists[bank].head as usize].request.row
    }

    /// Takes note that a bank has opened or closed a row.
    pub(super) fn open_or_close(&mut self, nth: usize, bank: &Bank) {
        if bank.row == NO_ROW {
            self.lists[nth].hit = NIL;
        } else {
            self.find_hit(nth, self.lists[nth].head, bank.row);
        }
        self.update(nth, bank);
    }

    #[inline]
    fn find_hit(&mut self, bank: usize, mut from: u16, row: u32) {
        let list = &mut self.lists[bank];
        while from != NIL {
            let Slot { request, next, .. } = &self.slots[from as usize];
            if request.row == row {
                break;
            }
            from = *next;
        }
        list.hit = from;
    }

    /// Tells whether a request for the same block and older than `young` is in the queue or outside.
    pub(super) fn has_older(&self, young: &Request, bank: usize) -> bool {
        let is_it = |request: &Request| request.id < young.id && request.is_of_the_same_block(young);
        let mut nth = self.lists[bank].head;
        while nth != NIL {
            let Slot { request, next, .. } = &self.slots[nth as usize];
            if is_it(request) {
                return true;
            }
            nth = *next;
        }
        self.outside.iter().any(is_it)
    }
}
