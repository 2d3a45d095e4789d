//! The bench: a controller with its memory and its user, cycle by cycle.

use crate::configuration::Configuration;
use crate::dram::Dram;
use crate::library::Design;
use crate::memory::{Burst, Faults, Memory, Pace, Traffic};
use crate::rtl::{Inputs, Outputs, Rtl, RtlError};
use crate::sample::PortSample;
use crate::session::{Operation, Session};
use std::collections::HashMap;

/// The reason why a controller did not show the expected trace.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BenchError {
    /// Nothing has moved for too long, or there was no end.
    #[error("the run has not ended after {cycles} cycles; it is at request {request} and answer {answer}")]
    Stuck {
        /// The number of cycles.
        cycles: u64,
        /// The number of requests that the controller accepted.
        request: usize,
        /// The number of answers that were given.
        answer: usize,
    },
    /// The controller has stopped with an error.
    #[error("the controller stopped: {0}")]
    Stopped(&'static str),
    /// DRAM has no room for the tree.
    #[error("the tree has {tree} bytes and DRAM {dram}: choose a lower tree, or more DRAM")]
    NoRoom {
        /// The number of bytes of the tree.
        tree: u64,
        /// The number of bytes of DRAM.
        dram: u64,
    },
    /// An answer differs from the expected one.
    #[error("answer {nth} differs from the scheme's")]
    Answer {
        /// The answer, counted from the first.
        nth: usize,
    },
    /// A stretch that was read or written is not what it should be.
    #[error("{what} {nth} differs from the scheme's")]
    Traffic {
        /// The kind of the stretch.
        what: &'static str,
        /// The stretch, counted from the first.
        nth: usize,
    },
}

/// The cycles of a run, its answers and its traffic.
#[derive(Clone, Debug)]
pub struct Run {
    /// The number of cycles from the first request to the last beat.
    pub cycles: u64,
    /// The cycle in which each request was accepted.
    pub requests: Vec<u64>,
    /// The cycle in which each answer ended.
    pub answers: Vec<u64>,
    /// The answers.
    pub answer_contents: Vec<Vec<u8>>,
    /// All that the bus has shown in this run.
    pub traffic: Traffic,
    /// The cycle in which each slot of the front end began, and whether it was a dummy.
    pub slots: Vec<(u64, bool)>,
    /// For each answer, the number of blocks of AES that had begun when it ended.
    pub aes_chunks: Vec<u32>,
    /// The number of evictions outside of the schedule.
    pub emergencies: u32,
    /// The number of cycles in which the controller signalled a stall of memory.
    pub stalled: u64,
}

/// A controller with its memory.
pub struct Bench {
    configuration: Configuration,
    rtl: Rtl,
    memory: Memory,
    inputs: Inputs,
    cycle: u64,
    answer_contents: Vec<Vec<u8>>,
    /// The cycles as they were recorded, if they are.
    samples: Option<Vec<PortSample>>,
}

/// The number of cycles without any movement after which a controller counts as stuck.
const MAX_IDLE_CYCLES: u64 = 20_000;

/// The cycles for each request after which a controller counts as stuck, even if beats still move. Four times the
/// cycles of the request's beats and ten slots of a pacer are added.
const MAX: u64 = 5_000;

/// The cycles without any movement after which a run has ended, when all requests are sent. The cycles of the tags are
/// added: two for each byte of a block.
const SETTLE_CYCLES: u64 = 2_000;

impl Bench {
    /// Loads the design of a configuration, and resets the controller.
    ///
    /// # Errors
    /// [`RtlError`].
    pub fn new(
        design: &Design,
        configuration: Configuration,
        pace: Pace,
        faults: Faults,
        seed: u64,
    ) -> Result<Self, RtlError> {
        let memory = Memory::new(configuration.beat_bytes(), pace, faults, seed);
        let rtl = Rtl::load(design)?;
        let mut bench = Bench {
            configuration,
            rtl,
            memory,
            inputs: Inputs::default(),
            cycle: 0,
            answer_contents: Vec::new(),
            samples: None,
        };
        bench.reset();
        Ok(bench)
    }

    /// Resets the controller, while it is idle. Memory is unchanged.
    pub fn reset(&mut self) {
        self.inputs.rst_n = 0;
        for _ in 0..4 {
            self.rtl.step(&self.inputs);
        }
        self.inputs.rst_n = 1;
    }

