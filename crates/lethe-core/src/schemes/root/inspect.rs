//! A look at the trusted state of a Root ORAM.

use super::{NearPositionMap, RootOram};
use crate::inspect::{Inspect, Inspection};
use crate::store::Store;
use rand_core::RngCore;

impl<S: Store, R: RngCore> Inspect for RootOram<S, R> {
    fn inspect(&self) -> Option<Inspection> {
        let map: &NearPositionMap<S::Error, R> = self.positions();
        Some(map.look(|positions| self.inspect_with(positions)))
    }
}
