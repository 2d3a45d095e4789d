//! The eviction of Circuit ORAM along one path: two scans that decide, and one pass that moves.

use super::held_path::HeldPath;
use alloc::vec::Vec;
use core::mem;

/// The findings of the scans of a path for each position, and blocks on their way down.
#[derive(Default)]
pub(crate) struct Eviction {
    deepest: Vec<Option<usize>>,
    target: Vec<Option<usize>>,
    hold: Vec<u8>,
    towrite: Vec<u8>,
}

impl Eviction {
    /// Algorithm 4.
    pub(crate) fn evict_once_fast(&mut self, mut path: HeldPath<'_>) {
        self.prepare_deepest(&path);
        self.prepare_target(&path);
        let mut dest = None;
        for i in 0..=path.last() {
            let arrives = dest == Some(i);
            if arrives {
                mem::swap(&mut self.hold, &mut self.towrite);
                dest = None;
            }
            if self.target[i].is_some() {
                path.remove_deepest(i, &mut self.hold);
                dest = self.target[i];
            }
            if arrives {
                path.place(i, &self.towrite);
            }
        }
        debug_assert!(dest.is_none(), "whatever is on its way down arrives");
    }

    /// Algorithm 2: finds from where the block comes that each position may get.
    fn prepare_deepest(&mut self, path: &HeldPath<'_>) {
        self.deepest.clear();
        self.deepest.resize(path.last() + 1, None);
        let (mut src, mut goal) = (Some(0), path.deepest_level(0));
        for i in 1..=path.last() {
            if goal >= Some(i) {
                self.deepest[i] = src;
            }
            let level = path.deepest_level(i);
            if level > goal {
                (src, goal) = (Some(i), level);
            }
        }
    }

    /// Algorithm 3: finds where the deepest block of each position goes.
    fn prepare_target(&mut self, path: &HeldPath<'_>) {
        self.target.clear();
        self.target.resize(path.last() + 1, None);
        let (mut dest, mut src) = (None, None);
        for i in (0..=path.last()).rev() {
            if src == Some(i) {
                self.target[i] = dest;
                (dest, src) = (None, None);
            }
            let has_room = dest.is_none() && path.has_empty_slot(i) || self.target[i].is_some();
            if has_room && self.deepest[i].is_some() {
                (src, dest) = (self.deepest[i], Some(i));
            }
        }
    }
}
