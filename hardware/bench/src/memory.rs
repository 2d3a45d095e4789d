//! Memory behind the bus: a slave of AXI4 with one data bus for both directions.
//!
//! It serves the oldest burst first. A read returns the content at the time of the **request**. A write takes effect at
//! the time of the **response**. So a controller that reads before it has a response gets the earlier content, the
//! worst case that AXI allows.
//!
//! The pace is constant, or that of [`Dram`].

use crate::dram::Dram;
use crate::rtl::{Inputs, Outputs};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::{HashMap, VecDeque};

/// The pace of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The number of cycles from the request of a read to its first beat.
    pub read_latency: u64,
    /// The number of cycles from the last beat of a write to its answer.
    pub write_latency: u64,
}

impl Pace {
    /// The ideal memory of the paper: 30 cycles to the first beat.
    pub const IDEAL: Pace = Pace { read_latency: 30, write_latency: 10 };
}

/// The port of memory: one that serves a direction at a time first completes all accepted bursts of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Port {
    /// Each direction whenever the bus is free.
    #[default]
    Both,
    /// No write while a read is in progress, also while a beat of it waits to be accepted.
    ReadsFirst,
    /// Memory serves no read while a write is in progress, even if it waits for the write's beats.
    WritesFirst,
}

/// Difficult behaviours of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The average number of 256 cycles in which each channel stalls, by chance.
    pub stalls: u32,
    /// The beat, counted from the first that is read, of which a bit flips.
    pub flip: Option<u64>,
    /// The average number of 1024 read beats of which a bit flips, by chance.
    pub flips: u32,
    /// The average number of 1024 read beats that return their content from before the last write.
    pub stale: u32,
    /// The read that is not answered with OK.
    pub read_error: Option<Refusal>,
    /// The write that is not answered with OK.
    pub write_error: Option<Refusal>,
    /// True if an address of a write is accepted only after all its beats.
    pub beats_first: bool,
    /// The memory port on which the faults occur.
    pub port: Port,
    /// Two reads, counted from the first: at the second all memory is again what it was at the first.
    pub replay: Option<(usize, usize)>,
}

/// An answer of memory that is not OK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The burst of its direction, counted from the first.
    pub nth: u64,
    /// AXI's code, from 1: EXOKAY, SLVERR, DECERR.
    pub response: u32,
}

impl Refusal {
    fn response_to(refusal: Option<Self>, burst: u64) -> u32 {
        refusal.filter(|refusal| refusal.nth == burst).map_or(0, |refusal| refusal.response)
    }
}

/// A burst as the bus shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The cycle in which the address passes.
    pub cycle: u64,
    /// The burst's address.
    pub address: u64,
    /// The burst's beats.
    pub beats: u32,
}

/// All that the bus has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The bursts that were read.
    pub reads: Vec<Burst>,
    /// The bursts that were written.
    pub writes: Vec<Burst>,
    /// The cycles in which a written beat passed.
    pub write_beats: Vec<u64>,
    /// The cycles in which a read beat passed.
    pub read_beats: Vec<u64>,
}

type Beat = [u32; 16];

struct Reading {
    due: u64,
    beats: VecDeque<Beat>,
}

struct Answer {
    due: u64,
    writes: Vec<(u64, Beat)>,
}

/// Memory.
pub struct Memory {
    // Wide: four channels of a bus, each with its bursts in progress.
    beat_bytes: u64,
    pace: Pace,
    faults: Faults,
    /// The pace of beats, if it is not constant.
    dram: Option<Dram>,
    random: ChaCha8Rng,
    beats: HashMap<u64, Beat>,
    /// Memory as it was, for a replay; each beat before its last writing, if some are stale.
    old_beats: HashMap<u64, Beat>,
    reading: VecDeque<Reading>,
    /// The beat that is offered, and the answer to its read.
    offered: Option<(Beat, u32)>,
    /// The bursts whose beats have not all come.
    writing: VecDeque<(u64, u32)>,
    /// The beats whose burst has not come, and whether each is marked as the last.
    arrived: VecDeque<(Beat, bool)>,
    written: Vec<(u64, Beat)>,
    answers: VecDeque<Answer>,
    is_answering: bool,
    read_beats: u64,
    reads: u64,
    /// The number of writes that were answered.
    answered: u64,
    traffic: Traffic,
    /// The first word of each burst that was written, of 64 bits: the IV of a header.
    first_words: Vec<(u64, u64)>,
    is_first: bool,
}

