//! The first-level data cache of IR-ORAM's Table I, for traces that have every access of a program.
//!
//! The lab's traces are the misses of such a cache, as `ameles-trace-recorder` writes them. So other traces of all
//! accesses go through the same cache first.

use super::{Kind, Miss};
use crate::cache::Cache;
use crate::units::{LINE_BYTES, Line};

/// Bytes and ways.
const SHAPE: (u64, usize) = (256 << 10, 2);

/// The maximum lines of an access: a page.
const MAX_LINES: u64 = 64;

/// A first-level cache, and the instructions since its last miss.
#[derive(Debug)]
pub(super) struct FirstLevel {
    cache: Cache,
    instructions: u64,
}

impl FirstLevel {
    /// An empty cache.
    pub(super) fn new() -> Self {
        let cache = Cache::new(SHAPE.0, SHAPE.1).expect("the shape is a constant, and a test takes it");
        FirstLevel { cache, instructions: 0 }
    }

    /// Handles the accesses of an instruction, in their order, and appends what misses or leaves the cache dirty.
    pub(super) fn instruction(
        &mut self,
        accesses: impl IntoIterator<Item = (Kind, Line)>,
        into: &mut impl Extend<Miss>,
    ) {
        let mut is_counted = false;
        for (kind, line) in accesses {
            let access = self.cache.access(line, kind == Kind::Store);
            let missed = (!access.is_hit).then_some((kind, line));
            let evicted = access.victim.filter(|victim| victim.is_dirty);
            let evicted = evicted.map(|victim| (Kind::Store, victim.line));
            into.extend(missed.into_iter().chain(evicted).map(|(kind, line)| {
                is_counted = true;
                let instructions = u32::try_from(std::mem::take(&mut self.instructions)).unwrap_or(u32::MAX);
                Miss { instructions, kind, line }
            }));
        }
        self.skip(u64::from(!is_counted));
    }

    /// Counts instructions that access nothing.
    pub(super) fn skip(&mut self, instructions: u64) {
        self.instructions = self.instructions.saturating_add(instructions);
    }
}

/// The lines of an access of this many bytes.
///
/// # Errors
/// A sentence, for more bytes than a page or an access beyond all addresses.
pub(super) fn lines(address: u64, bytes: u64) -> Result<impl Iterator<Item = Line>, String> {
    let first = address / LINE_BYTES;
    let last = address.checked_add(bytes.max(1) - 1).map(|last| last / LINE_BYTES);
    match last {
        Some(last) if last - first < MAX_LINES => Ok((first..=last).map(Line)),
        _ => Err(format!(
            "an access of {bytes} bytes at 0x{address:x} is more than a page, or beyond all addresses"
        )),
    }
}
