//! Guessers of the secret, 1 or 2, from a transcript.

use crate::victim::{HISTORY_FAULTS, Transcript};
use std::collections::{BTreeMap, BTreeSet};

/// The rule that wins under plain paging, in which a slot is a page. Of pages 1 and 2, the one that is evicted first
/// was used first.
pub(crate) fn first_evicted(transcript: &Transcript) -> u64 {
    let slots = transcript[HISTORY_FAULTS..].iter().flatten();
    slots.copied().find(|slot| [1, 2].contains(slot)).unwrap_or(1)
}

/// Features that a guesser may learn from: which slot changed at which fault, how many did, and in how many slots any
/// two faults agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feature {
    Changed(usize, u64),
    Count(usize, usize),
    Common(usize, usize, usize),
}

fn features(transcript: &Transcript) -> BTreeSet<Feature> {
    let mut features = BTreeSet::new();
    for (fault, slots) in transcript.iter().enumerate() {
        features.extend(slots.iter().map(|slot| Feature::Changed(fault, *slot)));
        features.insert(Feature::Count(fault, slots.len()));
        for (before, others) in transcript[..fault].iter().enumerate() {
            let common = slots.iter().filter(|slot| others.contains(slot)).count();
            features.insert(Feature::Common(before, fault, common));
        }
    }
    features
}

/// A naive Bayes classifier over these features.
pub(crate) struct NaiveBayes {
    /// The log likelihood ratios of secret 1 for each feature: the first if the feature is present, the second if it is
    /// absent.
    weights: BTreeMap<Feature, (f64, f64)>,
}

impl NaiveBayes {
    /// Trains the classifier with runs whose secret is known.
    pub(crate) fn train(runs: &[(u64, Transcript)]) -> Self {
        let mut counts: BTreeMap<Feature, [f64; 2]> = BTreeMap::new();
        let mut runs_of = [0.0; 2];
        for (secret, transcript) in runs {
            let class = (*secret - 1) as usize;
            runs_of[class] += 1.0;
            for feature in features(transcript) {
                counts.entry(feature).or_default()[class] += 1.0;
            }
        }
        let weigh = |seen: [f64; 2]| {
            let share = |class: usize| (seen[class] + 1.0) / (runs_of[class] + 2.0);
            let (one, two) = (share(0), share(1));
            ((one / two).ln(), ((1.0 - one) / (1.0 - two)).ln())
        };
        NaiveBayes { weights: counts.into_iter().map(|(feature, seen)| (feature, weigh(seen))).collect() }
    }

    /// The likelier secret.
    pub(crate) fn guess(&self, transcript: &Transcript) -> u64 {
        let seen = features(transcript);
        let says = |(feature, (present, absent)): (&Feature, &(f64, f64))| {
            if seen.contains(feature) { *present } else { *absent }
        };
        let for_one: f64 = self.weights.iter().map(says).sum();
        if for_one > 0.0 { 1 } else { 2 }
    }
}
