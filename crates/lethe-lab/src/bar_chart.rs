//! A bar chart of ratios, on a logarithmic scale that begins at 1: no slowdown, no bar.

use crate::svg::{Drawing, escaped};

/// A chart of groups of bars, one of each series in each group.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// The sentence below the title that says what is drawn.
    pub(crate) what: String,
    pub(crate) groups: Vec<Group>,
    pub(crate) series: Vec<Series>,
}

/// Bars that stand together.
pub(crate) struct Group {
    /// Its name below them; a line break begins another line.
    pub(crate) name: String,
    /// A bar for each series.
    pub(crate) bars: Vec<Option<Bar>>,
    /// Drawn as outlines: they are not measured.
    pub(crate) quoted: bool,
}

/// The meaning of the bars of one colour.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) colour: &'static str,
    /// The strength of the colour, from 0 to 1.
    pub(crate) strength: f64,
}

#[derive(Clone, Copy)]
pub(crate) struct Bar {
    pub(crate) ratio: f64,
    /// The ends between which its spread is drawn.
    pub(crate) spread: Option<(f64, f64)>,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 62.0;
/// The gap between two groups, in bars.
const GAP: f64 = 1.5;
const LEGEND_LINE: f64 = 20.0;
const LEGEND_COLUMN: f64 = 230.0;

impl Chart {
    /// The chart as SVG. Its colours stand out on light and on dark ground.
    pub(crate) fn svg(&self) -> String {
        let bottom = TOP + HEIGHT + self.more_lines() * LEGEND_LINE;
        let legend_columns = (WIDTH / LEGEND_COLUMN).floor();
        let legend_lines = (self.series.len() as f64 / legend_columns).ceil();
        let (width, height) = (LEFT + WIDTH + 12.0, bottom + 44.0 + legend_lines * LEGEND_LINE);
        let mut drawn = Drawing::new(
            [width, height],
            &escaped(&format!("{}: {}", self.title, self.what)),
            ".value{font-size:9px}.axis{stroke:#768390}.grid{stroke:#768390;opacity:.3}\
             .spread{stroke:#768390;fill:none}",
        );
        drawn.title(LEFT, &escaped(&self.title));
        drawn.line(format!("<text x=\"{LEFT}\" y=\"42\">{}</text>", escaped(&self.what)));
        self.draw_scale(&mut drawn);
        self.draw_bars(&mut drawn);
        for (nth, series) in self.series.iter().enumerate() {
            let (column, line) = (nth as f64 % legend_columns, (nth as f64 / legend_columns).floor());
            let (x, y) = (LEFT + column * LEGEND_COLUMN, bottom + 44.0 + line * LEGEND_LINE);
            let Series { name, colour, strength } = series;
            drawn.line(format!(
                "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\" opacity=\"{strength}\"/>\
                 <text x=\"{}\" y=\"{}\">{}</text>",
                y - 10.0,
                x + 18.0,
                y + 1.0,
                escaped(name)
            ));
        }
        drawn.finished()
    }

    /// The lines that the names of groups have beyond the first.
    fn more_lines(&self) -> f64 {
        self.groups.iter().map(|group| group.name.lines().count()).max().unwrap_or(1).saturating_sub(1) as f64
    }

    /// A power of two that no bar comes near: a number stands above it.
    fn top_ratio(&self) -> f64 {
        let bars = self.groups.iter().flat_map(|group| group.bars.iter().flatten());
        let most = bars.map(|bar| bar.spread.map_or(bar.ratio, |(_, high)| high.max(bar.ratio)));
        (most.fold(1.0, f64::max) * 1.4).log2().ceil().exp2()
    }

    fn y(&self, ratio: f64) -> f64 {
        TOP + HEIGHT - ratio.max(1.0).log2() / self.top_ratio().log2() * HEIGHT
    }

    fn draw_scale(&self, drawn: &mut Drawing) {
        let mut ratio = 1.0;
        while ratio <= self.top_ratio() {
            let (y, class) = (self.y(ratio), if ratio == 1.0 { "axis" } else { "grid" });
            let right = LEFT + WIDTH;
            drawn.line(format!(
                "<line class=\"{class}\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{ratio}</text>",
                LEFT - 8.0,
                y + 4.0
            ));
            ratio *= 2.0;
        }
    }

    fn draw_bars(&self, drawn: &mut Drawing) {
        let bars = self.series.len() as f64;
        let width = WIDTH / (self.groups.len() as f64 * (bars + GAP));
        let bottom = TOP + HEIGHT;
        for (nth, group) in self.groups.iter().enumerate() {
            let left = LEFT + width * (nth as f64 * (bars + GAP) + GAP / 2.0);
            let middle = left + width * bars / 2.0;
            for (nth, line) in group.name.lines().enumerate() {
                drawn.line(format!(
                    "<text x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    bottom + 18.0 + nth as f64 * 16.0,
                    escaped(line)
                ));
            }
            for (nth, (bar, series)) in group.bars.iter().zip(&self.series).enumerate() {
                let Some(bar) = bar else { continue };
                let (x, y) = (left + nth as f64 * width, self.y(bar.ratio));
                let Series { colour, strength, .. } = series;
                let paint = if group.quoted {
                    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"")
                } else {
                    format!("fill=\"{colour}\"")
                };
                let (inner, centre) = (width * 0.84, x + width / 2.0);
                drawn.line(format!(
                    "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{inner:.1}\" height=\"{:.1}\" opacity=\"{strength}\" {paint}/>",
                    x + width * 0.08,
                    bottom - y
                ));
                let mut top = y;
                if let Some((low, high)) = bar.spread {
                    top = self.y(high);
                    drawn.line(format!(
                        "<path class=\"spread\" d=\"M{centre:.1} {:.1}V{top:.1}\"/>",
                        self.y(low)
                    ));
                }
                drawn.line(format!(
                    "<text class=\"value\" text-anchor=\"start\" transform=\"translate({:.1} {:.1}) rotate(-90)\">{}</text>",
                    centre + 3.0,
                    top - 4.0,
                    label(bar.ratio)
                ));
            }
        }
    }
}

/// Two digits behind the point, and fewer of large ratios.
fn label(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}
