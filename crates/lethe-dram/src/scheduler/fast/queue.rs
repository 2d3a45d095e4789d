//! The requests of one direction: those in the queue by bank, and those that wait outside.

use crate::scheduler::request::Request;
use std::collections::VecDeque;

/// The end of a list.
pub(super) const NIL: u16 = u16::MAX;

/// A place of the queue.
#[derive(Clone, Debug)]
struct Slot {
    request: Request,
    next: u16,
    previous: u16,
}

/// The requests of a bank, oldest first.
#[derive(Clone, Debug)]
pub(super) struct List {
    head: u16,
    tail: u16,
    /// The oldest request for the open row.
    pub(super) hit: u16,
    /// The number of the oldest request.
    pub(super) head_age: u64,
    /// The number of the oldest request for the open row.
    pub(super) hit_age: u64,
}

/// The requests of one direction.
#[derive(Debug)]
pub(super) struct Queue {
    slots: Vec<Slot>,
    free: Vec<u16>,
    most: usize,
    lists: Vec<List>,
    /// A bit for each bank that has a request.
    pub(super) busy: u64,
    pub(super) queued: usize,
    pub(super) outside: VecDeque<Request>,
}

impl Queue {
    pub(super) fn new(most: u32, banks: usize) -> Self {
        let list = List { head: NIL, tail: NIL, hit: NIL, head_age: 0, hit_age: 0 };
        Queue {
            slots: Vec::with_capacity(most as usize),
            free: Vec::with_capacity(most as usize),
            most: most as usize,
            lists: vec![list; banks],
            busy: 0,
            queued: 0,
            outside: VecDeque::new(),
        }
    }

    /// The list of a bank that has requests.
    #[inline]
    pub(super) fn list(&self, bank: usize) -> &List {
        &self.lists[bank]
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

    /// Puts a request into the queue, the youngest of its bank, where `open` is the row that is open.
    #[inline]
    pub(super) fn enter(&mut self, request: Request, bank: usize, open: u32) {
        let list = &mut self.lists[bank];
        let (row, age, previous) = (request.row, request.id.0, list.tail);
        let slot = Slot { request, next: NIL, previous };
        let nth = if let Some(nth) = self.free.pop() {
            self.slots[nth as usize] = slot;
            nth
        } else {
            self.slots.push(slot);
            (self.slots.len() - 1) as u16
        };
        if previous == NIL {
            (list.head, list.head_age) = (nth, age);
            self.busy |= 1 << bank;
        } else {
            self.slots[previous as usize].next = nth;
        }
        list.tail = nth;
        if list.hit == NIL && row == open {
            (list.hit, list.hit_age) = (nth, age);
        }
        self.queued += 1;
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
        } else {
            list.head_age = self.slots[list.head as usize].request.id.0;
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

    /// Takes note that a row of a bank is open.
    pub(super) fn open(&mut self, bank: usize, row: u32) {
        self.find_hit(bank, self.lists[bank].head, row);
    }

    /// Takes note that no row of a bank is open.
    pub(super) fn close(&mut self, bank: usize) {
        self.lists[bank].hit = NIL;
    }

    #[inline]
    fn find_hit(&mut self, bank: usize, mut from: u16, row: u32) {
        let list = &mut self.lists[bank];
        while from != NIL {
            let Slot { request, next, .. } = &self.slots[from as usize];
            if request.row == row {
                list.hit_age = request.id.0;
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
