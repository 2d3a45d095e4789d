//! DDR3 behind the bus: the timing model of the processor lab, of one channel, which decides when beats pass.
//!
//! It carries no data: [`Memory`](crate::Memory) does. A beat is a burst of DRAM. Reads and writes have separate
//! channels of the bus, as in AXI; they share the data bus of DRAM. Read data return in the order of the requests, as
//! bursts of one ID must, though DRAM may read them in another one.

use ameles_dram::{
    Block, Command, Counts, Cycle, Direction, DramError, Fast, Memory, Observer, RequestId, Specification,
};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Timing of DRAM.
pub struct Dram {
    model: Memory<Fast, CountingObserver>,
    done: Rc<RefCell<HashMap<u64, u64>>>,
    /// The number of requests of the model so far: they are numbered from 0.
    submitted: u64,
    /// Requested beats, in order, with the cycle of the controller in which each may pass.
    reads: VecDeque<(RequestId, Option<u64>)>,
    /// The beats that wait for DRAM to write them.
    writes: Vec<RequestId>,
    counts: Counts,
    /// The number of cycles of DRAM in one of the controller.
    ratio: u64,
    /// The number of cycles of the controller from the last of a burst to its beat on the bus.
    interface_cycles: u64,
}

/// The listener to completed requests of DRAM, by their numbers.
struct CountingObserver(Rc<RefCell<HashMap<u64, u64>>>);

impl Observer for CountingObserver {
    fn on_command(&mut self, _: &Command) {}

    fn on_done(&mut self, request: RequestId, cycle: Cycle) {
        self.0.borrow_mut().insert(request.0, cycle.0);
    }
}

/// DDR3-1600 of the processor lab as on the paper's board: a channel of one rank, 1 GiB. Consecutive blocks are in a
/// row.
pub fn board_specification() -> Specification {
    let mut board = Specification::usimm().with_super_rows();
    (board.geometry.channels, board.geometry.ranks, board.geometry.rows) = (1, 1, 1 << 14);
    board
}

impl Dram {
    /// DRAM at rest, behind a controller whose clock has that many MHz. A read of idle memory takes `read_latency`
    /// cycles of the controller up to its beat. The cycles that the model does not take itself are the latency of the
    /// interface in both directions.
    ///
    /// # Errors
    /// [`DramError`], if the specification is invalid.
    ///
    /// # Panics
    /// If the clock of DRAM is not a multiple of the controller's clock, or DRAM alone takes longer for a read.
    pub fn new(specification: &Specification, mhz: u32, read_latency: u64) -> Result<Self, DramError> {
        let ratio = u64::from(specification.clock.mhz / mhz);
        assert_eq!(u64::from(specification.clock.mhz), ratio * u64::from(mhz), "clocks are multiples");
        let timing = &specification.timing;
        let dram_cycles = (timing.t_rcd + timing.t_cas + timing.burst).0.div_ceil(ratio);
        assert!(dram_cycles <= read_latency, "a read takes {dram_cycles} cycles in DRAM alone");
        let done = Rc::default();
        Ok(Dram {
            model: Memory::with_observer(specification, CountingObserver(Rc::clone(&done)))?,
            done,
            submitted: 0,
            reads: VecDeque::new(),
            writes: Vec::new(),
            counts: Counts::default(),
            ratio,
            interface_cycles: read_latency - dram_cycles,
        })
    }

    /// The work that DRAM has done.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the capacity of the memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.model.specification().geometry.bytes().0
    }

    /// Returns the number of bytes of a burst: those that a beat of the bus must have.
    pub(crate) fn burst_bytes(&self) -> u64 {
        self.model.specification().geometry.block_bytes.0
    }

    /// Works up to a cycle of the controller.
    pub(crate) fn advance(&mut self, cycle: u64) {
        self.model.advance(Cycle(cycle * self.ratio));
        self.counts = self.model.counts();
        let mut done = self.done.borrow_mut();
        if done.is_empty() {
            return;
        }
        for (read, due) in self.reads.iter_mut().filter(|(_, due)| due.is_none()) {
            *due = done.remove(&read.0).map(|cycle| cycle.div_ceil(self.ratio) + self.interface_cycles);
        }
        self.writes.retain(|write| done.remove(&write.0).is_none());
    }

    /// Returns whether another burst of reads may be requested.
    pub(crate) fn takes_reads(&self) -> bool {
        self.reads.len() < self.model.specification().queues.read as usize
    }

    /// Returns whether another beat may be written.
    pub(crate) fn takes_write(&self) -> bool {
        self.writes.len() < self.model.specification().queues.write as usize
    }

    /// Requests the beats of a burst.
    pub(crate) fn read(&mut self, address: u64, beats: u32) {
        for nth in 0..u64::from(beats) {
            let read = self.submit(Direction::Read, address + nth * self.burst_bytes());
            self.reads.push_back((read, None));
        }
    }

    /// Takes a beat to be written.
    pub(crate) fn write(&mut self, address: u64) {
        let write = self.submit(Direction::Write, address);
        self.writes.push(write);
    }

    /// Returns whether the beat that is next in order has arrived.
    pub(crate) fn has_read(&self, cycle: u64) -> bool {
        self.reads.front().is_some_and(|(_, due)| due.is_some_and(|due| due <= cycle))
    }

    /// Gives that beat away.
    pub(crate) fn take_read(&mut self) {
        self.reads.pop_front();
    }

    fn submit(&mut self, direction: Direction, address: u64) -> RequestId {
        let block = Block(address / self.burst_bytes());
        self.model.post(direction, &[block]).expect("the tree fits the memory");
        self.submitted += 1;
        RequestId(self.submitted - 1)
    }
}
