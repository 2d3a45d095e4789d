//! Buffers that are used again: the data that moves between scheme and store is long, and comes in few lengths.

use alloc::vec::Vec;
use core::cell::RefCell;

/// The buffers that are not in use now.
#[derive(Debug, Default)]
pub(crate) struct Buffers(RefCell<Vec<Vec<u8>>>);

impl Buffers {
    /// A buffer of this many zeros.
    pub(crate) fn zeros(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.best(bytes);
        buffer.clear();
        buffer.resize(bytes, 0);
        buffer
    }

    /// A buffer of this many arbitrary bytes.
    pub(crate) fn room(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.best(bytes);
        buffer.resize(bytes, 0);
        buffer
    }

    fn best(&self, bytes: usize) -> Vec<u8> {
        let mut buffers = self.0.borrow_mut();
        let best = best_fit(buffers.iter().map(Vec::capacity), bytes);
        best.map(|at| buffers.swap_remove(at)).unwrap_or_default()
    }

    /// Keeps a buffer for the next caller that needs one.
    pub(crate) fn give_back(&self, buffer: Vec<u8>) {
        self.0.borrow_mut().push(buffer);
    }
}

/// The smallest room that is large enough, or the largest room if none is. So small requests do not make every room
/// large.
pub fn best_fit(rooms: impl Iterator<Item = usize> + Clone, bytes: usize) -> Option<usize> {
    let large_enough = rooms.clone().enumerate().filter(|(_, room)| *room >= bytes);
    let best = large_enough.min_by_key(|(_, room)| *room);
    best.or_else(|| rooms.enumerate().max_by_key(|(_, room)| *room)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_that_fits_best_is_taken() {
        let rooms = [7, 3, 5];
        for (bytes, room) in [(0, 1), (3, 1), (4, 2), (6, 0), (8, 0)] {
            assert_eq!(best_fit(rooms.iter().copied(), bytes), Some(room), "{bytes} bytes");
        }
        assert_eq!(best_fit([].iter().copied(), 1), None);
    }
}
