//! The leaf that a block shows first after all positions were drawn again, against the leaf that it had in the restored
//! checkpoint. If the block was accessed after that checkpoint, the store has seen this leaf.

use ameles_core::testing::oblivious::statistics::not_too_many;
use ameles_core::testing::oblivious::{Finding, Observer, Trial};
use ameles_core::testing::{Event, Operation};
use std::collections::BTreeMap;

/// The counts of such leaves.
#[derive(Debug, Default)]
pub struct RedrawnLeaves {
    pub all: u64,
    same: u64,
}

/// The accesses of a block that have drawn a leaf: their places among all accesses, and the leaves that they showed.
type Shown = BTreeMap<u64, Vec<(usize, u64)>>;

impl RedrawnLeaves {
    /// Adds a lifecycle.
    ///
    /// # Errors
    /// A deviation from the schedule.
    pub fn add(&mut self, trial: &Trial, observer: &mut dyn Observer) -> Result<(), String> {
        // The first accesses that restored checkpoints do not have, and the first ones after the restores.
        let mut redraws = Vec::new();
        let (mut begun, mut counted) = (0, 0);
        for event in &trial.events {
            observer.observe(event)?;
            match event {
                Event::AccessBegins(accesses) => {
                    begun += accesses;
                    counted += *accesses as u64;
                }
                Event::Redraws { accesses, .. } => {
                    redraws.push((begun - counted.saturating_sub(*accesses) as usize, begun));
                    counted = *accesses;
                }
                _ => {}
            }
        }
        let leaves = observer.observations().leaves.iter();
        let leaves: BTreeMap<usize, u64> = leaves.filter_map(|it| Some((it.access?, it.leaf))).collect();
        for shown in chains(&trial.operations, &leaves).values() {
            for (nth, (since, until)) in redraws.iter().enumerate() {
                let end = redraws.get(nth + 1).map_or(usize::MAX, |next| next.1);
                let before = &shown[..shown.partition_point(|(access, _)| access < until)];
                let old = before.iter().find(|(access, _)| access >= since).or(before.last());
                let new = shown.get(before.len()).filter(|(access, _)| *access < end);
                if let (Some((_, old)), Some((_, new))) = (old, new) {
                    self.all += 1;
                    self.same += u64::from(old == new);
                }
            }
        }
        Ok(())
    }

    /// Tests whether more of them are the same than chance makes them.
    pub fn judge(&self, leaves: u64) -> Finding {
        let name = "both: first leaves after a redraw that are those before it".to_owned();
        not_too_many(name, self.all, self.all as f64 / leaves as f64, self.same)
    }
}

/// The accesses of each block. A repeat within a batch shows any leaf.
fn chains(batches: &[Vec<Operation>], leaves: &BTreeMap<usize, u64>) -> Shown {
    let mut chains = Shown::new();
    let mut begin = 0;
    for batch in batches {
        for (nth, operation) in batch.iter().enumerate() {
            let (Operation::Read(block) | Operation::Write(block, _)) = operation else { continue };
            let of_block = chains.entry(block.0).or_default();
            let is_repeat = of_block.last().is_some_and(|(access, _)| *access >= begin);
            if let Some(leaf) = leaves.get(&(begin + nth)).filter(|_| !is_repeat) {
                of_block.push((begin + nth, *leaf));
            }
        }
        begin += batch.len();
    }
    chains
}
