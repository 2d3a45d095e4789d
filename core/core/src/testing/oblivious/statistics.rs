//! The tests of the judge. Each returns a bound on its false alarms that holds at every sample size: no asymptotics.

pub use super::bounds::ALARM_LOG2;
use super::bounds::{log2_of_likelier, log2_of_many, log2_of_ratio};
use super::limits::{self, Limit};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, Discrete, DiscreteCDF, Hypergeometric};

/// The outcome of one test.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The name of the test, and of its subject.
    pub name: String,
    /// The statistic, for people.
    pub figure: String,
    /// The log2 of a bound on the probability that a sound scheme shows so much or more.
    pub log2_p: f64,
    /// The least deviation that it finds 99 times in 100; none if it has no draws to find one in, or finds all.
    pub limit: Option<Limit>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p <= 2^{:<8.2} {:<60} {}", self.log2_p, self.name, self.figure)?;
        self.limit.iter().try_for_each(|limit| write!(f, "; finds {limit}"))
    }
}

/// Counts of independent draws that should be uniform over the cells. The likelihood ratio G is compared with the bound
/// of Agrawal ("Finite-Sample Concentration of the Multinomial in Relative Entropy", 2020). For k cells, n times the
/// relative entropy has a moment generating function below that of a Gamma variable of shape k - 1. So `P(G/2 >= x) <=
/// e^(d - x) (x/d)^d` for `x > d = k - 1`, at every n.
///
/// The figure shows the asymptotic chi-square probability, for information only.
pub fn uniform(name: String, counts: &[u64]) -> Finding {
    uniform_rows(name, core::slice::from_ref(&counts))
}

/// Several such counts, all over as many cells, whose totals depend on nothing that is counted. The bounds on moment
/// generating functions multiply, so the degrees of freedom add up.
pub fn uniform_rows<Row: AsRef<[u64]>>(name: String, rows: &[Row]) -> Finding {
    let n: u64 = rows.iter().map(|row| row.as_ref().iter().sum::<u64>()).sum();
    let freedom: f64 = rows.iter().map(|row| row.as_ref().len() as f64 - 1.0).sum();
    let half: f64 = rows.iter().map(|row| half_ratio(row.as_ref())).sum();
    let half = half.max(0.0);
    let bound = log2_of_ratio(half, freedom);
    let asymptotic = ChiSquared::new(freedom.max(1.0)).map_or(1.0, |chi| chi.sf(2.0 * half));
    let figure =
        alloc::format!("G = {:.1}, {freedom} degrees, n = {n}, chi-square p = {asymptotic:.2e}", 2.0 * half);
    let cells = rows.first().map_or(0, |row| row.as_ref().len());
    Finding { name, figure, log2_p: bound, limit: limits::of_uniform(n, cells, freedom) }
}

/// Half the likelihood ratio of these counts to even ones.
pub(super) fn half_ratio(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let observed = counts.iter().filter(|count| **count > 0).map(|count| *count as f64);
    observed.fold(0.0, |sum, observed| sum + observed * libm::log(observed / expected))
}

/// Trials that should each succeed with at most a given probability, after any earlier ones. `observed` of `n` trials
/// did. `mean` is the sum of the probabilities. Chernoff's bound, by Hoeffding's theorem for unequal ones: `P(X >= x)
/// <= e^(-n D(x/n, mean/n))`, D the relative entropy of two coins, at every n.
pub fn not_too_many(name: String, n: u64, mean: f64, observed: u64) -> Finding {
    let figure = alloc::format!("{observed} of {n}, at most {mean:.2} expected");
    Finding { name, figure, log2_p: log2_of_many(n, mean, observed), limit: limits::of_many(n, mean) }
}

/// Two samples over the same cells. For each cell, given its count in both samples together, the count in the first is
/// hypergeometric (Fisher's exact test). The result is the smallest of the cells' two-sided probabilities, times the
/// number of cells.
pub fn homogeneous(name: String, one: &[u64], other: &[u64]) -> Finding {
    let (n, m): (u64, u64) = (one.iter().sum(), other.iter().sum());
    let mut min = 1.0f64;
    for (a, b) in one.iter().zip(other) {
        if let Ok(distribution) = Hypergeometric::new(n + m, n, a + b) {
            min = min.min(
                2.0 * tail(
                    &distribution,
                    *a,
                    n as f64 * (a + b) as f64 / (n + m) as f64,
                    support(n, m, a + b),
                ),
            );
        }
    }
    let log2_p = libm::log2(min * one.len() as f64).min(0.0);
    let figure = alloc::format!("Fisher, {} cells, n = {n} and {m}", one.len());
    Finding { name, figure, log2_p, limit: limits::of_homogeneous(n, m, one.len()) }
}

