//! The trace that OPAM would show if it were oblivious. Each access would read a uniform path, with one uniform slot of
//! each of its buckets, and write the same slots. OPAM does not: its slots are not uniform.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, Pick, ShownLeaf, ensure, ensure_idle};
use crate::schemes::opam::OpamParameters;
use crate::types::Bucket;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The observer of an OPAM from its first access on. `Snapshot` sees the slots that were written, `Full` those that
/// were read before as well.
pub fn observer(parameters: &OpamParameters, adversary: Adversary, seed: u64) -> Box<dyn Observer> {
    Box::new(OpamObserver {
        leaf_level: parameters.leaf_level.0,
        slots: parameters.slots_per_bucket.into(),
        adversary,
        random: ChaCha8Rng::seed_from_u64(seed),
        due: 0,
        accesses: 0,
        read: None,
        last: BTreeMap::new(),
        observations: Observations::default(),
    })
}

struct OpamObserver {
    leaf_level: u32,
    slots: u64,
    adversary: Adversary,
    random: ChaCha8Rng,
    /// The number of accesses of the batch in flight that have not been seen to write.
    due: usize,
    accesses: usize,
    /// The slots that the access in flight has read.
    read: Option<Vec<Bucket>>,
    /// The slot that was chosen last in each node of the tree, with the number that the judge made of it.
    last: BTreeMap<u64, (u64, f64)>,
    observations: Observations,
}

impl OpamObserver {
    /// Records leaf and choices of a path: one slot of each of its nodes, root side first.
    fn choices(&mut self, chosen: &[Bucket]) -> Result<(), String> {
        ensure(chosen.len() == self.leaf_level as usize + 1, || format!("{} slots of a path", chosen.len()))?;
        let first_leaf = (1u64 << self.leaf_level) - 1;
        let node = |bucket: &Bucket| bucket.0 / self.slots;
        let leaf = chosen.last().map_or(0, node).checked_sub(first_leaf);
        let leaf = leaf.ok_or_else(|| String::from("the last slot is not a leaf's"))?;
        self.observations.leaves.push(ShownLeaf { access: Some(self.accesses), leaf });
        for (level, bucket) in (0..).zip(chosen) {
            let due = (1u64 << level) - 1 + (leaf >> (self.leaf_level - level));
            let (node, slot) = (bucket.0 / self.slots, bucket.0 % self.slots);
            ensure(node == due, || format!("a slot of node {node}, due was one of {due}"))?;
            let at = (slot as usize, self.slots as usize);
            let mut pick = Pick::of(&mut self.random, Some(self.accesses), level, at, None);
            let before = self.last.insert(node, (slot, pick.value));
            self.observations.add(
                "slots that come again at once",
                u64::from(before.is_some_and(|(last, _)| last == slot)),
            );
            pick.before = before.map(|(_, value)| value);
            self.observations.picks.push(pick);
        }
        self.accesses += 1;
        Ok(())
    }
}

impl Observer for OpamObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => ensure_idle(*pending_steps, *must_step),
            Event::AccessBegins(accesses) => {
                self.due = *accesses;
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Read(_))
                if self.adversary == Adversary::Snapshot =>
            {
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Read(slots)) => {
                ensure(self.read.is_none() && self.due > 0, || String::from("a read too many"))?;
                let read: Vec<Bucket> = slots.iter().map(|slot| slot.bucket).collect();
                self.choices(&read)?;
                self.read = Some(read);
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Write(buckets)) => {
                ensure(self.due > 0, || String::from("a write too many"))?;
                self.due -= 1;
                match self.adversary {
                    Adversary::Full => ensure(self.read.take().as_ref() == Some(buckets), || {
                        format!("wrote {buckets:?}, which is not what was read")
                    }),
                    Adversary::Snapshot => self.choices(buckets),
                }
            }
            Event::StoreRequest(Work::Step(_), entry) => Err(format!("a step asked for {entry:?}")),
            Event::Ends(Work::Access) => {
                ensure(self.due == 0, || format!("the batch ended {} accesses early", self.due))
            }
            _ => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
