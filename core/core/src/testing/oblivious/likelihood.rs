//! The judge of a differentially private scheme: how much likelier an event is under one sequence of requests than
//! under a neighbour. A neighbour differs in one access.
//!
//! The adversary's events are patterns: which of some accesses have shown leaves of the same subtree. In a scheme whose
//! next leaf depends only on whether it stays in the subtree, each pattern has one likelihood ratio. So the greatest
//! ratio of any event is that of a pattern. An event of another kind, such as the fill of a stash, is not looked at.

use super::judgement::Judgement;
use super::observer::Observer;
use super::run_sets::{ObservedRun, RunSet, Trial};
use super::statistics::{Finding, at_most_so_much_likelier};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

/// The events that are counted: the accesses whose leaves are compared, and the subtree of a leaf.
pub struct Patterns<'a> {
    /// The accesses, counted from the first of the run, a batch each.
    pub accesses: &'a [usize],
    /// The subtree of a leaf.
    pub subtree: &'a dyn Fn(u64) -> u64,
}

/// Judges runs of two sequences of requests that differ in one access. No pattern may be more than e^ε times as likely
/// under one sequence as under the other.
pub fn judge_likelihood(
    epsilon: f64,
    patterns: &Patterns<'_>,
    observer: impl Fn(u64) -> Box<dyn Observer>,
    one: &[Trial],
    other: &[Trial],
) -> Judgement {
    let (run_sets, mut judgement) = RunSet::look_at_both(observer, one, other);
    if judgement.passes() {
        judgement.findings.extend(compare(epsilon, patterns, &run_sets));
    }
    judgement
}

fn compare(epsilon: f64, patterns: &Patterns<'_>, [one, other]: &[RunSet; 2]) -> Vec<Finding> {
    let (of_one, of_other) = (patterns.count(one), patterns.count(other));
    let observed: BTreeSet<&Vec<usize>> = of_one.keys().chain(of_other.keys()).collect();
    let count = |counts: &BTreeMap<Vec<usize>, u64>, pattern| counts.get(pattern).copied().unwrap_or(0);
    let (n, m) = (one.runs.len() as u64, other.runs.len() as u64);
    let mut findings = Vec::new();
    for pattern in observed {
        let (a, b) = (count(&of_one, pattern), count(&of_other, pattern));
        let name = |likelier: &str| format!("likelier under {likelier}: subtrees {pattern:?}");
        findings.push(at_most_so_much_likelier(name("one"), epsilon, (a, n), (b, m)));
        findings.push(at_most_so_much_likelier(name("other"), epsilon, (b, m), (a, n)));
    }
    findings
}

impl Patterns<'_> {
    fn count(&self, run_set: &RunSet) -> BTreeMap<Vec<usize>, u64> {
        let mut counts = BTreeMap::new();
        run_set.runs.iter().for_each(|run| *counts.entry(self.of(run)).or_insert(0) += 1);
        counts
    }

    /// The pattern of a run. For each access, it has the first access whose leaf is in the same subtree. An access that
    /// shows no leaf of its own counts as a subtree of its own.
    fn of(&self, run: &ObservedRun) -> Vec<usize> {
        let leaves = run.leaf_of_access();
        let subtree = |nth: usize| leaves[self.accesses[nth]].map(self.subtree);
        let first = |nth| (0..nth).find(|other| subtree(nth).is_some() && subtree(*other) == subtree(nth));
        (0..self.accesses.len()).map(|nth| first(nth).unwrap_or(nth)).collect()
    }
}
