//! Pseudocode 1 of Chakravarty and Panda (2021) as an attack on real regions. A program uses two pages. Their order is
//! its secret: order 1 or order 2. In both orders it faults equally often, but another page is evicted first. A guesser
//! that compares snapshots of the untrusted memory from fault to fault guesses.
//!
//! The paper has three pages resident, and evicts the least recently used. Second chance, with one page unmapped,
//! does the same here; first in, first out reveals the secret one pass later.
//!
//! **The statistics.** A guesser guesses fresh runs, each in its own region under its own key. The secrets of the runs
//! are independent fair coins. If the transcript reveals nothing, the number of right guesses is binomial with 1/2. A
//! test alarms if the two-sided tail of this distribution is below 2^-32. The tail is exact at every number of runs.
//! All tests together, fewer than 64, give a false alarm with a probability below 2^-26. [`TRIALS`] and
//! [`RANDOM_TRIALS`] say which guessers are detected.

mod guessing;
mod victim;

use ameles_core::testing::oblivious::ALARM_LOG2;
use ameles_core::testing::oblivious::statistics::{Finding, fair_signs};
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::scheme::Scheme;
use guessing::{NaiveBayes, first_evicted};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use statrs::distribution::{Binomial, DiscreteCDF};
use std::collections::BTreeSet;
use victim::{PagingSetup, Transcript};

/// The number of runs that are guessed under schemes without randomness. A guesser that is right four times of five is
/// missed with a probability of 2^-12.
const TRIALS: usize = 256;

/// The number of runs under a scheme with randomness: a guesser that is right two times of three is missed with 2^-16.
const RANDOM_TRIALS: usize = 1024;

/// The number of runs with known secrets that a guesser is trained with.
const TRAINING_RUNS: usize = 64;

/// Training runs if every run differs.
const RANDOM_TRAINING_RUNS: usize = 512;

/// Each policy with the trap under which it reveals the secret. With a handler thread, a page may be used again before
/// it is unmapped, and then that use does not count.
const POLICIES: [(Policy, FaultHandling); 2] = [
    (Policy::SecondChance { unmapped: 1 }, FaultHandling::InThread),
    (Policy::Fifo, FaultHandling::HandlerThread),
];

fn paged(scheme: Scheme, second_process: bool) -> impl Iterator<Item = PagingSetup> {
    POLICIES.into_iter().map(move |(policy, fault_handling)| PagingSetup {
        scheme,
        second_process,
        policy,
        fault_handling,
    })
}

/// Runs with random secrets.
fn runs(paged: PagingSetup, count: usize, seed: u64) -> Vec<(u64, Transcript)> {
    let mut coin = ChaCha12Rng::seed_from_u64(seed);
    let run = |_| {
        let secret = 1 + coin.next_u64() % 2;
        (secret, paged.run(secret))
    };
    (0..count).map(run).collect()
}

/// The right guesses of each guesser: by the rule that wins under plain paging, and by what it has learned.
fn right_guesses(training: &[(u64, Transcript)], trials: &[(u64, Transcript)]) -> [(&'static str, usize); 2] {
    let trained = NaiveBayes::train(training);
    let right = |guess: &dyn Fn(&Transcript) -> u64| {
        trials.iter().filter(|(secret, transcript)| guess(transcript) == *secret).count()
    };
    [("first evicted", right(&first_evicted)), ("trained", right(&|transcript| trained.guess(transcript)))]
}

/// Compares the right guesses with those of a fair coin in as many trials.
fn chance_finding(name: String, right: usize, trials: usize) -> Finding {
    let guesses = (0..trials).map(|guess| if guess < right { (1.0, 0.0) } else { (0.0, 1.0) });
    fair_signs(name, guesses)
}

fn assert_chance(paged: PagingSetup, training: &[(u64, Transcript)], trials: &[(u64, Transcript)]) {
    for (guesser, right) in right_guesses(training, trials) {
        let finding = chance_finding(format!("{guesser}, {paged:?}"), right, trials.len());
        assert!(finding.log2_p >= ALARM_LOG2, "{right} of {}: {finding}", trials.len());
    }
}

#[test]
fn under_plain_paging_every_guess_is_right() {
    for paged in paged(Scheme::Plain, false) {
        let (training, trials) = (runs(paged, TRAINING_RUNS, 1), runs(paged, TRIALS, 2));
        let faults: BTreeSet<usize> = trials.iter().map(|(_, transcript)| transcript.len()).collect();
        assert_eq!(faults.len(), 1, "both secrets fault equally often");
        for (guesser, right) in right_guesses(&training, &trials) {
            assert_eq!(right, TRIALS, "{guesser}, {paged:?}");
        }
    }
}

/// All runs have the same transcript, and guesses are no better than chance.
fn assert_one_transcript(schemes: &[Scheme], second_process: bool) {
    for paged in schemes.iter().flat_map(|scheme| paged(*scheme, second_process)) {
        let (training, trials) = (runs(paged, TRAINING_RUNS, 1), runs(paged, TRIALS, 2));
        let transcripts: BTreeSet<&Transcript> = trials.iter().map(|(_, transcript)| transcript).collect();
        assert_eq!(transcripts.len(), 1, "{paged:?}");
        let changed: usize = transcripts.iter().copied().flatten().map(Vec::len).sum();
        assert!(changed > 100, "the program pages");
        assert_chance(paged, &training, &trials);
    }
}

#[test]
fn under_detworam_and_its_kin_both_secrets_show_one_transcript() {
    let kin = [Scheme::DetWoOram, Scheme::Parallel, Scheme::Eager, Scheme::EagerParallel];
    assert_one_transcript(&kin, false);
}

#[test]
fn with_a_second_process_both_secrets_show_one_transcript() {
    assert_one_transcript(&[Scheme::Parallel, Scheme::Eager, Scheme::EagerParallel], true);
}

#[test]
fn under_path_oram_guesses_are_chance() {
    for paged in paged(Scheme::Path, false) {
        let (training, trials) = (runs(paged, RANDOM_TRAINING_RUNS, 1), runs(paged, RANDOM_TRIALS, 2));
        assert_chance(paged, &training, &trials);
    }
}

#[test]
fn the_test_finds_guessers_who_are_as_often_right_as_it_says() {
    for (trials, skill, missed) in [(TRIALS, 4.0 / 5.0, 12), (RANDOM_TRIALS, 2.0 / 3.0, 16)] {
        let alarms = |right: &usize| chance_finding(String::new(), *right, trials).log2_p < ALARM_LOG2;
        let min = (trials / 2..=trials).find(alarms).expect("who is always right is found");
        let right = Binomial::new(skill, trials as u64).unwrap();
        let unseen = right.cdf(min as u64 - 1);
        assert!(unseen < f64::exp2(-f64::from(missed)), "{min} of {trials}: 2^{:.1}", unseen.log2());
    }
}
