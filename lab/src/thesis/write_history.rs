//! The history of writes: the acknowledged version of each block, and the pending one.

use bytes::Bytes;
use std::collections::BTreeSet;

/// The versions of blocks. Version 0 is that of a block that was never written.
#[derive(Clone, Debug)]
pub(crate) struct WriteHistory {
    acknowledged: Vec<u64>,
    /// The writes without an answer.
    pending: Vec<Option<u64>>,
    /// The blocks with a write since the last [`take_started`](Self::take_started).
    started: BTreeSet<u64>,
    next: u64,
    /// The number of acknowledged writes.
    pub(crate) writes: u64,
}

impl WriteHistory {
    /// Blocks that were never written.
    pub(crate) fn new(blocks: u64) -> Self {
        let blocks = blocks as usize;
        WriteHistory {
            acknowledged: vec![0; blocks],
            pending: vec![None; blocks],
            started: BTreeSet::new(),
            next: 1,
            writes: 0,
        }
    }

    /// Adds blocks that were never written, up to this number.
    pub(crate) fn resize(&mut self, blocks: u64) {
        self.acknowledged.resize(blocks as usize, 0);
        self.pending.resize(blocks as usize, None);
    }

    /// Starts the next write of a block, and returns its payload.
    pub(crate) fn start_write(&mut self, block: u64, bytes: usize) -> Bytes {
        let version = self.next;
        self.next += 1;
        self.pending[block as usize] = Some(version);
        self.started.insert(block);
        payload(version, bytes)
    }

    /// The blocks that were begun to be written since the last call.
    pub(crate) fn take_started(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.started).into_iter().collect()
    }

    /// The write of a block was acknowledged.
    pub(crate) fn acknowledge(&mut self, block: u64) {
        if let Some(version) = self.pending[block as usize].take() {
            self.acknowledged[block as usize] = version;
            self.writes += 1;
        }
    }

    /// Accepts what a read returned if it is the block's acknowledged contents or those of its pending write. Returns
    /// whether it is. Accepted contents count as acknowledged from then on.
    pub(crate) fn accept_read(&mut self, block: u64, found: &[u8]) -> bool {
        let place = block as usize;
        let allowed = [Some(self.acknowledged[place]), self.pending[place].take()];
        let version = allowed.into_iter().flatten().find(|version| payload(*version, found.len()) == found);
        if let Some(version) = version {
            self.acknowledged[place] = version;
        }
        version.is_some()
    }
}

fn payload(version: u64, bytes: usize) -> Bytes {
    version.to_le_bytes().iter().copied().cycle().take(bytes).collect::<Vec<u8>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_acknowledged_write_is_detected() {
        let mut history = WriteHistory::new(2);
        let first = history.start_write(0, 16);
        assert!(history.clone().accept_read(0, &[0; 16]), "it was not acknowledged");
        history.acknowledge(0);
        assert!(!history.clone().accept_read(0, &[0; 16]), "it is lost");
        assert!(history.accept_read(0, &first));
        let second = history.start_write(0, 16);
        assert!(history.clone().accept_read(0, &first) && history.clone().accept_read(0, &second));
        history.acknowledge(0);
        assert!(!history.accept_read(0, &first), "the older one is back");
        assert_eq!(history.writes, 2);
    }
}