impl Memory {
    /// Memory that was never written. A read of bytes that were not written returns junk.
    pub fn new(beat_bytes: usize, pace: Pace, faults: Faults, seed: u64) -> Self {
        Memory {
            beat_bytes: beat_bytes as u64,
            pace,
            faults,
            dram: None,
            random: ChaCha8Rng::seed_from_u64(seed),
            beats: HashMap::new(),
            old_beats: HashMap::new(),
            reading: VecDeque::new(),
            offered: None,
            writing: VecDeque::new(),
            arrived: VecDeque::new(),
            written: Vec::new(),
            answers: VecDeque::new(),
            is_answering: false,
            read_beats: 0,
            reads: 0,
            answered: 0,
            traffic: Traffic::default(),
            first_words: Vec::new(),
            is_first: true,
        }
    }

    /// Sets DRAM to decide when beats pass.
    ///
    /// # Panics
    /// If a beat is not a burst of this DRAM.
    pub(crate) fn attach_dram(&mut self, dram: Dram) {
        assert_eq!(self.beat_bytes, dram.burst_bytes(), "a beat is a burst of DRAM");
        self.dram = Some(dram);
    }

    /// The DRAM that decides when beats pass, if there is one.
    pub fn dram(&self) -> Option<&Dram> {
        self.dram.as_ref()
    }

    /// The address and the first 64 bits of each burst that was written in the last run: of a header its IV.
    pub fn first_words(&self) -> &[(u64, u64)] {
        &self.first_words
    }

    /// Forgets what the bus has shown, and nothing that was written.
    pub(crate) fn clear_traffic(&mut self) {
        self.traffic = Traffic::default();
        self.first_words.clear();
    }

    /// All that the bus has shown in the last run.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The bytes of a stretch that was written.
    pub fn bytes(&self, address: u64, bytes: usize) -> Vec<u8> {
        let beats = (address..address + bytes as u64).step_by(self.beat_bytes as usize);
        let of_beat = |at: u64| {
            let beat = self.beats.get(&at).copied().unwrap_or_default();
            beat.iter().flat_map(|word| word.to_le_bytes()).take(self.beat_bytes as usize).collect::<Vec<_>>()
        };
        beats.flat_map(of_beat).collect()
    }

    /// Returns whether no burst is in progress.
    pub(crate) fn is_idle(&self) -> bool {
        let reads = self.reading.len() + usize::from(self.offered.is_some());
        reads + self.writing.len() + self.arrived.len() + self.answers.len() == 0
    }

    fn stalls(&mut self) -> bool {
        self.faults.stalls > 0 && self.random.next_u32() % 256 < self.faults.stalls
    }

    /// Returns whether the port serves reads now, and whether it serves writes.
    fn directions(&self) -> (bool, bool) {
        let is_reading = !self.reading.is_empty() || self.offered.is_some();
        let is_writing = !self.writing.is_empty() || !self.arrived.is_empty();
        match self.faults.port {
            Port::Both => (true, true),
            Port::ReadsFirst => (true, !is_reading),
            Port::WritesFirst => (!is_writing, true),
        }
    }

    /// Returns what memory offers in this cycle.
    pub(crate) fn offer(&mut self, cycle: u64, inputs: &mut Inputs) {
        if let Some(dram) = &mut self.dram {
            dram.advance(cycle);
        }
        let (takes_reads, takes_write) =
            self.dram.as_ref().map_or((true, true), |dram| (dram.takes_reads(), dram.takes_write()));
        let (may_read, may_write) = self.directions();
        inputs.ar_ready = u32::from(!self.stalls() && takes_reads && may_read);
        let has_beats = !self.faults.beats_first || self.arrived.iter().any(|(_, is_last)| *is_last);
        inputs.aw_ready = u32::from(!self.stalls() && has_beats && may_write);
        // One beat passes in each cycle, in either direction: reads come first. A read waits at the port, off the bus,
        // until the controller accepts it. Over DRAM each direction has a bus, and they meet behind it.
        let is_there = match &self.dram {
            Some(dram) => dram.has_read(cycle),
            None => self.reading.front().is_some_and(|reading| reading.due <= cycle),
        };
        let reads = self.offered.is_none() && is_there && may_read;
        if reads {
            self.take_beat();
        }
        let is_busy = reads && self.dram.is_none();
        inputs.w_ready = u32::from(!self.stalls() && !is_busy && takes_write && may_write);
        let is_offered = self.offered.is_some();
        inputs.r_valid = is_offered.into();
        if let Some((beat, response)) = &self.offered {
            inputs.r_data = *beat;
            inputs.r_response = *response;
        }
        let is_due = self.answers.front().is_some_and(|answer| answer.due <= cycle);
        self.is_answering = self.is_answering || is_due && !self.stalls();
        inputs.b_valid = self.is_answering.into();
        inputs.b_response = Refusal::response_to(self.faults.write_error, self.answered);
    }

