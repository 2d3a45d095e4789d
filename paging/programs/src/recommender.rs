//! `recommender`: learns preferences of users from ratings, and recommends items. Represents machine learning.
//!
//! Collaborative filtering by matrix factorisation (Koren, Bell and Volinsky 2009). A rating is a sum of four terms.
//! They are the mean, a bias of the user, a bias of the item, and the product of the user's row with the item's.
//! Stochastic gradient descent goes through the ratings in the order in which they came, which is as good as random.

mod ratings;

use crate::checksum::Checksum;
use crate::random::Random;
pub use ratings::Size;
use ratings::{Rating, Ratings};

/// The number of numbers that describe a user or an item besides its bias.
const FEATURES: usize = 63;

/// The error over the ratings held out (root of the mean square, in stars). With it comes a sum over every bit of the
/// model and every recommendation.
pub fn run(size: &Size) -> String {
    let mut random = Random::new(size.seed);
    let ratings = Ratings::new(size, &mut random);
    let model = trained_model(size, &ratings, &mut random);
    let mut sum = Checksum::new();
    for row in model.users.iter().chain(&model.items) {
        sum.add(row.bias.to_bits());
        row.features.iter().for_each(|feature| sum.add(feature.to_bits()));
    }
    for user in 0..size.asking {
        sum.add(u64::from(model.best_item(user)));
    }
    format!("{:.6} {sum}", model.error(&ratings.held_out))
}

fn trained_model(size: &Size, ratings: &Ratings, random: &mut Random) -> Model {
    let mut model = Model::new(size, ratings.mean(), random);
    for _ in 0..size.epochs {
        for rating in &ratings.training {
            model.learn(rating);
        }
    }
    model
}

/// The parameters of a user or an item.
struct Row {
    bias: f64,
    features: [f64; FEATURES],
}

impl Row {
    /// Close to nothing, but not the same for all: equal rows would stay equal.
    fn new(random: &mut Random) -> Self {
        Row { bias: 0.0, features: std::array::from_fn(|_| 0.1 * random.signed_unit()) }
    }
}

struct Model {
    mean: f64,
    users: Vec<Row>,
    items: Vec<Row>,
}

impl Model {
    /// The learning rate.
    const RATE: f64 = 0.02;
    /// The regularisation, which keeps rows small and avoids overfitting.
    const DAMPING: f64 = 0.05;

    fn new(size: &Size, mean: f64, random: &mut Random) -> Self {
        let mut rows = |count| (0..count).map(|_| Row::new(random)).collect();
        Model { mean, users: rows(size.users), items: rows(size.items) }
    }

    /// The stars that `user` would give to `item`.
    fn predicted(&self, user: u32, item: u32) -> f64 {
        let (user, item) = (&self.users[user as usize], &self.items[item as usize]);
        let product: f64 = user.features.iter().zip(&item.features).map(|(a, b)| a * b).sum();
        self.mean + user.bias + item.bias + product
    }

    /// Takes a step down the gradient of the squared error.
    fn learn(&mut self, rating: &Rating) {
        let error = f64::from(rating.stars) - self.predicted(rating.user, rating.item);
        let (user, item) = (&mut self.users[rating.user as usize], &mut self.items[rating.item as usize]);
        user.bias += Self::RATE * (error - Self::DAMPING * user.bias);
        item.bias += Self::RATE * (error - Self::DAMPING * item.bias);
        for (a, b) in user.features.iter_mut().zip(&mut item.features) {
            let (old_a, old_b) = (*a, *b);
            *a += Self::RATE * (error * old_b - Self::DAMPING * old_a);
            *b += Self::RATE * (error * old_a - Self::DAMPING * old_b);
        }
    }

    fn best_item(&self, user: u32) -> u32 {
        let predictions = (0..self.items.len() as u32).map(|item| (item, self.predicted(user, item)));
        predictions.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |best| best.0)
    }

    fn error(&self, ratings: &[Rating]) -> f64 {
        let square = |rating: &Rating| {
            let error = f64::from(rating.stars) - self.predicted(rating.user, rating.item);
            error * error
        };
        (ratings.iter().map(square).sum::<f64>() / ratings.len() as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::small;

    #[test]
    fn predicts_ratings_it_has_not_seen_better_than_the_mean_and_the_biases_do() {
        let size = Size { epochs: 20, ..small::RECOMMENDER.size };
        let mut random = Random::new(size.seed);
        let ratings = Ratings::new(&size, &mut random);
        let untaught =
            trained_model(&Size { epochs: 0, ..size }, &ratings, &mut random).error(&ratings.held_out);
        let mut taught = trained_model(&size, &ratings, &mut random);
        let with_features = taught.error(&ratings.held_out);
        for row in taught.users.iter_mut().chain(&mut taught.items) {
            row.features = [0.0; FEATURES];
        }
        let with_biases = taught.error(&ratings.held_out);
        assert!(
            with_features < 0.8 * with_biases && with_biases < 0.95 * untaught,
            "{with_features} with features, {with_biases} with biases, {untaught} without either"
        );
    }

    #[test]
    fn recommends_what_it_predicts_to_be_liked_most() {
        let size = small::RECOMMENDER.size;
        let mut random = Random::new(size.seed);
        let ratings = Ratings::new(&size, &mut random);
        let model = trained_model(&size, &ratings, &mut random);
        let best = model.best_item(1);
        for item in 0..size.items {
            assert!(model.predicted(1, item) <= model.predicted(1, best));
        }
    }
}
