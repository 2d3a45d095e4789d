//! Every scheme answers like an array, for any order in which its store finishes.

use super::parameters::SchemeParameters;
use super::{Scheme, check, split};
use crate::model::setup::{Action, batches, drive, schedule};
use ameles_core::oram::Oram;
use ameles_core::testing::{TraceStoreError, exercise};
use proptest::prelude::*;

impl<P: SchemeParameters, O: Oram<Error = TraceStoreError>> Scheme<P, O> {
    /// The scheme answers like an array over a store that is ready at once, whether or not its steps are run early.
    pub(super) fn answers_like_an_array(&self) {
        let cases = self.with(|capacity| (batches(capacity), any::<u64>(), any::<bool>()));
        check(cases, |(parameters, (batches, seed, eager))| {
            let (oram, _) = self.new_oram(&parameters, seed);
            exercise(&oram, &split(&batches, oram.max_batch()), eager);
        });
    }

    /// The scheme answers like an array, for any order in which the store finishes. A replay does the same.
    pub(super) fn answers_like_an_array_in_any_order(&self) {
        let cases = self.with(|capacity| (schedule(capacity), any::<u64>()));
        check(cases, |(parameters, (actions, seed))| {
            let run = || {
                let (oram, store) = self.new_oram(&parameters, seed);
                let shorten = |action: &Action| match action {
                    Action::Access(batch) => {
                        Action::Access(batch.iter().copied().take(oram.max_batch()).collect())
                    }
                    other => other.clone(),
                };
                drive(&oram, &store, &actions.iter().map(shorten).collect::<Vec<_>>());
                (store.take_trace(), store.contents())
            };
            let (first, replay) = (run(), run());
            assert_eq!(first.0, replay.0, "a replay shows another trace");
            assert!(first.1 == replay.1, "a replay writes other contents");
        });
    }
}
