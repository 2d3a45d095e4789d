//! A look at position maps: the places that the trusted side keeps, and the inner ORAMs that keep all others.

use super::flat::FlatPositionMap;
use super::recursive::{Map, RecursivePositionMap};
use crate::inspect::{Inspect, Inspection, leaves};
use crate::store::Store;
use core::mem::take;

impl<E> Inspect for FlatPositionMap<E> {
    fn inspect(&self) -> Option<Inspection> {
        Some(Inspection { positions: self.with_positions(leaves), ..Inspection::default() })
    }
}

impl<S: Store, R> Inspect for RecursivePositionMap<S, R> {
    fn inspect(&self) -> Option<Inspection> {
        let mut largest = match &self.0 {
            Map::Flat(flat) => return flat.inspect(),
            Map::Inner(inner) => inner.oram.inspect()?,
        };
        let (positions, smaller) = (take(&mut largest.positions), take(&mut largest.maps));
        let maps = core::iter::once(largest).chain(smaller).collect();
        Some(Inspection { positions, maps, ..Inspection::default() })
    }
}
