//! Memory over DRAM, as a master of the bus sees it.

use super::{Faults, Memory, Pace};
use crate::dram::{Dram, board_specification};
use crate::rtl::{Inputs, Outputs};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::VecDeque;

const BEAT: u64 = 64;

fn over_dram(faults: Faults) -> Memory {
    let mut memory = Memory::new(BEAT as usize, Pace::IDEAL, faults, 1);
    memory.attach_dram(Dram::new(&board_specification(), 200, Pace::IDEAL.read_latency).unwrap());
    memory
}

/// A master that requests bursts, an address and a number of beats each.
#[derive(Default)]
struct Master {
    cycle: u64,
    reads: VecDeque<(u64, u32)>,
    writes: VecDeque<(u64, u32)>,
    /// The beats of the writes whose address has passed: address, contents, and whether it is the last.
    beats: VecDeque<(u64, u32, bool)>,
    /// The cycle of each beat that was read, and its first word.
    read: Vec<(u64, u32)>,
    answers: u64,
    /// The version of the bytes that the master writes next.
    version: u32,
}

/// The first word of what is written to an address.
fn contents(address: u64, version: u32) -> u32 {
    (address / BEAT) as u32 | version << 24
}

impl Master {
    fn step(&mut self, memory: &mut Memory) {
        let mut inputs = Inputs::default();
        memory.offer(self.cycle, &mut inputs);
        let mut outputs = Outputs { r_ready: 1, b_ready: 1, ..Outputs::default() };
        if let Some((address, beats)) = self.reads.front() {
            (outputs.ar_valid, outputs.ar_length) = (1, beats - 1);
            outputs.ar_address = [*address as u32, (*address >> 32) as u32];
        }
        if let Some((address, beats)) = self.writes.front() {
            (outputs.aw_valid, outputs.aw_length) = (1, beats - 1);
            outputs.aw_address = [*address as u32, (*address >> 32) as u32];
        }
        if let Some((_, word, last)) = self.beats.front() {
            (outputs.w_valid, outputs.w_last, outputs.w_data[0]) = (1, u32::from(*last), *word);
        }
        memory.take(self.cycle, &inputs, &outputs);
        if outputs.w_valid & inputs.w_ready == 1 {
            self.beats.pop_front();
        }
        if outputs.ar_valid & inputs.ar_ready == 1 {
            self.reads.pop_front();
        }
        if outputs.aw_valid & inputs.aw_ready == 1 {
            let (address, beats) = self.writes.pop_front().expect("it was offered");
            let of_burst = (0..u64::from(beats)).map(|nth| {
                let at = address + nth * BEAT;
                (at, contents(at, self.version), nth + 1 == u64::from(beats))
            });
            self.beats.extend(of_burst);
        }
        if inputs.r_valid == 1 {
            self.read.push((self.cycle, inputs.r_data[0]));
        }
        self.answers += u64::from(inputs.b_valid);
        self.cycle += 1;
    }

    /// Steps until that many beats were read and that many bursts written.
    fn run(&mut self, memory: &mut Memory, beats: usize, answers: u64) {
        while self.read.len() < beats || self.answers < answers {
            assert!(self.cycle < 200_000, "memory has stopped");
            self.step(memory);
        }
    }
}

/// The cycles from the first to the last beat of reads.
fn cycles_of(reads: impl IntoIterator<Item = (u64, u32)>) -> u64 {
    let (mut memory, mut master) = (over_dram(Faults::default()), Master::default());
    master.reads.extend(reads);
    let beats = master.reads.iter().map(|(_, beats)| *beats as usize).sum();
    master.run(&mut memory, beats, 0);
    master.read[beats - 1].0 - master.read[0].0 + 1
}

#[test]
fn a_read_of_dram_at_rest_takes_the_latency_that_was_asked_for() {
    let (mut memory, mut master) = (over_dram(Faults::default()), Master::default());
    master.reads.push_back((0, 1));
    master.run(&mut memory, 1, 0);
    assert_eq!(master.read[0].0, Pace::IDEAL.read_latency);
}

