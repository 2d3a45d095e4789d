//! The parameters of all schemes, as the suite needs them.

use crate::model::curious::logged_layout;
use crate::model::setup::with_map_layout;
use ameles_core::position_map::recursive::RecursiveParameters;
use ameles_core::schemes::circuit::CircuitParameters;
use ameles_core::schemes::curious::CuriousParameters;
use ameles_core::schemes::detworam::DetWoParameters;
use ameles_core::schemes::eager::EagerParameters;
use ameles_core::schemes::freecursive::FreecursiveParameters;
use ameles_core::schemes::hierarchical::HierarchicalParameters;
use ameles_core::schemes::oblivistore::ObliviStoreParameters;
use ameles_core::schemes::opam::OpamParameters;
use ameles_core::schemes::parallel::ParallelParameters;
use ameles_core::schemes::path::{BucketsByLevel, PathParameters};
use ameles_core::schemes::plain::PlainParameters;
use ameles_core::schemes::practical_os::PracticalOsParameters;
use ameles_core::schemes::raw::RawParameters;
use ameles_core::schemes::ring::RingParameters;
use ameles_core::schemes::root::RootParameters;
use ameles_core::schemes::square_root::SquareRootParameters;
use ameles_core::schemes::trivial::TrivialParameters;
use ameles_core::tree::layout::Layout;
use std::fmt::Debug;

/// The parameters of a scheme, as the suite needs them.
pub(crate) trait SchemeParameters: Clone + Debug + 'static {
    fn capacity(&self) -> u64;

    fn layout(&self) -> Layout;
}

macro_rules! scheme_parameters {
    ($($type:ty: $($capacity:ident).+, $($layout:ident).+;)*) => {
        $(impl SchemeParameters for $type {
            fn capacity(&self) -> u64 {
                self.$($capacity).+
            }

            fn layout(&self) -> Layout {
                self.$($layout).+()
            }
        })*
    };
}
scheme_parameters! {
    PathParameters: capacity, layout;
    RootParameters: path.capacity, path.layout;
    RingParameters: capacity, layout;
    CircuitParameters: capacity, layout;
    RawParameters: capacity, layout;
    ParallelParameters: capacity, layout;
    FreecursiveParameters: capacity, tree.layout;
    TrivialParameters: capacity, layout;
    SquareRootParameters: capacity, layout;
    PracticalOsParameters: capacity, layout;
    HierarchicalParameters: capacity, layout;
    CuriousParameters: partitions.capacity, layout;
    ObliviStoreParameters: partitions.capacity, layout;
    OpamParameters: capacity, layout;
    DetWoParameters: capacity, layout;
    EagerParameters: areas.capacity, layout;
    PlainParameters: capacity, layout;
}

impl<P: SchemeParameters> SchemeParameters for (P, RecursiveParameters) {
    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    fn layout(&self) -> Layout {
        with_map_layout(self.0.layout(), &self.1)
    }
}

impl SchemeParameters for BucketsByLevel {
    fn capacity(&self) -> u64 {
        self.parameters().capacity
    }

    fn layout(&self) -> Layout {
        BucketsByLevel::layout(self)
    }
}

/// CURIOUS with a log of this many slots.
impl SchemeParameters for (CuriousParameters, u64) {
    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    fn layout(&self) -> Layout {
        logged_layout(&self.0, self.1)
    }
}
