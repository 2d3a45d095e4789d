//! `avl_tree`: random insertions and deletions in a balanced tree on the heap. Represents common data structures.

mod map;

pub use map::Map;

use crate::checksum::Checksum;
use crate::random::Random;

/// The amount of change to the tree.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of insertions and deletions together; each with probability 1/2.
    pub changes: u32,
    /// The number of possible keys. Soon about half of the drawn keys are in the tree.
    pub keys: u32,
    /// The seed of the keys and of the choices between insertion and deletion.
    pub seed: u64,
}

/// Entries left in the tree, its height, and a sum over the results of all changes and the entries left.
pub fn run(size: &Size) -> String {
    let mut random = Random::new(size.seed);
    let mut map = Map::new();
    let mut sum = Checksum::new();
    for number in 1..=u64::from(size.changes) {
        let key = u64::from(random.below(size.keys));
        let before = if random.coin() { map.insert(key, number) } else { map.remove(key) };
        sum.add(before.unwrap_or(0));
    }
    map.for_each(|key, value| {
        sum.add(key);
        sum.add(value);
    });
    format!("{} {} {sum}", map.len(), map.height())
}
