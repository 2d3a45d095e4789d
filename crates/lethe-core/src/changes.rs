//! The places of a table that were changed since its owner last asked: noted only while somebody asks.

use alloc::vec::Vec;
use core::ops::Range;

/// A list of changed places, with repetitions. Not watched, it notes nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeLog(Option<Vec<u32>>);

impl ChangeLog {
    /// Begins to note changes, from none.
    pub(crate) fn watch(&mut self) {
        self.0 = Some(Vec::new());
    }

    /// Notes that a place was changed.
    pub(crate) fn note(&mut self, place: usize) {
        if let Some(places) = &mut self.0 {
            places.push(place as u32);
        }
    }

    /// Notes that neighbouring places were changed.
    pub(crate) fn note_all(&mut self, range: Range<usize>) {
        if let Some(places) = &mut self.0 {
            places.extend(range.map(|place| place as u32));
        }
    }

    /// Takes what was noted since the last call.
    pub(crate) fn take(&mut self) -> Vec<u32> {
        self.0.as_mut().map(core::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_noted_from_the_moment_at_which_they_are_watched() {
        let mut log = ChangeLog::default();
        log.note(1);
        assert!(log.take().is_empty());
        log.watch();
        log.note(2);
        log.note_all(5..7);
        assert_eq!(log.take(), [2, 5, 6]);
        assert!(log.take().is_empty());
    }
}
