//! Selectors: how COSBench draws a number, such as `u(1,10)`.

use rand_core::RngCore;
use std::num::IntErrorKind;
use std::str::FromStr;

/// A rule to draw whole numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// `c(n)`: always n.
    Constant(u64),
    /// `u(a,b)`: uniform from a to b, both included.
    Uniform(u64, u64),
    /// `r(a,b)`, or `a-b`: each from a to b once, in order, and then again from the beginning. The workers share it
    /// out.
    Range(u64, u64),
    /// `s(a,b)`: the same for every worker.
    Sequence(u64, u64),
    /// `h(a|b|weight,…)`: a bar is drawn by its weight, and a number in it uniformly.
    Histogram(Vec<Bar>),
}

/// A bar of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The least number.
    pub min: u64,
    /// The greatest number.
    pub max: u64,
    /// The bar's weight, at least 1.
    pub weight: u64,
}

/// A selector of sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeSelector {
    /// The number of units.
    pub selector: Selector,
    /// The number of bytes of a unit. COSBench's units are decimal: a KB is 1000 bytes.
    pub unit_bytes: u64,
}

/// The reason why a selector is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The text has no known form.
    #[error("{0:?} is not a selector: write c(n), u(a,b), r(a,b), s(a,b) or h(a|b|weight,…)")]
    Shape(String),
    /// Bounds in the wrong order.
    #[error("{0:?} ends before it begins: write the smaller number first")]
    Order(String),
    /// A histogram whose bars weigh nothing.
    #[error("{0:?} has a bar without weight: give each bar a weight of at least 1")]
    Weight(String),
    /// A number that is too large.
    #[error("{0:?} has a number of more than 64 bits: write a smaller one")]
    Large(String),
    /// A size without a unit.
    #[error("{0:?} has no unit: end it with B, KB, MB or GB")]
    Unit(String),
}

/// The maximum of an open bar, which has no stated upper end.
const OPEN_BAR_MAX: u64 = i32::MAX as u64;

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let shape = || SelectorError::Shape(bare.clone());
        let (kind, inside) = match bare.split_once('(') {
            Some((kind, rest)) => (kind, rest.strip_suffix(')').ok_or_else(shape)?),
            None => ("-", bare.as_str()),
        };
        let number = |text: &str| number(text).map_err(|kind| number_error(kind, &bare));
        let bounds = |separator| {
            let (min, max) = inside.split_once(separator).ok_or_else(shape)?;
            let (min, max) = (number(min)?, number(max)?);
            if min > max { Err(SelectorError::Order(bare.clone())) } else { Ok((min, max)) }
        };
        Ok(match kind {
            "c" => Selector::Constant(number(inside)?),
            "u" => bounds(',').map(|(min, max)| Selector::Uniform(min, max))?,
            "r" => bounds(',').map(|(min, max)| Selector::Range(min, max))?,
            "-" => bounds('-').map(|(min, max)| Selector::Range(min, max))?,
            "s" => bounds(',').map(|(min, max)| Selector::Sequence(min, max))?,
            "h" => {
                let bars =
                    inside.split(',').map(|bar| read_bar(bar, &bare)).collect::<Result<Vec<_>, _>>()?;
                Selector::Histogram(bars)
            }
            _ => return Err(shape()),
        })
    }
}

fn number(text: &str) -> Result<u64, IntErrorKind> {
    text.parse::<u64>().map_err(|error| *error.kind())
}

fn number_error(kind: IntErrorKind, whole: &str) -> SelectorError {
    match kind {
        IntErrorKind::PosOverflow => SelectorError::Large(whole.to_owned()),
        _ => SelectorError::Shape(whole.to_owned()),
    }
}

fn read_bar(bar: &str, whole: &str) -> Result<Bar, SelectorError> {
    let shape = || SelectorError::Shape(whole.to_owned());
    let number = |text: &str| number(text).map_err(|kind| number_error(kind, whole));
    let [min, max, weight] = *bar.split('|').collect::<Vec<_>>().as_slice() else {
        return Err(shape());
    };
    let (min, weight) = (number(min)?, number(weight)?);
    let max = if max.is_empty() { OPEN_BAR_MAX } else { number(max)? };
    match (min > max, weight) {
        (true, _) => Err(SelectorError::Order(whole.to_owned())),
        (_, 0) => Err(SelectorError::Weight(whole.to_owned())),
        _ => Ok(Bar { min, max, weight }),
    }
}

impl FromStr for SizeSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000), ("B", 1)];
        let text = text.trim();
        let found = units.iter().find_map(|(unit, bytes)| text.strip_suffix(unit).map(|rest| (rest, *bytes)));
        // Of `c(1)TB` the last letter is a unit, too.
        let found = found.filter(|(rest, _)| !rest.ends_with(char::is_alphabetic));
        let (rest, unit_bytes) = found.ok_or_else(|| SelectorError::Unit(text.to_owned()))?;
        Ok(SizeSelector { selector: rest.parse()?, unit_bytes })
    }
}

impl Selector {
    /// The selector of one of several workers, counted from 0, if each has its own numbers; `None` if there are
    /// fewer numbers than workers. Sequences, constants and histograms are not divided, as in COSBench.
    pub fn share(&self, worker: u64, workers: u64) -> Option<Selector> {
        let part = |min: u64, max: u64| {
            let count = (max - min).saturating_add(1);
            let (each, extra) = (count / workers, count % workers);
            let first = min + each * worker + extra.min(worker);
            let context = each + u64::from(worker < extra);
            (context > 0).then(|| (first, first + (context - 1)))
        };
        match self {
            Selector::Uniform(min, max) => part(*min, *max).map(|(a, b)| Selector::Uniform(a, b)),
            Selector::Range(min, max) => part(*min, *max).map(|(a, b)| Selector::Range(a, b)),
            other => Some(other.clone()),
        }
    }
}

/// A selector in use: it remembers how far it has come.
#[derive(Clone, Debug)]
pub struct Selection {
    selector: Selector,
    drawn: u64,
}

impl Selection {
    /// A selection from the beginning.
    pub fn new(selector: Selector) -> Self {
        Selection { selector, drawn: 0 }
    }

    /// Draws the next number.
    pub fn draw(&mut self, random: &mut impl RngCore) -> u64 {
        let nth = self.drawn;
        self.drawn += 1;
        match &self.selector {
            Selector::Constant(number) => *number,
            Selector::Uniform(min, max) => within(*min, *max, random),
            Selector::Range(min, max) | Selector::Sequence(min, max) => {
                min + nth % (max - min).saturating_add(1)
            }
            Selector::Histogram(bars) => {
                let all = bars.iter().map(|bar| bar.weight).sum::<u64>();
                let mut left = below(all, random);
                let bar = bars.iter().find(|bar| {
                    let is_it = left < bar.weight;
                    left = left.saturating_sub(bar.weight);
                    is_it
                });
                bar.map_or(0, |bar| within(bar.min, bar.max, random))
            }
        }
    }
}

fn within(min: u64, max: u64, random: &mut impl RngCore) -> u64 {
    min + below((max - min).saturating_add(1), random)
}

/// A uniform number below `bound`; the bias of less than 2^-32 for the bounds of a workload is left in.
fn below(bound: u64, random: &mut impl RngCore) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}