    /// Sets DRAM to decide when beats pass.
    ///
    /// # Errors
    /// [`BenchError::NoRoom`].
    ///
    /// # Panics
    /// If a beat is not a burst of this DRAM.
    pub fn attach_dram(&mut self, dram: Dram) -> Result<(), BenchError> {
        let (tree, room) = (self.configuration.tree_bytes(), dram.bytes());
        if tree > room {
            return Err(BenchError::NoRoom { tree, dram: room });
        }
        self.memory.attach_dram(dram);
        Ok(())
    }

    /// Loads one key. Call it first with the key for leaves and masks, then, if the controller uses tags, with the tag
    /// key.
    pub fn load_key(&mut self, key: &[u8; 16]) {
        while !self.offer_key(key) {}
    }

    /// Offers a key for some cycles, more than it takes to expand the previous one. Returns whether it passed.
    pub fn offer_key(&mut self, key: &[u8; 16]) -> bool {
        self.inputs.key = words(key);
        self.inputs.key_valid = 1;
        let passed = (0..100).any(|_| self.rtl.step(&self.inputs).key_ready == 1);
        self.inputs.key_valid = 0;
        passed
    }

    /// The answers of the last run, which may have ended with an error.
    pub fn answer_contents(&self) -> &[Vec<u8>] {
        &self.answer_contents
    }

    /// Records every cycle from now on, and returns those that were recorded so far.
    pub fn record(&mut self) -> Vec<PortSample> {
        self.samples.replace(Vec::new()).unwrap_or_default()
    }

    /// Returns the bench's memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Does all requests, each as soon as the controller takes it, and checks all that it shows.
    ///
    /// # Errors
    /// [`BenchError`].
    pub fn run(&mut self, session: &Session) -> Result<Run, BenchError> {
        let run = self.drive(session)?;
        self.check(session, &run)?;
        Ok(run)
    }

    /// Checks all that a run has shown.
    ///
    /// # Errors
    /// [`BenchError::Answer`], [`BenchError::Traffic`].
    pub fn check(&self, session: &Session, run: &Run) -> Result<(), BenchError> {
        if let Some(nth) =
            (0..session.answers.len()).find(|nth| run.answer_contents.get(*nth) != session.answers.get(*nth))
        {
            return Err(BenchError::Answer { nth });
        }
        self.check_traffic(session, &run.traffic)
    }

    /// Does all requests, each as soon as the controller accepts it, until nothing moves any more. It accepts any
    /// answers. A run continues where the last one ended.
    ///
    /// # Errors
    /// [`BenchError::Stuck`], [`BenchError::Stopped`].
    pub fn drive(&mut self, session: &Session) -> Result<Run, BenchError> {
        self.memory.clear_traffic();
        let mut user = User::new(session, self.configuration);
        let (mut last_activity, start) = (self.cycle, self.cycle);
        let (mut emergencies, mut stalled) = (0, 0);
        let quiet = SETTLE_CYCLES + 2 * u64::from(self.configuration.block_bytes);
        let max = self.max_cycles() * (session.requests.len() as u64 + 10);
        while !user.has_asked_all() || self.cycle - last_activity < quiet {
            user.offer(self.cycle, &mut self.inputs);
            self.memory.offer(self.cycle, &mut self.inputs);
            let outputs = self.rtl.step(&self.inputs);
            if let Some(samples) = &mut self.samples {
                samples.push(PortSample { inputs: self.inputs.clone(), outputs: outputs.clone() });
            }
            emergencies = outputs.emergencies;
            stalled += u64::from(outputs.memory_stalled);
            let before = (self.memory.traffic().write_beats.len(), self.memory.traffic().read_beats.len());
            self.memory.take(self.cycle, &self.inputs, outputs);
            for (error, what) in [
                (outputs.memory_error, "memory answered with an error"),
                (outputs.tag_error, "memory gave a block that is not what was written last"),
                (outputs.overflow, "the stash is too full"),
                (outputs.key_reused, "the key was used before"),
            ] {
                if error == 1 {
                    self.answer_contents = user.answer_contents;
                    self.cycle += 1;
                    return Err(BenchError::Stopped(what));
                }
            }
            let after = (self.memory.traffic().write_beats.len(), self.memory.traffic().read_beats.len());
            if user.take(self.cycle, &self.inputs, outputs) || before != after {
                last_activity = self.cycle;
            }
            if !user.has_asked_all() && self.cycle - last_activity > MAX_IDLE_CYCLES
                || self.cycle - start > max
            {
                let (request, answer) = (user.requests.len(), user.answers.len());
                self.answer_contents = user.answer_contents;
                return Err(BenchError::Stuck { cycles: self.cycle - start, request, answer });
            }
            self.cycle += 1;
        }
        let User { requests, answers, answer_contents, slots, aes_chunks, .. } = user;
        self.answer_contents.clone_from(&answer_contents);
        let traffic = self.memory.traffic().clone();
        let last = traffic.write_beats.last().copied().unwrap_or(self.cycle).max(start);
        let cycles = last - start;
        Ok(Run {
            cycles,
            requests,
            answers,
            answer_contents,
            traffic,
            slots,
            aes_chunks,
            emergencies,
            stalled,
        })
    }