    fn take_beat(&mut self) {
        let Some(reading) = self.reading.front_mut() else { return };
        let Some(mut beat) = reading.beats.pop_front() else { return };
        let is_last = reading.beats.is_empty();
        if let Some(dram) = &mut self.dram {
            dram.take_read();
        }
        let by_chance = self.faults.flips > 0 && self.random.next_u32() % 1024 < self.faults.flips;
        if by_chance || self.faults.flip == Some(self.read_beats) {
            beat[self.random.next_u32() as usize % (self.beat_bytes as usize / 4)] ^=
                1 << (self.random.next_u32() % 32);
        }
        let response = Refusal::response_to(self.faults.read_error, self.reads);
        self.read_beats += 1;
        if is_last {
            self.reading.pop_front();
            self.reads += 1;
        }
        self.offered = Some((beat, response));
    }

    /// Takes what passed in this cycle.
    pub(crate) fn take(&mut self, cycle: u64, inputs: &Inputs, outputs: &Outputs) {
        if outputs.ar_valid & inputs.ar_ready == 1 {
            let (address, beats) = (wide(outputs.ar_address), outputs.ar_length + 1);
            self.check(address, beats);
            if let Some((first, second)) = self.faults.replay {
                if self.traffic.reads.len() == first {
                    self.old_beats = self.beats.clone();
                } else if self.traffic.reads.len() == second {
                    self.beats = std::mem::take(&mut self.old_beats);
                }
            }
            self.traffic.reads.push(Burst { cycle, address, beats });
            let contents = (0..u64::from(beats)).map(|nth| self.contents(address + nth * self.beat_bytes));
            let beats = contents.collect();
            if let Some(dram) = &mut self.dram {
                dram.read(address, outputs.ar_length + 1);
            }
            self.reading.push_back(Reading { due: cycle + self.pace.read_latency, beats });
        }
        if outputs.aw_valid & inputs.aw_ready == 1 {
            let (address, beats) = (wide(outputs.aw_address), outputs.aw_length + 1);
            self.check(address, beats);
            self.traffic.writes.push(Burst { cycle, address, beats });
            self.writing.push_back((address, beats));
        }
        if outputs.r_ready & inputs.r_valid == 1 {
            self.traffic.read_beats.push(cycle);
            self.offered = None;
        }
        if outputs.w_valid & inputs.w_ready == 1 {
            self.traffic.write_beats.push(cycle);
            self.arrived.push_back((outputs.w_data, outputs.w_last == 1));
        }
        self.write_arrived(cycle);
        if outputs.b_ready & inputs.b_valid == 1 {
            self.is_answering = false;
            self.answered += 1;
            let answer = self.answers.pop_front().expect("it was offered");
            for (address, beat) in answer.writes {
                let old = self.beats.insert(address, beat);
                if let Some(old) = old.filter(|_| self.faults.stale > 0) {
                    self.old_beats.insert(address, old);
                }
            }
        }
    }

    /// Writes the beats whose burst is known.
    fn write_arrived(&mut self, cycle: u64) {
        while let Some((address, left)) = self.writing.front_mut() {
            let Some((beat, says_last)) = self.arrived.pop_front() else { return };
            if self.is_first {
                self.first_words.push((*address, wide([beat[0], beat[1]])));
            }
            self.written.push((*address, beat));
            if let Some(dram) = &mut self.dram {
                dram.write(*address);
            }
            (*address, *left) = (*address + self.beat_bytes, *left - 1);
            let is_last = *left == 0;
            assert_eq!(says_last, is_last, "the last beat of a burst says so, and no other");
            self.is_first = is_last;
            if is_last {
                self.writing.pop_front();
                let writes = std::mem::take(&mut self.written);
                self.answers.push_back(Answer { due: cycle + self.pace.write_latency, writes });
            }
        }
    }

    /// The contents of a beat; junk, if it was never written.
    fn contents(&mut self, address: u64) -> Beat {
        let random = &mut self.random;
        let is_stale = self.faults.stale > 0 && random.next_u32() % 1024 < self.faults.stale;
        if let Some(old) = self.old_beats.get(&address).filter(|_| is_stale) {
            return *old;
        }
        *self.beats.entry(address).or_insert_with(|| std::array::from_fn(|_| random.next_u32()))
    }

    /// The rules of AXI for a burst.
    fn check(&self, address: u64, beats: u32) {
        let bytes = u64::from(beats) * self.beat_bytes;
        assert_eq!(address % self.beat_bytes, 0, "bursts are aligned to a beat");
        assert_eq!(address / 4096, (address + bytes - 1) / 4096, "no burst crosses 4096 bytes");
        assert!(beats <= 256, "no burst has more than 256 beats");
    }
}

fn wide(words: [u32; 2]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

#[cfg(test)]
mod tests;
