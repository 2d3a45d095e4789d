//! A plan: for somebody's objects, link, prices and memory, which scheme and which blocks cost what, by a model.
//!
//! The model counts the traffic of schemes whose stores are full and at work, in the mean: no run is simulated. What a vault adds
//! to it is not counted: its catalogue of names, checkpoints that are shipped, and retries.

mod choices;
mod figures;
mod object_sizes;
mod table;
pub(crate) mod traffic;
mod work;

pub use choices::{Choice, Rejected, VaultMemory};
pub use figures::Figures;
pub use object_sizes::{ObjectSizes, ObjectSizesError};
pub use traffic::{Flow, Traffic};
pub use work::{BLOCK_BYTES, Work};

/// The order of the choices: the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By the bill of a month.
    Bill,
    /// By the time of an object.
    Time,
    /// By the size of the store.
    Store,
}

/// A plan for some work.
#[derive(Debug)]
pub struct Plan {
    /// The figures without an ORAM.
    pub plain: Figures,
    /// The choices that fit, the best first.
    pub choices: Vec<Choice>,
    /// Those that were left out.
    pub rejected: Vec<Rejected>,
}

impl Plan {
    /// Plans some work. `memory` tells the trusted memory that a vault takes.
    pub fn of(work: &Work, order: Order, memory: VaultMemory<'_>) -> Self {
        let mut found = choices::of(work, memory);
        found.fit.sort_by(|one, other| {
            let by = |choice: &Choice| match order {
                Order::Bill => choice.figures.dollars(),
                Order::Time => choice.figures.time.as_secs_f64(),
                Order::Store => choice.figures.stored as f64,
            };
            by(one).total_cmp(&by(other)).then_with(|| one.figures.time.cmp(&other.figures.time))
        });
        Plan { plain: Figures::plain(work), choices: found.fit, rejected: found.rejected }
    }

    /// The best choice that a vault runs.
    pub fn best_vault(&self) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.flags.is_some())
    }

    /// The vault that only lacks trusted memory, and lacks least.
    pub fn nearest(&self) -> Option<&Rejected> {
        let lacking = self.rejected.iter().filter(|rejected| rejected.is_vault && rejected.wants.is_some());
        lacking.min_by_key(|rejected| rejected.wants)
    }

    /// The plan as tables in Markdown: the best `rows`, and why the others were left out.
    pub fn tables(&self, rows: usize) -> String {
        table::of(&self.plain, &self.choices, &self.rejected, rows)
    }
}

#[cfg(test)]
mod tests;