    /// Lets memory continue behind a controller that has stopped, with a user that sends requests and accepts
    /// answers. Returns whether every burst has ended.
    ///
    /// # Panics
    /// If a whole controller accepts a request or answers.
    pub fn finish_bursts(&mut self, cycles: u64) -> bool {
        (self.inputs.request_valid, self.inputs.answer_ready) = (1, 1);
        let is_whole = self.configuration.front_end.is_some();
        for _ in 0..cycles {
            self.memory.offer(self.cycle, &mut self.inputs);
            let outputs = self.rtl.step(&self.inputs);
            assert!(!is_whole || (outputs.request_ready, outputs.answer_valid) == (0, 0), "it has stopped");
            self.memory.take(self.cycle, &self.inputs, outputs);
            self.cycle += 1;
        }
        (self.inputs.request_valid, self.inputs.answer_ready) = (0, 0);
        self.memory.is_idle()
    }

    /// Returns the number of cycles for each request after which a run counts as endless.
    fn max_cycles(&self) -> u64 {
        let slot_cycles = self.configuration.front_end.map_or(0, |front_end| front_end.slot_cycles);
        MAX + 4 * self.configuration.beats_of_access() as u64 + 10 * u64::from(slot_cycles)
    }

    /// Compares the ranges that were read and written, joined from their bursts, with those of the scheme.
    fn check_traffic(&self, session: &Session, traffic: &Traffic) -> Result<(), BenchError> {
        let beat = self.configuration.beat_bytes() as u64;
        let read = session.reads.iter().copied();
        check_bursts("read", read, &traffic.reads, beat)?;
        let written = session.writes.iter().map(|(address, bytes)| (*address, bytes.len()));
        check_bursts("write", written, &traffic.writes, beat)?;
        let mut last = HashMap::new();
        for (nth, (address, bytes)) in session.writes.iter().enumerate() {
            for (at, contents) in (*address..).step_by(beat as usize).zip(bytes.chunks_exact(beat as usize)) {
                last.insert(at, (nth, contents));
            }
        }
        let wrong = |(at, (nth, contents)): (&u64, &(usize, &[u8]))| {
            (self.memory.bytes(*at, beat as usize) != *contents).then_some(*nth)
        };
        match last.iter().filter_map(wrong).min() {
            Some(nth) => Err(BenchError::Traffic { what: "ciphertext", nth }),
            None => Ok(()),
        }
    }
}

/// Compares stretches of memory, each an address and a number of bytes, with the bursts that they consist of.
fn check_bursts(
    what: &'static str,
    stretches: impl ExactSizeIterator<Item = (u64, usize)>,
    bursts: &[Burst],
    beat: u64,
) -> Result<(), BenchError> {
    let (all, mut bursts) = (stretches.len(), bursts.iter());
    for (nth, (mut at, bytes)) in stretches.enumerate() {
        let end = at + bytes as u64;
        while at < end {
            match bursts.next() {
                Some(burst) if burst.address == at => at += u64::from(burst.beats) * beat,
                _ => return Err(BenchError::Traffic { what, nth }),
            }
        }
    }
    match bursts.next() {
        Some(_) => Err(BenchError::Traffic { what, nth: all }),
        None => Ok(()),
    }
}

/// Returns the words of 32 bits, the lowest byte first; those beyond the bytes are zero.
fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().expect("a word has four bytes"));
    }
    words
}

