//! The order of the trees whose paths are shown: public, and the same for every program.

/// A tree of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tree {
    /// The tree that has all blocks.
    Main,
    /// The small tree of ρ.
    Small,
}

/// A number of paths of the small tree, one of the main tree, and so on. Without a small tree, all are of the main
/// tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    /// The number of paths of the small tree for one of the main tree.
    small: u32,
    /// The number of paths of the small tree since the last one of the main tree.
    done: u32,
}

impl Pattern {
    /// The pattern of `small` paths of the small tree for one of the main tree.
    pub(crate) fn new(small: u32) -> Self {
        Pattern { small, done: 0 }
    }

    /// The tree of the next path.
    pub(crate) fn tree(self) -> Tree {
        if self.done < self.small { Tree::Small } else { Tree::Main }
    }

    /// Continues to the next turn.
    pub(crate) fn pass(&mut self) {
        self.done = (self.done + 1) % (self.small + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_of_the_main_tree_follows_a_number_of_the_small_one() {
        let trees = |small| {
            let mut pattern = Pattern::new(small);
            [(); 7].map(|()| {
                let tree = pattern.tree();
                pattern.pass();
                if tree == Tree::Main { 'M' } else { 's' }
            })
        };
        assert_eq!(trees(2).iter().collect::<String>(), "ssMssMs");
        assert_eq!(trees(0).iter().collect::<String>(), "MMMMMMM");
    }
}
