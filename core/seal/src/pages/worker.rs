//! Pages that are carried from slot to slot beside the caller, on another processor.
//!
//! A write of DetWoORAM refreshes K pages whose contents are not asked for. A partner that does that beside the program
//! is told of the slots only: no page crosses from one processor to the other but the one that is written. The caller
//! asks for one turn after the other and goes on; turns are begun in their order. Turns that touch the same slot, to
//! open or to seal it, are done one after the other: each waits for the one before. So the answers and the contents of
//! shared memory are the same as without, in whatever order the others are done.

use super::carrier::Carrier;
use super::cipher::PageId;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use ameles_core::store::PageMoves;

/// The number of a turn that is asked for, from 1.
pub type Turn = u64;

/// A page to be opened, sealed, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageJob {
    /// The sealed page that is opened into the turn's own lane; version 0 stands for zeros.
    pub open: Option<PageId>,
    /// The identity under which the page in a turn's lane, this one's or an earlier one's, is sealed.
    pub seal: Option<(PageId, Turn)>,
    /// Earlier turns that must be done before, beside the one whose page is sealed: the last that touches the slot
    /// which is opened, and the last that touches the slot which is sealed. Turns before them that touch these slots
    /// are done too, for those have waited in their turn. Each is told as how many turns ago it was; 0 where there is
    /// none.
    pub after: [u32; 2],
}

// The size of the message that crosses from one processor to the other for a turn.
const _: () = assert!(size_of::<PageJob>() <= 64);

impl PageJob {
    /// All earlier turns that must be done before this one, which is the given; some may be named twice.
    pub fn waits_for(&self, turn: Turn) -> impl Iterator<Item = Turn> + use<> {
        let source = self.seal.map_or(turn, |(_, source)| source);
        let [opened, sealed] = self.after.map(|ago| turn - Turn::from(ago));
        [opened, sealed, source].into_iter().filter(move |before| *before != turn)
    }
}

/// A partner beside the caller, with the region's key, its shared memory, and lanes. Each lane has room for one page,
/// in private memory. Turn t has lane t modulo [`room`](Self::room).
pub trait PageWorker<M>: Send {
    /// The number of lanes. At most half as many turns are under way at a time, and no turn seals the page of a turn
    /// that was asked for longer ago than that.
    fn room(&self) -> usize;

    /// Puts a page into a turn's lane, before the turn is asked for.
    fn fill(&self, turn: Turn, page: &[u8]);

    /// Asks for a turn. Turns are asked for in their order.
    fn ask(&self, turn: Turn, carry: PageJob);

    /// Says that the turns asked for should be begun.
    fn go(&self);

    /// The outcome of a turn that was asked for.
    fn outcome(&self, turn: Turn) -> Outcome;

    /// Lets the caller do the next turn itself, if there is a turn that was not begun; else it returns soon.
    fn help(&self, carrier: &Carrier<M>);

    /// Tells whether it has stepped back: the caller then asks for no more turns, and carries pages itself. What it says
    /// must depend on the load of the machine alone.
    fn rests(&self) -> bool;

    /// Returns soon: the caller has nothing to do. It does what must be done if no partner is beside any more.
    fn wait(&self, carrier: &Carrier<M>);
}

/// The outcome of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is not done yet.
    Pending,
    /// It is done.
    Done,
    /// Its page did not open, or the page that it should have sealed had not: nothing was sealed.
    Forged,
}

/// The moment when the caller goes on, and its work while it must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkMode {
    /// Parallel: a write ends when its pages are in shared memory, and the caller does its share.
    Parallel,
    /// Eager: a write ends when its pages were asked for, and those of the next are read ahead.
    Eager,
    /// Both: a write ends when its pages were asked for, and a caller that must wait does its share.
    EagerParallel,
}

impl WorkMode {
    fn goes_on(self) -> bool {
        self != WorkMode::Parallel
    }

    fn helps(self) -> bool {
        self != WorkMode::Eager
    }

    /// Tells whether pages are read ahead. When both work, either must fetch the pages that the other has opened from
    /// the other's cache: it costs as much as to open them.
    fn reads_ahead(self) -> bool {
        self == WorkMode::Eager
    }
}

/// The caller's side: the turns that it has asked for.
pub(crate) struct WorkQueue<M> {
    beside: Box<dyn PageWorker<M>>,
    manner: WorkMode,
    /// Turns so far.
    last: Turn,
    /// The turns that may still be under way, in their order.
    under_way: VecDeque<InFlightJob>,
    /// Pages that are read ahead, and the turns that do it.
    expected: Vec<(PageId, Turn)>,
}

/// A turn with the slots that it touches.
struct InFlightJob {
    turn: Turn,
    opens: Option<PageId>,
    seals: Option<PageId>,
}

impl InFlightJob {
    /// Tells whether it touches the slot. Two turns that only open a slot could be done at once. They are not, so that
    /// the last one stands for all before it.
    fn touches(&self, slot: u32) -> bool {
        [self.opens, self.seals].iter().flatten().any(|id| id.slot == slot)
    }
}

/// The first page that did not open.
type FirstForged = PageId;

impl<M> WorkQueue<M> {
    pub(crate) fn new(beside: Box<dyn PageWorker<M>>, manner: WorkMode) -> Self {
        let room = beside.room();
        let (under_way, expected) = (VecDeque::with_capacity(room), Vec::with_capacity(room));
        WorkQueue { beside, manner, last: 0, under_way, expected }
    }

