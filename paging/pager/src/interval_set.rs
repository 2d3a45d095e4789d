//! A set of numbers (addresses, pages), stored as runs. Two runs never overlap and are never adjacent. Inserting what
//! is in the set, or removing what is not, changes nothing.

use std::collections::BTreeMap;
use std::ops::Range;

/// The set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalSet {
    /// The end of each run, by its first number.
    ends: BTreeMap<usize, usize>,
}

impl IntervalSet {
    /// A set of one run.
    pub fn of(run: Range<usize>) -> Self {
        let mut runs = IntervalSet::default();
        runs.insert(run);
        runs
    }

    /// Inserts a run.
    pub fn insert(&mut self, run: Range<usize>) {
        if run.is_empty() {
            return;
        }
        let Range { mut start, mut end } = run;
        if let Some((&before, &its_end)) = self.ends.range(..=start).next_back()
            && its_end >= start
        {
            (start, end) = (before, end.max(its_end));
        }
        while let Some((&next, &its_end)) = self.ends.range(start..=end).next() {
            self.ends.remove(&next);
            end = end.max(its_end);
        }
        self.ends.insert(start, end);
    }

    /// Removes a run.
    pub fn remove(&mut self, run: Range<usize>) {
        if run.is_empty() {
            return;
        }
        if let Some((&before, &its_end)) = self.ends.range(..run.start).next_back()
            && its_end > run.start
        {
            self.ends.insert(before, run.start);
            if its_end > run.end {
                self.ends.insert(run.end, its_end);
            }
        }
        while let Some((&next, &its_end)) = self.ends.range(run.clone()).next() {
            self.ends.remove(&next);
            if its_end > run.end {
                self.ends.insert(run.end, its_end);
            }
        }
    }

    /// Removes the first `len` consecutive numbers. Returns `None` if no run is that long or `len` is 0.
    pub fn take(&mut self, len: usize) -> Option<usize> {
        if len == 0 {
            return None;
        }
        let (&start, &end) = self.ends.iter().find(|(start, end)| *end - *start >= len)?;
        self.ends.remove(&start);
        if end - start > len {
            self.ends.insert(start + len, end);
        }
        Some(start)
    }

    /// Removes a run of `len` consecutive numbers. If no run is that long, removes the whole first run. Returns `None`
    /// if the set is empty or `len` is 0.
    pub fn take_at_most(&mut self, len: usize) -> Option<Range<usize>> {
        let start = match self.take(len) {
            Some(start) => return Some(start..start + len),
            None if len == 0 => return None,
            None => *self.ends.first_key_value()?.0,
        };
        self.ends.remove(&start).map(|end| start..end)
    }

    /// The parts of a run that are in the set, in order.
    pub fn within(&self, run: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let before = self.ends.range(..run.start).next_back();
        // A run that ends before it begins is empty.
        let from_here = self.ends.range(run.start..run.end.max(run.start));
        before.into_iter().chain(from_here).filter_map(move |(&start, &end)| {
            let part = start.max(run.start)..end.min(run.end);
            (!part.is_empty()).then_some(part)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const NUMBERS: usize = 64;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(Range<usize>),
        Remove(Range<usize>),
        Take(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let run = || (0..NUMBERS, 0..=NUMBERS).prop_map(|(start, end)| start..end);
        prop_oneof![
            run().prop_map(Step::Insert),
            run().prop_map(Step::Remove),
            (0..12_usize).prop_map(Step::Take),
        ]
    }

    /// The first numbers of a model's runs of at least that length.
    fn first_of(model: &BTreeSet<usize>, len: usize) -> Option<usize> {
        (0..NUMBERS).find(|start| (*start..start + len).all(|number| model.contains(&number)))
    }

    proptest! {
        #[test]
        fn runs_are_the_set_of_their_numbers(steps in prop::collection::vec(step(), 1..60), asked in (0..NUMBERS, 0..NUMBERS)) {
            let (mut runs, mut model) = (IntervalSet::default(), BTreeSet::new());
            for step in steps {
                match step {
                    Step::Insert(run) => {
                        runs.insert(run.clone());
                        model.extend(run);
                    }
                    Step::Remove(run) => {
                        runs.remove(run.clone());
                        model.retain(|number| !run.contains(number));
                    }
                    Step::Take(len) => {
                        let taken = runs.take(len);
                        prop_assert_eq!(taken, (len > 0).then(|| first_of(&model, len)).flatten());
                        if let Some(taken) = taken {
                            model.retain(|number| !(taken..taken + len).contains(number));
                        }
                    }
                }
                let all: Vec<usize> = runs.within(0..usize::MAX).flatten().collect();
                prop_assert_eq!(&all, &model.iter().copied().collect::<Vec<_>>());
                prop_assert!(runs.ends.iter().zip(runs.ends.iter().skip(1)).all(|(one, next)| one.1 < next.0));
            }
            let asked = asked.0..asked.1;
            let within: Vec<usize> = runs.within(asked.clone()).flatten().collect();
            prop_assert_eq!(within, model.iter().copied().filter(|number| asked.contains(number)).collect::<Vec<_>>());
        }
    }
}
