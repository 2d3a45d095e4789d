//! The pictures: bars in groups, with a colour for each name.

use crate::bar_chart::{Bar, Chart, Group, Scale, Series};
use crate::report::Picture;
use crate::svg::COLOURS;

/// A chart with one series for each name.
pub(super) fn chart<'a>(
    name: String,
    [title, what]: [&str; 2],
    groups: Vec<Group>,
    names: impl Iterator<Item = &'a str>,
) -> Picture {
    let colours = COLOURS.into_iter().cycle();
    let series = names
        .zip(colours)
        .map(|(name, colour)| Series { name: name.to_owned(), colour, strength: 1.0 })
        .collect();
    let chart =
        Chart { scale: Scale::Linear, title: title.to_owned(), what: what.to_owned(), groups, series };
    Picture { name, svg: chart.svg() }
}

/// A bar without a spread: simulated time has none.
pub(super) fn bar(length: f64) -> Bar {
    Bar { ratio: length, spread: None }
}