    /// Turns that may be under way.
    fn max_under_way(&self) -> usize {
        self.beside.room() / 2
    }

    /// Tells whether there is room for all of it, and somebody to do it.
    pub(crate) fn takes(&self, carried: &PageMoves<'_>) -> bool {
        carried.to.len() <= self.max_under_way() && !self.beside.rests()
    }

    /// Seals a page of the caller's.
    pub(crate) fn seal(
        &mut self,
        id: PageId,
        page: &[u8],
        carrier: &Carrier<M>,
    ) -> Result<Turn, FirstForged> {
        let turn = self.next(carrier)?;
        self.beside.fill(turn, page);
        self.ask(turn, None, Some((id, turn)));
        Ok(turn)
    }

    /// Carries a page, or puts the page of an earlier turn in its place. The replaced page is opened all the same: it
    /// shows as much, and takes as long.
    pub(crate) fn carry(
        &mut self,
        from: PageId,
        to: PageId,
        instead: Option<Turn>,
        carrier: &Carrier<M>,
    ) -> Result<(), FirstForged> {
        let turn = self.next(carrier)?;
        // A page that was read longer ago than that may have lost its lane to a later turn.
        let oldest = turn.saturating_sub(self.max_under_way() as u64);
        let ahead =
            self.expected.iter().find(|(id, turn)| *id == from && *turn >= oldest).map(|(_, turn)| *turn);
        let open = if ahead.is_some() { None } else { Some(from) };
        self.ask(turn, open, Some((to, instead.or(ahead).unwrap_or(turn))));
        Ok(())
    }

    /// Reads pages ahead that will be carried, if that is the manner. Pages expected earlier are no longer expected.
    pub(crate) fn expect(
        &mut self,
        from: impl ExactSizeIterator<Item = PageId>,
        carrier: &Carrier<M>,
    ) -> Result<(), FirstForged> {
        self.expected.clear();
        // Between now and then there are as many turns again, and one more.
        if self.manner.reads_ahead() && 2 * from.len() < self.max_under_way() && !self.beside.rests() {
            for id in from {
                let turn = self.next(carrier)?;
                self.ask(turn, Some(id), None);
                self.expected.push((id, turn));
            }
            self.beside.go();
        }
        Ok(())
    }

    /// Has the requested turns begun, and waits for their end if that is the manner.
    pub(crate) fn finish(&mut self, carrier: &Carrier<M>) -> Result<(), FirstForged> {
        self.beside.go();
        if self.manner.goes_on() { self.forget_done() } else { self.wait_for(self.last, carrier) }
    }

    /// Waits until no turn that seals this slot is under way.
    pub(crate) fn settle(&mut self, slot: u32, carrier: &Carrier<M>) -> Result<(), FirstForged> {
        let seals = |turn: &&InFlightJob| turn.seals.is_some_and(|id| id.slot == slot);
        match self.under_way.iter().rev().find(seals).map(|touching| touching.turn) {
            Some(turn) => self.wait_for(turn, carrier),
            None => Ok(()),
        }
    }

    /// Waits until nothing is under way.
    pub(crate) fn settle_all(&mut self, carrier: &Carrier<M>) -> Result<(), FirstForged> {
        self.wait_for(self.last, carrier)
    }

    fn ask(&mut self, turn: Turn, open: Option<PageId>, seal: Option<(PageId, Turn)>) {
        let seals = seal.map(|(id, _)| id);
        let after = [open, seals].map(|id| id.map_or(0, |id| self.ago_touched(turn, id.slot)));
        self.under_way.push_back(InFlightJob { turn, opens: open, seals });
        self.beside.ask(turn, PageJob { open, seal, after });
    }

    /// Returns how many turns ago the last one was that touches the slot and may be under way; 0 if there is none.
    fn ago_touched(&self, turn: Turn, slot: u32) -> u32 {
        let last = self.under_way.iter().rev().find(|earlier| earlier.touches(slot));
        // At most as many are under way as there are lanes.
        last.map_or(0, |earlier| (turn - earlier.turn) as u32)
    }

    /// The next turn, when there is room for it.
    fn next(&mut self, carrier: &Carrier<M>) -> Result<Turn, FirstForged> {
        self.last += 1;
        self.wait_for(self.last.saturating_sub(self.max_under_way() as u64), carrier)?;
        Ok(self.last)
    }

    /// Waits for all turns up to this one.
    fn wait_for(&mut self, turn: Turn, carrier: &Carrier<M>) -> Result<(), FirstForged> {
        while self.under_way.front().is_some_and(|first| first.turn <= turn) {
            self.forget_done()?;
            if self.under_way.front().is_some_and(|first| first.turn <= turn) {
                self.beside.go();
                if self.manner.helps() { self.beside.help(carrier) } else { self.beside.wait(carrier) }
            }
        }
        Ok(())
    }

    /// Takes note of the turns done. After a page that did not open, no further turn is noted.
    fn forget_done(&mut self) -> Result<(), FirstForged> {
        while let Some(first) = self.under_way.front() {
            match self.beside.outcome(first.turn) {
                Outcome::Pending => break,
                Outcome::Done => self.under_way.pop_front(),
                Outcome::Forged => return Err(first.opens.or(first.seals).expect("a turn does something")),
            };
        }
        Ok(())
    }
}
