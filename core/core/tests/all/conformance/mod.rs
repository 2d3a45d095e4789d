//! The conformance suite: what every scheme promises, checked the same way for all of them. `schemes.rs` has a test for
//! each scheme; a new scheme joins by one entry there.

mod array;
pub(crate) mod delta_copy;
mod incremental;
mod parameters;
mod refusals;
pub(crate) mod runs;
mod schemes;
pub(crate) mod snapshots;
pub(crate) mod tampering;

use ameles_core::oram::Oram;
use ameles_core::testing::{Operation, TraceStore, TraceStoreError};
use parameters::SchemeParameters;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fmt::Debug;
use std::rc::Rc;

/// A scheme under test: how to draw parameters for it and how to make it of them.
pub(crate) struct Scheme<P, O> {
    /// Small parameters of every kind, with room for every block: no emergency is possible.
    parameters: BoxedStrategy<P>,
    /// Makes a scheme that was never used, over this store and with this seed.
    build: fn(&P, Rc<TraceStore>, u64) -> O,
}

impl<P: SchemeParameters, O: Oram<Error = TraceStoreError>> Scheme<P, O> {
    /// A scheme with these parameters, and how it is made.
    fn of(parameters: impl Strategy<Value = P> + 'static, build: fn(&P, Rc<TraceStore>, u64) -> O) -> Self {
        Scheme { parameters: parameters.boxed(), build }
    }

    /// Makes a store that was never written.
    fn store(&self, parameters: &P) -> Rc<TraceStore> {
        Rc::new(TraceStore::new(parameters.layout()))
    }

    /// Makes a scheme over a store of its own.
    fn new_oram(&self, parameters: &P, seed: u64) -> (O, Rc<TraceStore>) {
        let store = self.store(parameters);
        ((self.build)(parameters, Rc::clone(&store), seed), store)
    }

    /// Draws parameters, and something else for their capacity.
    fn with<S: Strategy>(
        &self,
        more: impl Fn(u64) -> S + Clone + 'static,
    ) -> impl Strategy<Value = (P, S::Value)> {
        let drawn = self.parameters.clone();
        drawn.prop_flat_map(move |parameters| (Just(parameters.clone()), more(parameters.capacity())))
    }

    /// Checks the promises of a scheme that keeps state: answers, refusals, and silence after a failure.
    pub(crate) fn conforms(&self) {
        self.answers();
        self.is_silent_after_a_failure();
    }

    /// Checks the promises of a scheme that keeps no state: answers, refusals, and that a failure loses nothing.
    pub(crate) fn conforms_without_state(&self) {
        self.answers();
        self.loses_nothing_by_a_failure();
    }

    /// Checks the promises of any scheme: answers and refusals.
    fn answers(&self) {
        self.answers_like_an_array();
        self.answers_like_an_array_in_any_order();
        self.refuses_without_a_mark();
    }
}

/// Splits batches that are longer than a scheme's longest one.
fn split(batches: &[Vec<Operation>], max: usize) -> Vec<Vec<Operation>> {
    batches.iter().flat_map(|batch| batch.chunks(max)).map(<[Operation]>::to_vec).collect()
}

/// Runs a test on many drawn cases.
fn check<T: Debug>(cases: impl Strategy<Value = T>, test: impl Fn(T)) {
    check_cases(Config::default().cases, cases, test);
}

/// Runs a test that takes long on a few drawn cases, an eighth of the usual number.
fn check_few<T: Debug>(cases: impl Strategy<Value = T>, test: impl Fn(T)) {
    check_cases(Config::default().cases.div_ceil(8), cases, test);
}

fn check_cases<T: Debug>(cases_drawn: u32, cases: impl Strategy<Value = T>, test: impl Fn(T)) {
    let config = Config { source_file: Some(file!()), cases: cases_drawn, ..Config::default() };
    let outcome = TestRunner::new(config).run(&cases, |case| {
        test(case);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
