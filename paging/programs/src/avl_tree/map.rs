//! A map from numbers to numbers as an AVL tree (Adelson-Velsky and Landis 1962), one heap allocation an entry.

use std::cmp::Ordering;

/// The heights of the two subtrees of any entry differ by at most one.
#[derive(Debug, Default)]
pub struct Map {
    root: Link,
    len: usize,
}

type Link = Option<Box<Node>>;

#[derive(Debug)]
struct Node {
    key: u64,
    value: u64,
    left: Link,
    right: Link,
    height: u8,
}

impl Map {
    /// A map without entries.
    pub fn new() -> Self {
        Map::default()
    }

    /// Returns the number of entries in the map.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of entries on the longest way down.
    pub fn height(&self) -> u8 {
        height(&self.root)
    }

    /// Sets the value of `key` and returns the one it had.
    pub fn insert(&mut self, key: u64, value: u64) -> Option<u64> {
        let before = insert(&mut self.root, key, value);
        self.len += usize::from(before.is_none());
        before
    }

    /// Takes `key` out and returns the value it had.
    pub fn remove(&mut self, key: u64) -> Option<u64> {
        let before = remove(&mut self.root, key);
        self.len -= usize::from(before.is_some());
        before
    }

    /// Calls `visit` with every key and its value, in the order of the keys.
    pub fn for_each(&self, mut visit: impl FnMut(u64, u64)) {
        for_each(&self.root, &mut visit);
    }
}

fn height(link: &Link) -> u8 {
    link.as_ref().map_or(0, |node| node.height)
}

fn insert(link: &mut Link, key: u64, value: u64) -> Option<u64> {
    let Some(node) = link else {
        *link = Some(Box::new(Node { key, value, left: None, right: None, height: 1 }));
        return None;
    };
    let child = match key.cmp(&node.key) {
        Ordering::Less => &mut node.left,
        Ordering::Greater => &mut node.right,
        Ordering::Equal => return Some(std::mem::replace(&mut node.value, value)),
    };
    let height_before = height(child);
    let before = insert(child, key, value);
    // If the height is as before, nothing changes further up, and the other child is not read.
    if height(child) != height_before {
        rebalance(link);
    }
    before
}

fn remove(link: &mut Link, key: u64) -> Option<u64> {
    let node = link.as_mut()?;
    let child = match key.cmp(&node.key) {
        Ordering::Less => &mut node.left,
        Ordering::Greater => &mut node.right,
        Ordering::Equal => {
            let node = link.take()?;
            let value = node.value;
            *link = join(node.left, node.right);
            return Some(value);
        }
    };
    let height_before = height(child);
    let before = remove(child, key);
    if height(child) != height_before {
        rebalance(link);
    }
    before
}

/// Joins the two subtrees of an entry that is gone into a single tree.
fn join(left: Link, mut right: Link) -> Link {
    let Some(mut min) = take_least(&mut right) else { return left };
    min.left = left;
    min.right = right;
    let mut joined = Some(min);
    rebalance(&mut joined);
    joined
}

fn take_least(link: &mut Link) -> Link {
    let node = link.as_mut()?;
    if node.left.is_some() {
        let height_before = height(&node.left);
        let min = take_least(&mut node.left);
        if height(&node.left) != height_before {
            rebalance(link);
        }
        return min;
    }
    let rest = node.right.take();
    std::mem::replace(link, rest)
}

/// Restores the balance and the height of the topmost node, whose subtrees are in order and differ by two at most.
fn rebalance(link: &mut Link) {
    let Some(node) = link else { return };
    let (left, right) = (height(&node.left), height(&node.right));
    if left > right + 1 {
        if node.left.as_ref().is_some_and(|child| height(&child.right) > height(&child.left)) {
            rotate_left(&mut node.left);
        }
        rotate_right(link);
    } else if right > left + 1 {
        if node.right.as_ref().is_some_and(|child| height(&child.left) > height(&child.right)) {
            rotate_right(&mut node.right);
        }
        rotate_left(link);
    } else {
        node.height = 1 + left.max(right);
    }
}

/// The left child becomes the top.
fn rotate_right(link: &mut Link) {
    let Some(mut top) = link.take() else { return };
    let Some(mut child) = top.left.take() else { unreachable!("the higher side has a node") };
    top.left = child.right.take();
    top.height = 1 + height(&top.left).max(height(&top.right));
    child.height = 1 + height(&child.left).max(top.height);
    child.right = Some(top);
    *link = Some(child);
}

/// The right child becomes the top.
fn rotate_left(link: &mut Link) {
    let Some(mut top) = link.take() else { return };
    let Some(mut child) = top.right.take() else { unreachable!("the higher side has a node") };
    top.right = child.left.take();
    top.height = 1 + height(&top.left).max(height(&top.right));
    child.height = 1 + height(&child.right).max(top.height);
    child.left = Some(top);
    *link = Some(child);
}

fn for_each(link: &Link, visit: &mut impl FnMut(u64, u64)) {
    if let Some(node) = link {
        for_each(&node.left, visit);
        visit(node.key, node.value);
        for_each(&node.right, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The height, after a check of everything below.
    fn checked_height(link: &Link) -> u8 {
        let Some(node) = link else { return 0 };
        let (left, right) = (checked_height(&node.left), checked_height(&node.right));
        assert!(left.abs_diff(right) <= 1, "heights {left} and {right} below key {}", node.key);
        assert_eq!(node.height, 1 + left.max(right), "the height kept at key {}", node.key);
        node.height
    }

    fn entries(map: &Map) -> Vec<(u64, u64)> {
        let mut entries = Vec::new();
        map.for_each(|key, value| entries.push((key, value)));
        entries
    }

    proptest! {
        #[test]
        fn is_balanced_and_agrees_with_a_btreemap_after_every_change(
            changes in prop::collection::vec((0u64..64, any::<bool>()), 0..400),
        ) {
            let (mut map, mut model) = (Map::new(), BTreeMap::new());
            for (number, (key, insert)) in (0..).zip(changes) {
                if insert {
                    prop_assert_eq!(map.insert(key, number), model.insert(key, number));
                } else {
                    prop_assert_eq!(map.remove(key), model.remove(&key));
                }
                checked_height(&map.root);
                prop_assert_eq!(map.len(), model.len());
                prop_assert_eq!(map.is_empty(), model.is_empty());
                prop_assert_eq!(entries(&map), model.iter().map(|(&k, &v)| (k, v)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn sorted_keys_do_not_make_it_deep() {
        let mut map = Map::new();
        (0..100_000).for_each(|key| assert_eq!(map.insert(key, key), None));
        assert_eq!(checked_height(&map.root), 17);
        // From either end towards the middle, each of which leans on one side's rotations alone.
        for key in 0..50_000 {
            assert_eq!(map.remove(key), Some(key));
            assert_eq!(map.remove(99_999 - key), Some(99_999 - key));
            if key % 1000 == 0 {
                checked_height(&map.root);
            }
        }
        assert!(map.is_empty() && map.height() == 0);
    }
}
