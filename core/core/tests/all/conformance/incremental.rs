//! A scheme whose changes are written down one by one can be resumed from them.

use super::delta_copy::DeltaCopy;
use super::parameters::SchemeParameters;
use super::runs::{assert_alike, read_whatever_comes, run};
use super::snapshots::bytes;
use super::{Scheme, check, split};
use crate::model::setup::{batches, rng};
use ameles_core::oram::Oram;
use ameles_core::snapshot::incremental::IncrementalSnapshot;
use ameles_core::testing::{ArrayModel, TraceStore, TraceStoreError};
use proptest::prelude::*;
use proptest::sample::Index;
use rand_chacha::ChaCha8Rng;
use std::rc::Rc;

impl<P, O> Scheme<P, O>
where
    P: SchemeParameters,
    O: IncrementalSnapshot<ChaCha8Rng, Store = Rc<TraceStore>, Parameters = P>
        + Oram<Error = TraceStoreError>,
{
    /// Checks the promises of a scheme whose changes are written down.
    pub(crate) fn conforms_with_changes(&self) {
        self.goes_on_from_its_changes();
        self.survives_any_written_word();
    }

    /// A scheme that is resumed from its written changes equals the one that continued.
    fn goes_on_from_its_changes(&self) {
        let cases =
            self.with(|capacity| (batches(capacity), batches(capacity), any::<[u64; 2]>(), 1usize..8));
        check(cases, |(parameters, (before, after, seeds, every))| {
            let (oram, store) = self.new_oram(&parameters, seeds[0]);
            let [before, after] = [before, after].map(|batches| split(&batches, oram.max_batch()));
            let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
            let mut delta_copy = DeltaCopy::begin(&oram, &parameters);
            for batches in before.chunks(every) {
                run(&oram, &mut model, batches);
                delta_copy.write(&oram);
            }
            let copy = self.store(&parameters);
            copy.set_contents(&store.contents());
            let random = rng(seeds[1]);
            let resumed = delta_copy.resume(parameters, (Rc::clone(&copy), random), |_| {});
            let Ok(other): Result<O, _> = resumed else { panic!("a sound state was refused") };
            assert_eq!(bytes(&other), bytes(&oram));
            oram.reseed(rng(seeds[1]));
            assert_alike((&oram, &store), (&other, &copy), model, &after);
        });
    }

    /// A written word that was changed is refused or resumed from, and never makes the scheme panic.
    fn survives_any_written_word(&self) {
        let cases = self.with(|capacity| (batches(capacity), any::<u64>(), any::<Index>(), 1u32..));
        check(cases, |(parameters, (batches, seed, at, change))| {
            let (oram, store) = self.new_oram(&parameters, seed);
            let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
            let mut delta_copy = DeltaCopy::begin(&oram, &parameters);
            run(&oram, &mut model, &split(&batches, oram.max_batch()));
            delta_copy.write(&oram);
            let corrupt = |words: &mut Vec<u32>| {
                if !words.is_empty() {
                    let at = at.index(words.len());
                    words[at] ^= change;
                }
            };
            let resumed: Result<O, _> = delta_copy.resume(parameters, (store, rng(seed)), corrupt);
            if let Ok(oram) = resumed {
                read_whatever_comes(&oram);
            }
        });
    }
}
