//! A plan: the offers at each provider's prices, and the best of them.

use super::choices::{self, Choice, Rejected, VaultMemory};
use super::figures::Figures;
use super::work::Work;
use ameles_store::Prices;

/// The order of the choices: the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The offers in the order of the monthly bill.
    Bill,
    /// The offers in the order of the time of an object.
    Time,
    /// The offers in the order of the size of the store.
    Store,
}

impl Order {
    fn of(self, figures: &Figures) -> f64 {
        match self {
            Order::Bill => figures.dollars(),
            Order::Time => figures.time.as_secs_f64(),
            Order::Store => figures.stored as f64,
        }
    }
}

/// A plan for some work.
#[derive(Debug)]
pub struct Plan {
    order: Order,
    /// The number of bytes of trusted memory.
    pub(super) trusted: u64,
    /// The offers, one at each of the prices.
    pub offers: Vec<Offer>,
}

/// An offer at some prices.
#[derive(Debug)]
pub struct Offer {
    /// The name of the prices.
    pub prices: String,
    /// The figures without an ORAM.
    pub plain: Figures,
    /// The choices that fit, the best first.
    pub choices: Vec<Choice>,
    /// The choices that were left out.
    pub rejected: Vec<Rejected>,
}

/// The factor of the trusted memory up to which better choices are shown.
const MORE_MEMORY: u64 = 2;
/// The ratio of two figures below which the better one is worth more memory.
const WORTHWHILE: f64 = 0.9;

impl Plan {
    /// Plans some work at each of these prices instead of its own. `memory` returns the trusted memory of a vault.
    pub fn of(work: &Work, prices: &[(String, Prices)], order: Order, memory: VaultMemory<'_>) -> Self {
        let offer = |(name, prices): &(String, Prices)| {
            let work = Work { prices: prices.clone(), ..work.clone() };
            let mut found = choices::choices_for(&work, memory);
            found.fit.sort_by(|one, other| {
                let by = |choice: &Choice| order.of(&choice.figures);
                by(one).total_cmp(&by(other)).then_with(|| one.figures.time.cmp(&other.figures.time))
            });
            let plain = Figures::plain(&work);
            Offer { prices: name.clone(), plain, choices: found.fit, rejected: found.rejected }
        };
        Plan { order, trusted: work.trusted, offers: prices.iter().map(offer).collect() }
    }

    /// The choices at all prices, the best first.
    pub fn choices<'a>(&'a self) -> Vec<(&'a Offer, &'a Choice)> {
        let of = |offer: &'a Offer| offer.choices.iter().map(move |choice| (offer, choice));
        let mut all: Vec<(&Offer, &Choice)> = self.offers.iter().flat_map(of).collect();
        all.sort_by(|one, other| self.order.of(&one.1.figures).total_cmp(&self.order.of(&other.1.figures)));
        all
    }

    /// The best choice that a vault runs.
    pub fn best_vault(&self) -> Option<(&Offer, &Choice)> {
        self.choices().into_iter().find(|(_, choice)| choice.flags.is_some())
    }

    /// The vaults that only lack trusted memory, those that lack least first.
    fn too_large_vaults<'a>(&'a self) -> Vec<(&'a Offer, &'a Choice)> {
        let of = |offer: &'a Offer| offer.too_large_vaults().map(move |choice| (offer, choice));
        let mut all: Vec<(&Offer, &Choice)> = self.offers.iter().flat_map(of).collect();
        all.sort_by_key(|(_, choice)| choice.memory);
        all
    }

    /// The vault that only lacks trusted memory, and lacks least.
    pub fn smallest_too_large_vault(&self) -> Option<(&Offer, &Choice)> {
        self.too_large_vaults().into_iter().next()
    }

    /// The vaults that up to twice the trusted memory would bring: each is better than the best that fits and than
    /// those with less memory.
    pub fn with_more_memory(&self) -> Vec<(&Offer, &Choice)> {
        let Some((_, best)) = self.best_vault() else { return Vec::new() };
        let mut figure = self.order.of(&best.figures);
        let mut found = self.too_large_vaults();
        found.retain(|(_, choice)| {
            let this = self.order.of(&choice.figures);
            let is_better = choice.memory <= MORE_MEMORY * self.trusted && this < WORTHWHILE * figure;
            if is_better {
                figure = this;
            }
            is_better
        });
        found
    }
}

impl Offer {
    /// The best choice that a vault runs.
    pub(super) fn best_vault(&self) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.flags.is_some())
    }

    /// The vaults that only lack trusted memory.
    fn too_large_vaults(&self) -> impl Iterator<Item = &Choice> {
        self.rejected
            .iter()
            .filter_map(|rejected| rejected.choice.as_ref())
            .filter(|choice| choice.flags.is_some())
    }
}