#[test]
fn addresses_decide_how_fast_dram_reads() {
    // Along a row the data bus is never idle, except for refreshes.
    let in_row = cycles_of((0..64).map(|nth| (nth * 512, 8)));
    assert!((512..560).contains(&in_row), "{in_row} cycles for 512 beats");
    // A row of one bank after the other: each takes its whole cycle (tRC, 39 cycles of DRAM).
    let (bank, banks) = (8192, 8);
    let one_bank = cycles_of((0..64).map(|nth| (nth * bank * banks, 1)));
    assert!(one_bank >= 63 * 39 / 4, "{one_bank} cycles for 64 rows of a bank");
    let all_banks = cycles_of((0..64).map(|nth| (nth * bank, 1)));
    assert!(all_banks < one_bank / 2 && all_banks > 64, "{all_banks} cycles for 64 rows of all banks");
}

#[test]
fn reads_over_dram_come_back_in_order_with_what_was_written() {
    for stalls in [0, 60] {
        let mut memory = over_dram(Faults { stalls, ..Faults::default() });
        let (mut master, mut random) = (Master::default(), ChaCha8Rng::seed_from_u64(2));
        // Bursts anywhere in 64 MiB, so that DRAM serves them in another order; none crosses 4096 bytes.
        let bursts: Vec<(u64, u32)> = (0..500)
            .map(|_| {
                let beats = random.next_u32() % 8 + 1;
                let page = u64::from(random.next_u32() % (1 << 14)) * 4096;
                (page + u64::from(random.next_u32() % (65 - beats)) * BEAT, beats)
            })
            .collect();
        master.writes.extend(&bursts);
        master.run(&mut memory, 0, bursts.len() as u64);
        master.reads.extend(bursts.iter().rev());
        let expected: Vec<u32> = bursts
            .iter()
            .rev()
            .flat_map(|(address, beats)| {
                (0..u64::from(*beats)).map(move |nth| contents(address + nth * BEAT, 0))
            })
            .collect();
        master.run(&mut memory, expected.len(), bursts.len() as u64);
        let read: Vec<u32> = master.read.iter().map(|(_, word)| *word).collect();
        assert_eq!(read, expected);
        // The bus is never faster than DRAM: a beat is a burst of it.
        let counts = memory.dram().unwrap().counts();
        assert!(counts.reads + counts.forwarded >= expected.len() as u64);
        assert!(master.cycle > 2 * expected.len() as u64);
    }
}

#[test]
fn what_is_written_passes_no_faster_than_dram_writes_it() {
    // Single beats in rows of one bank: the queue fills, and the bus must wait.
    let (mut memory, mut master) = (over_dram(Faults::default()), Master::default());
    master.writes.extend((0..400).map(|nth| (nth * (8192 * 8), 1)));
    master.run(&mut memory, 0, 400);
    assert!(master.cycle > (400 - 64) * 39 / 4, "{} cycles for 400 rows of a bank", master.cycle);
}

#[test]
fn a_read_sees_what_was_answered_as_written_before_it_was_asked_for() {
    let (mut memory, mut master) = (over_dram(Faults::default()), Master::default());
    // Rows of one bank, so that DRAM still has most writes in its queue when they are answered.
    let addresses: Vec<u64> = (0..16).map(|nth| nth * (8192 * 8)).collect();
    for version in 1..20u32 {
        master.version = version;
        master.writes.extend(addresses.iter().map(|address| (*address, 1)));
        master.run(&mut memory, 0, u64::from(version) * 16);
        master.read.clear();
        master.reads.extend(addresses.iter().rev().map(|address| (*address, 1)));
        master.run(&mut memory, 16, 0);
        let read = master.read.iter().map(|(_, word)| *word);
        assert!(read.eq(addresses.iter().rev().map(|address| contents(*address, version))));
    }
    assert!(memory.dram().unwrap().counts().forwarded > 0, "no read met its write in the queue");
}
