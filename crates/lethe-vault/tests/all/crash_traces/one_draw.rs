//! The trace of a vault whose scheme draws one number for all the dummies of a batch, made out of a sound one's: the
//! vault seeds its scheme's randomness itself, so that a test cannot spoil it there.

use crate::support::chance::Chance;
use crate::support::recorder::{Moment, Request, Timed};
use lethe_core::schemes::ring::RingParameters;
use lethe_core::store::Place;
use lethe_core::words::{Bucket, Version};
use std::collections::BTreeMap;

/// The slots of a bucket that were read since it was written: as the vault asked, and as they show.
type Shown = BTreeMap<u32, u32>;

/// Lets every read of a batch show slots at one place of their buckets, but for one slot of four, which stands for those
/// that hold blocks. What is repeated shows the same again.
pub fn draw_once(trace: &mut [Timed], ring: &RingParameters, seed: u64) {
    let layout = ring.layout();
    let mut chance = Chance::of(seed);
    let mut shown: BTreeMap<(Bucket, Version), Shown> = BTreeMap::new();
    for (_, moment) in trace {
        let Moment::Asks { request: Request::Read(places), .. } = moment else { continue };
        let kept = fraction(&mut chance);
        for here in places.chunk_by_mut(|one, other| one.slot.bucket == other.slot.bucket) {
            // Off-line work takes several slots of a bucket, and draws as it should.
            let is_access = here.len() == 1;
            for place in here.iter_mut() {
                let of_bucket = shown.entry((place.slot.bucket, place.version)).or_default();
                let deviates = !is_access || chance.percent(25);
                let at = if deviates { fraction(&mut chance) } else { kept };
                place.slot.index = show(of_bucket, place, layout.extent(place.slot.bucket).slots, at);
            }
            here.sort_unstable_by_key(|place| place.slot.index);
        }
    }
}

fn fraction(chance: &mut Chance) -> f64 {
    chance.below(1 << 30) as f64 / f64::from(1 << 30)
}

/// The slot that shows for a place of a bucket: at this fraction of those that were not read yet.
fn show(of_bucket: &mut Shown, place: &Place, slots: u32, at: f64) -> u32 {
    let unread: Vec<u32> = (0..slots).filter(|slot| of_bucket.values().all(|shown| shown != slot)).collect();
    let new = unread.get((at * unread.len() as f64) as usize).copied().unwrap_or(place.slot.index);
    *of_bucket.entry(place.slot.index).or_insert(new)
}
