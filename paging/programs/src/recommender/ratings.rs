//! Ratings generated from tastes that the model does not know.

use crate::random::Random;

/// The number of numbers that make up a hidden taste.
const TASTES: usize = 3;

/// The size of the data set.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of users; the model keeps 512 bytes for each.
    pub users: u32,
    /// The number of items; the model keeps 512 bytes for each.
    pub items: u32,
    /// The number of ratings to train with, of 12 bytes each.
    pub ratings: u32,
    /// The number of ratings to test the trained model with.
    pub held_out: u32,
    /// The number of passes over all ratings.
    pub epochs: u32,
    /// The number of users, from the first, that get a recommendation.
    pub asking: u32,
    /// The seed of the ratings and of the model's first state.
    pub seed: u64,
}

/// A rating: the stars that a user gave to an item.
pub(super) struct Rating {
    pub(super) user: u32,
    pub(super) item: u32,
    /// The stars from 1 to 5, in halves.
    pub(super) stars: f32,
}

/// All ratings, in the order in which they came.
pub(super) struct Ratings {
    pub(super) training: Vec<Rating>,
    pub(super) held_out: Vec<Rating>,
}

/// The way a user rates, or the qualities of an item: first how well in general, then in which ways.
struct Hidden {
    general: f64,
    tastes: [f64; TASTES],
}

impl Hidden {
    fn new(random: &mut Random) -> Self {
        Hidden { general: random.signed_unit(), tastes: std::array::from_fn(|_| random.signed_unit()) }
    }
}

impl Ratings {
    pub(super) fn new(size: &Size, random: &mut Random) -> Self {
        let users: Vec<Hidden> = (0..size.users).map(|_| Hidden::new(random)).collect();
        let items: Vec<Hidden> = (0..size.items).map(|_| Hidden::new(random)).collect();
        let mut rate = |count: u32| {
            let mut ratings = Vec::with_capacity(count as usize);
            for _ in 0..count {
                let (user, item) = (random.below(size.users), random.below(size.items));
                let (who, what) = (&users[user as usize], &items[item as usize]);
                let match_: f64 = who.tastes.iter().zip(&what.tastes).map(|(a, b)| a * b).sum();
                let mood = 0.25 * random.signed_unit();
                let stars = 3.0 + 0.5 * who.general + 0.8 * what.general + 1.5 * match_ + mood;
                let stars = ((2.0 * stars).round() / 2.0).clamp(1.0, 5.0) as f32;
                ratings.push(Rating { user, item, stars });
            }
            ratings
        };
        Ratings { training: rate(size.ratings), held_out: rate(size.held_out) }
    }

    /// Mean of the training ratings.
    pub(super) fn mean(&self) -> f64 {
        let sum: f64 = self.training.iter().map(|rating| f64::from(rating.stars)).sum();
        sum / self.training.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::small;

    #[test]
    fn stars_are_halves_from_one_to_five_and_spread() {
        let size = small::RECOMMENDER.size;
        let ratings = Ratings::new(&size, &mut Random::new(size.seed));
        let mut counts = [0; 11];
        for rating in ratings.training.iter().chain(&ratings.held_out) {
            assert!(rating.user < size.users && rating.item < size.items);
            assert_eq!((2.0 * rating.stars).fract(), 0.0);
            counts[(2.0 * rating.stars) as usize] += 1;
        }
        assert_eq!(counts[..2], [0, 0]);
        assert!(counts[2..].iter().all(|&count| count > 0), "{counts:?}");
        assert!((2.8..3.2).contains(&ratings.mean()), "{}", ratings.mean());
    }
}
