//! A look at the position map of a Root ORAM: all else is Path ORAM's.

use super::NearPositionMap;
use crate::inspect::{Inspect, Inspection, leaves};
use rand_core::RngCore;

impl<E, R: RngCore> Inspect for NearPositionMap<E, R> {
    fn inspect(&self) -> Option<Inspection> {
        Some(Inspection { positions: self.with_positions(leaves), ..Inspection::default() })
    }
}