fn support(n: u64, m: u64, drawn: u64) -> (u64, u64) {
    (drawn.saturating_sub(m), drawn.min(n))
}

/// The probability of this count and of all that lie further out on its side.
fn tail(distribution: &Hypergeometric, at: u64, mean: f64, (min, max): (u64, u64)) -> f64 {
    let outwards: &mut dyn Iterator<Item = u64> =
        if at as f64 >= mean { &mut (at..=max) } else { &mut (min..=at).rev() };
    let mut sum = 0.0;
    for value in outwards {
        let mass = libm::exp(distribution.ln_pmf(value));
        sum += mass;
        if mass < sum * 1e-9 {
            break;
        }
    }
    sum.min(1.0)
}

/// Pairs of independent runs of one kind each: a fair coin must decide which of the two has more, without ties.
pub fn fair_signs(name: String, pairs: impl Iterator<Item = (f64, f64)>) -> Finding {
    let (mut more, mut less) = (0u64, 0u64);
    for (one, other) in pairs {
        more += u64::from(one > other);
        less += u64::from(one < other);
    }
    let p = Binomial::new(0.5, more + less).map_or(1.0, |coin| 2.0 * coin.cdf(more.min(less)));
    Finding {
        name,
        figure: alloc::format!("sign test, {more} more and {less} less"),
        log2_p: libm::log2(p).min(0.0),
        limit: limits::of_signs(more + less),
    }
}

/// Two samples of independent trials, each as a number of successes and a number of trials. The first should succeed
/// with at most e^ε times the probability of the second. If it does, one of two bounds holds for every p (Clopper and
/// Pearson). Either the first succeeds at least this often with a probability of at most its tail at e^ε p. Or the
/// second succeeds at most this often with a probability of at most its tail at p.
pub fn at_most_so_much_likelier(
    name: String,
    epsilon: f64,
    (observed, n): (u64, u64),
    (other_observed, m): (u64, u64),
) -> Finding {
    let ratio = observed as f64 / n as f64 / (other_observed as f64 / m as f64);
    let figure = alloc::format!(
        "{observed} of {n} and {other_observed} of {m}: ratio e^{:.2}, at most e^{epsilon:.2}",
        libm::log(ratio)
    );
    let log2_p = |observed| log2_of_likelier(epsilon, (observed, n), (other_observed, m));
    Finding { name, figure, log2_p: log2_p(observed), limit: limits::of_likelier(n, log2_p) }
}

/// The finding for something that must never happen: it did, or did not.
pub fn certain(name: String, deviation: Option<String>) -> Finding {
    match deviation {
        Some(deviation) => Finding { name, figure: deviation, log2_p: f64::NEG_INFINITY, limit: None },
        None => {
            let figure = String::from("as the public schedule has it");
            Finding { name, figure, log2_p: 0.0, limit: None }
        }
    }
}