/// The user of a controller: sends all requests at once, and always accepts answers.
struct User<'a> {
    session: &'a Session,
    configuration: Configuration,
    requests: Vec<u64>,
    answers: Vec<u64>,
    answer_contents: Vec<Vec<u8>>,
    aes_chunks: Vec<u32>,
    /// The answer that is coming.
    answering: Vec<u8>,
    /// The beats that the user sends, of all requests in sequence.
    data: Vec<[u32; 16]>,
    sent: usize,
    /// The first cycle in which the next of them may be sent.
    may_send: u64,
    drawn: usize,
    spare_taken: usize,
    slots: Vec<(u64, bool)>,
}

impl<'a> User<'a> {
    fn new(session: &'a Session, configuration: Configuration) -> Self {
        let beat_bytes = configuration.beat_bytes();
        let of_request =
            |operation: &'a Operation| operation.data().unwrap_or_default().chunks_exact(beat_bytes);
        let data = session.requests.iter().flat_map(|request| of_request(&request.operation)).map(words);
        User {
            session,
            configuration,
            requests: Vec::new(),
            answers: Vec::new(),
            answer_contents: Vec::new(),
            aes_chunks: Vec::new(),
            answering: Vec::new(),
            data: data.collect(),
            sent: 0,
            may_send: 0,
            drawn: 0,
            spare_taken: 0,
            slots: Vec::new(),
        }
    }

    fn has_asked_all(&self) -> bool {
        self.requests.len() == self.session.requests.len()
    }

    fn offer(&self, cycle: u64, inputs: &mut Inputs) {
        let Session { wait, chain, .. } = *self.session;
        let next = self.requests.len();
        let is_first = chain < 2 || next.is_multiple_of(chain);
        let has_answer = self.answers.len() == next;
        let waits = wait > 0 && (!has_answer || self.answers.last().is_some_and(|at| cycle < at + wait));
        let may_ask = (is_first || has_answer) && !waits;
        let request = self.session.requests.get(next).filter(|_| may_ask);
        inputs.request_valid = request.is_some().into();
        if let Some(request) = request {
            inputs.request_op = request.operation.code();
            inputs.request_block = request.operation.block().map_or(0, |block| block.0 as u32);
            inputs.request_path = request.path.0 as u32;
            inputs.request_leaf = request.leaf.0 as u32;
        }
        inputs.data_valid = u32::from(self.sent < self.data.len() && cycle >= self.may_send);
        inputs.data = self.data.get(self.sent).copied().unwrap_or_default();
        inputs.answer_ready = 1;
        inputs.random_valid = u32::from(self.drawn < self.session.drawn.len());
        inputs.random = self.session.drawn.get(self.drawn).map_or(0, |leaf| leaf.0 as u32);
        let has_all_answers = self.answers.len() == self.session.requests.len();
        let spare = self.session.spare.get(self.spare_taken).filter(|_| !has_all_answers);
        inputs.spare_valid = spare.is_some().into();
        inputs.spare = spare.map_or(0, |leaf| leaf.0 as u32);
    }

    /// Takes the signals that passed in this cycle. Returns whether anything passed.
    fn take(&mut self, cycle: u64, inputs: &Inputs, outputs: &Outputs) -> bool {
        let is_request = inputs.request_valid & outputs.request_ready == 1;
        if is_request {
            self.requests.push(cycle);
        }
        if inputs.data_valid & outputs.data_ready == 1 {
            self.sent += 1;
            self.may_send = cycle + 1 + self.session.beat_wait;
        }
        self.drawn += (inputs.random_valid & outputs.random_ready) as usize;
        self.spare_taken += (inputs.spare_valid & outputs.spare_ready) as usize;
        if outputs.slot == 1 {
            self.slots.push((cycle, outputs.slot_dummy == 1));
        }
        if outputs.answer_valid == 1 {
            let bytes = outputs.answer.iter().flat_map(|word| word.to_le_bytes());
            self.answering.extend(bytes.take(self.configuration.beat_bytes()));
            if outputs.answer_last == 1 {
                self.answer_contents.push(std::mem::take(&mut self.answering));
                self.answers.push(cycle);
                self.aes_chunks.push(outputs.aes_chunks);
            }
        }
        is_request || outputs.answer_valid == 1
    }
}
