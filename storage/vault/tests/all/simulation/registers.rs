//! The contents that a block may hold: those of every write that is not known to be overwritten.
//!
//! Each write has a number in its payload, so a read shows which write it saw. A write happens at some time between its
//! request and its acknowledgement. A write that was never acknowledged happens at some time before the vault is open
//! again, or not at all.

use std::collections::BTreeMap;

/// A logical time: every event has its own.
pub type Tick = u64;

/// All blocks of a vault.
pub struct Registers {
    blocks: Vec<Register>,
    now: Tick,
    writes: u64,
    block_bytes: usize,
}

#[derive(Default)]
struct Register {
    /// Every write since the vault was made, by its number, and when it must have happened, if at all.
    writes: BTreeMap<u64, Span>,
    /// The spans within which the block held the bytes of a write: its own if it was acknowledged, and those of reads.
    held: Vec<(u64, Span)>,
}

/// The time from a request to its end.
#[derive(Clone, Copy)]
struct Span {
    from: Tick,
    until: Option<Tick>,
}

/// The write number of the initial contents, which are zeros.
const ZEROS: u64 = 0;

impl Registers {
    pub fn new(blocks: u64, block_bytes: usize) -> Self {
        Registers {
            blocks: (0..blocks).map(|_| Register::default()).collect(),
            now: 0,
            writes: 0,
            block_bytes,
        }
    }

    /// These registers, with writes numbered after `last`, so that nobody else's bytes are taken for theirs.
    pub fn numbered_after(self, last: u64) -> Self {
        Registers { writes: last, ..self }
    }

    /// The current tick; each call returns another.
    pub fn tick(&mut self) -> Tick {
        self.now += 1;
        self.now
    }

    /// Begins a write: returns its number and payload.
    pub fn begin_write(&mut self, block: u64) -> (u64, Vec<u8>) {
        self.writes += 1;
        let span = Span { from: self.tick(), until: None };
        self.blocks[block as usize].writes.insert(self.writes, span);
        (self.writes, payload(self.writes, self.block_bytes))
    }

    /// Records that a write was acknowledged.
    pub fn acknowledge(&mut self, block: u64, write: u64) {
        let until = Some(self.tick());
        let register = &mut self.blocks[block as usize];
        let span = register.writes.get_mut(&write).expect("the write began");
        span.until = until;
        register.held.push((write, *span));
    }

    /// Records that the vault is open again: an unacknowledged write has happened by now, or never will.
    pub fn settle(&mut self) {
        let now = self.tick();
        for write in self.blocks.iter_mut().flat_map(|register| register.writes.values_mut()) {
            write.until.get_or_insert(now);
        }
    }

    /// Checks a read that was requested at `from` and has returned these bytes now.
    ///
    /// # Panics
    /// If the bytes are not those of a write, or are those of a write that was overwritten before `from`.
    pub fn read(&mut self, block: u64, from: Tick, bytes: &[u8]) {
        let span = Span { from, until: Some(self.tick()) };
        let write = self.blocks[block as usize].seen(block, span, bytes);
        self.blocks[block as usize].held.push((write, span));
    }

    /// Checks like [`read`](Self::read), for a copy as it was at some time since `from`. The copy says nothing about
    /// the present contents of the block.
    pub fn read_copy(&mut self, block: u64, from: Tick, bytes: &[u8]) {
        let span = Span { from, until: Some(self.tick()) };
        self.blocks[block as usize].seen(block, span, bytes);
    }
}

impl Register {
    fn seen(&self, block: u64, span: Span, bytes: &[u8]) -> u64 {
        let write = number(bytes);
        assert!(
            bytes == payload(write, bytes.len()),
            "block {block} holds bytes that nobody wrote: {bytes:?}"
        );
        let happened = if write == ZEROS {
            Span { from: 0, until: Some(0) }
        } else {
            *self
                .writes
                .get(&write)
                .unwrap_or_else(|| panic!("block {block} holds another block's write {write}"))
        };
        // The block held something else after this write had ended and before this read began.
        let after = |of: &Span| happened.until.is_some_and(|until| of.from > until);
        let before = |of: &Span| of.until.is_some_and(|until| until < span.from);
        let other = self.held.iter().find(|(held, of)| *held != write && after(of) && before(of));
        assert!(
            other.is_none(),
            "block {block} holds write {write}, although write {:?} was there later: an acknowledged write is lost",
            other.map(|(held, _)| held)
        );
        write
    }
}

fn number(payload: &[u8]) -> u64 {
    u64::from_le_bytes(payload[..8].try_into().expect("a block has at least 8 bytes"))
}

/// The bytes of a write: its number, and a rest that follows from it.
fn payload(write: u64, len: usize) -> Vec<u8> {
    let mut word = write;
    let words = std::iter::from_fn(|| {
        let this = word;
        word = word.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        Some(this.to_le_bytes())
    });
    words.flatten().take(len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(of: impl FnOnce(&mut Registers) + std::panic::UnwindSafe) -> bool {
        std::panic::catch_unwind(|| of(&mut Registers::new(2, 16))).is_err()
    }

    #[test]
    fn a_lost_acknowledged_write_a_foreign_one_and_forged_bytes_are_noticed() {
        assert!(fails(|registers| {
            let (write, _) = registers.begin_write(0);
            registers.acknowledge(0, write);
            let from = registers.tick();
            registers.read(0, from, &[0; 16]);
        }));
        assert!(fails(|registers| {
            let (_, bytes) = registers.begin_write(1);
            let from = registers.tick();
            registers.read(0, from, &bytes);
        }));
        assert!(fails(|registers| {
            let (_, mut bytes) = registers.begin_write(0);
            bytes[15] ^= 1;
            let from = registers.tick();
            registers.read(0, from, &bytes);
        }));
    }

    #[test]
    fn an_unacknowledged_write_may_be_there_or_not_but_does_not_come_back_and_forth() {
        let written = |registers: &mut Registers| registers.begin_write(0).1;
        let read = |registers: &mut Registers, bytes: &[u8]| {
            let from = registers.tick();
            registers.read(0, from, bytes);
        };
        assert!(!fails(|registers| {
            let bytes = written(registers);
            read(registers, &[0; 16]);
            registers.settle();
            read(registers, &bytes);
            read(registers, &bytes);
        }));
        assert!(fails(|registers| {
            let bytes = written(registers);
            registers.settle();
            read(registers, &[0; 16]);
            read(registers, &bytes);
        }));
        assert!(fails(|registers| {
            let bytes = written(registers);
            read(registers, &bytes);
            registers.settle();
            read(registers, &[0; 16]);
        }));
    }
}
