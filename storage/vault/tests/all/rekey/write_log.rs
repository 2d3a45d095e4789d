//! The writes of a lifecycle, and what may be there after a part of it.

use super::owner::touch;
use crate::support::effect_log::EffectLog;
use ameles_vault::{RowChange, Vault};
use std::cell::RefCell;

/// The secret that every block and the row have at first.
pub const SECRET: u8 = 150;
/// The place of the row among the blocks.
pub const ROW: u64 = u64::MAX;

/// A write of a block or of the row, and the numbers of effects before it began and before it was acknowledged.
struct Written {
    at: u64,
    secret: u8,
    from: usize,
    acknowledged: usize,
}

/// The writes of a lifecycle, next to its log.
#[derive(Default)]
pub struct WriteLog(pub EffectLog, RefCell<Vec<Written>>);

impl WriteLog {
    /// Writes a block or the row, with a secret that nothing had before.
    pub async fn write(&self, vault: &Vault, at: u64) {
        let secret = SECRET + 1 + self.1.borrow().len() as u8;
        let from = self.0.len();
        match at {
            ROW => vault.commit_rows(vec![RowChange::put("name", vec![secret])]).await.unwrap(),
            block => touch(vault, secret, block).await.unwrap(),
        }
        self.1.borrow_mut().push(Written { at, secret, from, acknowledged: self.0.len() });
    }

    /// The secrets that may be there after this many effects: the last acknowledged one, or a later one.
    pub fn allowed(&self, at: u64, effects: usize) -> Vec<u8> {
        let mut allowed = vec![SECRET];
        for write in self.1.borrow().iter().filter(|write| write.at == at && write.from < effects) {
            if write.acknowledged <= effects {
                allowed.clear();
            }
            allowed.push(write.secret);
        }
        allowed
    }

    /// The secrets that a checkpoint may have that was shipped before this many effects.
    pub fn shipped(&self, at: u64, effects: usize) -> Vec<u8> {
        let writes = self.1.borrow();
        let before = writes.iter().filter(|write| write.at == at && write.from < effects);
        [SECRET].into_iter().chain(before.map(|write| write.secret)).collect()
    }
}
