//! Traces of vaults whose scheme draws wrongly, made from sound traces. The vault seeds its scheme's randomness itself,
//! so a test cannot make it draw wrongly there.

use super::flaws::Flaw;
use crate::support::intercepted::Request;
use crate::support::recorder::{TimedEvent, TraceEvent};
use crate::support::rng::TestRng;
use ameles_core::schemes::ring::RingParameters;
use ameles_core::store::Place;
use ameles_core::types::{Bucket, Version};
use std::collections::{BTreeMap, BTreeSet};

/// The percentage of accesses that read the first unread slot of a bucket, for [`Flaw::FirstSlotSometimes`].
const FIRST: u64 = 3;
/// The number of unread slots at which a bucket may have no dummy left, for [`Flaw::FirstSlotOfFew`].
const FEW: usize = 4;

/// The slots of a bucket that were read since it was written, from the one the vault requested to the one in the
/// altered trace.
type Shown = BTreeMap<u32, u32>;

/// Redraws the slots of a trace, so that those of accesses have this flaw. Repeated reads show the same slots again.
pub fn redraw_slots(trace: &mut [TimedEvent], ring: &RingParameters, flaw: Flaw, seed: u64) {
    let layout = ring.layout();
    let mut rng = TestRng::of(seed);
    let mut shown: BTreeMap<(Bucket, Version), Shown> = BTreeMap::new();
    for (_, event) in trace {
        let TraceEvent::Asks { request: Request::Read(places), .. } = event else { continue };
        let kept = fraction(&mut rng);
        for here in places.chunk_by_mut(|one, other| one.slot.bucket == other.slot.bucket) {
            // Off-line work reads several slots of a bucket, and draws correctly.
            let is_access = here.len() == 1;
            for place in here.iter_mut() {
                let of_bucket = shown.entry((place.slot.bucket, place.version)).or_default();
                let slots = layout.extent(place.slot.bucket).slots;
                let sound = fraction(&mut rng);
                let at = match flaw {
                    // One slot of four represents those that hold blocks.
                    Flaw::OneDraw if is_access && !rng.percent(25) => kept,
                    Flaw::FirstSlotSometimes if is_access && rng.percent(FIRST) => 0.0,
                    Flaw::FirstSlotOfFew if is_access && slots as usize - of_bucket.len() <= FEW => 0.0,
                    _ => sound,
                };
                place.slot.index = show(of_bucket, place, slots, at);
            }
            here.sort_unstable_by_key(|place| place.slot.index);
        }
    }
}

fn fraction(rng: &mut TestRng) -> f64 {
    rng.below(1 << 30) as f64 / f64::from(1 << 30)
}

/// Returns the altered slot for an index in a bucket. Of the slots that were not read yet, it is the one at this
/// fraction of their number.
fn show(of_bucket: &mut Shown, place: &Place, slots: u32, at: f64) -> u32 {
    let unread: Vec<u32> = (0..slots).filter(|slot| of_bucket.values().all(|shown| shown != slot)).collect();
    let new = unread.get((at * unread.len() as f64) as usize).copied().unwrap_or(place.slot.index);
    *of_bucket.entry(place.slot.index).or_insert(new)
}

/// Counts the slots that the accesses of a trace read in the bucket of the first leaf.
pub fn paths_of_first_leaf(trace: &[TimedEvent], ring: &RingParameters) -> usize {
    let first = Bucket((1 << ring.leaf_level.0) - (1 << ring.top.0));
    let mut read = BTreeSet::new();
    for (_, event) in trace {
        let TraceEvent::Asks { request: Request::Read(places), .. } = event else { continue };
        let of_first: Vec<_> = places.iter().filter(|place| place.slot.bucket == first).collect();
        // Off-line work reads one slot for each block that the bucket can hold.
        if of_first.len() < ring.leaf.blocks as usize {
            read.extend(of_first.iter().map(|place| (place.version, place.slot)));
        }
    }
    read.len()
}