/// Counts how often each cell comes.
pub fn tally(cells: usize, draws: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut counts = alloc::vec![0; cells];
    for draw in draws {
        counts[draw] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::{RngCore, SeedableRng};

    fn name() -> String {
        String::new()
    }

    #[test]
    fn a_fair_die_never_alarms_and_a_loaded_one_does() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut throw = |extra: u64| {
            let draw = random.next_u64() % (6 + extra);
            draw.min(5) as usize
        };
        assert!(uniform(name(), &tally(6, (0..10_000).map(|_| throw(0)))).log2_p > -10.0);
        assert!(uniform(name(), &tally(6, (0..10_000).map(|_| throw(1)))).log2_p < -32.0);
    }

    #[test]
    fn the_bound_on_a_likelihood_ratio_is_never_below_its_exact_tail() {
        // All outcomes of n throws of a three-sided die, exactly.
        let n = 12u64;
        let factorial = |n: u64| (1..=n).map(|i| i as f64).product::<f64>();
        let mut outcomes = Vec::new();
        for a in 0..=n {
            for b in 0..=n - a {
                let c = n - a - b;
                let mass =
                    factorial(n) / factorial(a) / factorial(b) / factorial(c) / libm::pow(3.0, n as f64);
                outcomes.push((uniform(name(), &[a, b, c]).log2_p, mass));
            }
        }
        for (log2_p, _) in &outcomes {
            let exact: f64 = outcomes.iter().filter(|(other, _)| other <= log2_p).map(|(_, mass)| mass).sum();
            assert!(exact <= libm::exp2(*log2_p) + 1e-12, "{exact} > 2^{log2_p}");
        }
    }

    #[test]
    fn the_bound_on_many_successes_is_never_below_their_exact_tail() {
        let (n, p) = (40, 0.05);
        let distribution = Binomial::new(p, n).expect("a valid distribution");
        for observed in 0..=n {
            let exact: f64 = (observed..=n).map(|observed| distribution.pmf(observed)).sum();
            let bound = log2_of_many(n, p * n as f64, observed);
            assert!(exact <= libm::exp2(bound) + 1e-12, "{exact} > 2^{bound} at {observed}");
        }
        assert!(not_too_many(name(), 20_000, 5.0, 400).log2_p < ALARM_LOG2);
        assert!(not_too_many(name(), 20_000, 5.0, 12).log2_p > -10.0);
    }

    #[test]
    fn rows_of_unequal_totals_are_judged_each_by_itself() {
        assert_eq!(uniform_rows(name(), &[[100, 100], [7, 7]]).log2_p, 0.0);
        assert!(uniform_rows(name(), &[[150, 50], [50, 150]]).log2_p < ALARM_LOG2);
        assert_eq!(uniform(name(), &[200, 200]).log2_p, 0.0);
    }

    #[test]
    fn samples_of_one_law_pass_for_homogeneous_and_shifted_ones_do_not() {
        let even = [1000, 1020, 990, 1010];
        assert!(homogeneous(name(), &even, &[1010, 985, 1003, 1001]).log2_p > -5.0);
        assert!(homogeneous(name(), &even, &[1300, 900, 900, 900]).log2_p < -32.0);
        assert_eq!(homogeneous(name(), &[0, 5], &[0, 7]).log2_p, 0.0);
    }

    #[test]
    fn a_ratio_is_refuted_as_seldom_as_it_says_by_trials_that_keep_to_it() {
        // All outcomes of two small samples whose ratio is exactly e^ε.
        let (n, m, epsilon) = (30u64, 25u64, 1.1f64);
        for p in [0.01, 0.1, 0.3] {
            let one = Binomial::new(p * libm::exp(epsilon), n).expect("a valid distribution");
            let other = Binomial::new(p, m).expect("a valid distribution");
            let mut outcomes = Vec::new();
            for a in 0..=n {
                for b in 0..=m {
                    let log2_p = log2_of_likelier(epsilon, (a, n), (b, m));
                    outcomes.push((log2_p, one.pmf(a) * other.pmf(b)));
                }
            }
            for (log2_p, _) in &outcomes {
                let exact: f64 =
                    outcomes.iter().filter(|(other, _)| other <= log2_p).map(|(_, mass)| mass).sum();
                assert!(exact <= libm::exp2(*log2_p) + 1e-9, "{exact} > 2^{log2_p} at {p}");
            }
        }
        assert!(at_most_so_much_likelier(name(), 1.0, (900, 4000), (100, 4000)).log2_p < ALARM_LOG2);
        assert_eq!(at_most_so_much_likelier(name(), 1.0, (250, 4000), (100, 4000)).log2_p, 0.0);
        assert_eq!(at_most_so_much_likelier(name(), 0.0, (0, 40), (7, 40)).log2_p, 0.0);
    }

    #[test]
    fn signs_that_all_point_one_way_are_no_fair_coin() {
        let runs = |n: usize| (0..n).map(|_| (1.0, 2.0));
        assert!((fair_signs(name(), runs(40)).log2_p + 39.0).abs() < 1e-6);
        assert_eq!(fair_signs(name(), (0..40).map(|_| (1.0, 1.0))).log2_p, 0.0);
    }
}
