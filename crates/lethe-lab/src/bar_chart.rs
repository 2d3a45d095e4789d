//! A bar chart of numbers, in groups.

use crate::svg::{Drawing, escaped};

/// A chart of groups of bars, one of each series in each group.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// The sentence below the title that says what is drawn.
    pub(crate) what: String,
    pub(crate) groups: Vec<Group>,
    pub(crate) series: Vec<Series>,
    pub(crate) scale: Scale,
}

/// The scale of the bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Logarithmic from 1 on: no slowdown, no bar.
    Ratios,
    /// Linear from 0 on.
    Linear,
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
/// Groups from which on their names are slanted, and the room that this takes.
const MANY_GROUPS: usize = 10;
const SLANTED: f64 = 56.0;

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
        if self.is_slanted() {
            return SLANTED / LEGEND_LINE;
        }
        self.groups.iter().map(|group| group.name.lines().count()).max().unwrap_or(1).saturating_sub(1) as f64
    }

    fn is_slanted(&self) -> bool {
        self.groups.len() > MANY_GROUPS
    }

    /// A number that no bar comes near, for its own stands above it: a power of two for ratios.
    fn top_ratio(&self) -> f64 {
        let bars = self.groups.iter().flat_map(|group| group.bars.iter().flatten());
        let most = bars.map(|bar| bar.spread.map_or(bar.ratio, |(_, high)| high.max(bar.ratio)));
        match self.scale {
            Scale::Ratios => (most.fold(1.0, f64::max) * 1.4).log2().ceil().exp2(),
            Scale::Linear => {
                let most = most.fold(0.0, f64::max) * 1.15;
                let step = step(most);
                (most / step).ceil().max(1.0) * step
            }
        }
    }

    fn y(&self, ratio: f64) -> f64 {
        let share = match self.scale {
            Scale::Ratios => ratio.max(1.0).log2() / self.top_ratio().log2(),
            Scale::Linear => ratio.max(0.0) / self.top_ratio(),
        };
        TOP + HEIGHT - share * HEIGHT
    }

    /// The numbers at which lines are drawn.
    fn marks(&self) -> Vec<f64> {
        let top = self.top_ratio();
        match self.scale {
            Scale::Ratios => (0..=top.log2() as i32).map(|power| f64::from(power).exp2()).collect(),
            Scale::Linear => {
                let step = step(top);
                (0..=(top / step).round() as i32).map(|nth| f64::from(nth) * step).collect()
            }
        }
    }

    fn draw_scale(&self, drawn: &mut Drawing) {
        for (nth, mark) in self.marks().into_iter().enumerate() {
            let (y, class) = (self.y(mark), if nth == 0 { "axis" } else { "grid" });
            let right = LEFT + WIDTH;
            // Digits that the step of the marks has.
            let mark = (mark * 1e6).round() / 1e6;
            drawn.line(format!(
                "<line class=\"{class}\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{mark}</text>",
                LEFT - 8.0,
                y + 4.0
            ));
        }
    }

    fn draw_bars(&self, drawn: &mut Drawing) {
        let bars = self.series.len() as f64;
        let width = WIDTH / (self.groups.len() as f64 * (bars + GAP));
        let bottom = TOP + HEIGHT;
        for (nth, group) in self.groups.iter().enumerate() {
            let left = LEFT + width * (nth as f64 * (bars + GAP) + GAP / 2.0);
            let middle = left + width * bars / 2.0;
            if self.is_slanted() {
                let (x, y) = (middle + 4.0, bottom + 14.0);
                drawn.line(format!(
                    "<text text-anchor=\"end\" transform=\"translate({x:.1} {y}) rotate(-35)\">{}</text>",
                    escaped(&group.name.replace('\n', " "))
                ));
            }
            for (nth, line) in group.name.lines().enumerate().filter(|_| !self.is_slanted()) {
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

/// The step of marks up to a number: 1, 2 or 5 times a power of ten, for four to ten marks.
fn step(most: f64) -> f64 {
    let power = 10f64.powf((most.max(1e-9) / 4.0).log10().floor());
    let fits = |factor: &f64| most / (factor * power) >= 4.0;
    [5.0, 2.0, 1.0].into_iter().find(fits).unwrap_or(1.0) * power
}

/// Two digits behind the point, and fewer of large ratios.
fn label(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}
