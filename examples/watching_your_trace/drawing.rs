//! A trace as a picture: requests from left to right in the order of their time, places of the store from bottom to
//! top.

use crate::reads::BLOCKS;
use crate::recording::Trace;
use std::fmt::Write;

/// A trace, ready to be drawn.
pub(crate) struct Panel {
    title: &'static str,
    /// The places along the height.
    places: String,
    width: u64,
    height: u64,
    /// The time and the place of each on-line read.
    dots: Vec<(u64, u64)>,
    /// Time, first and last place of what is rewritten.
    bars: Vec<(u64, u64, u64)>,
}

impl Panel {
    pub(crate) fn of_objects(title: &'static str, objects: &[u64]) -> Self {
        Panel {
            title,
            places: format!("{BLOCKS} objects"),
            width: objects.len() as u64,
            height: BLOCKS,
            dots: (0..).zip(objects.iter().copied()).collect(),
            bars: Vec::new(),
        }
    }

    pub(crate) fn of_slots(title: &'static str, trace: &Trace) -> Self {
        let accesses = || (0..).zip(&trace.accesses);
        Panel {
            title,
            places: format!("{} slots, {} levels of a tree", trace.slots, trace.levels),
            width: trace.accesses.len() as u64,
            height: trace.slots,
            dots: accesses()
                .flat_map(|(at, shown)| shown.on_line.iter().map(move |slot| (at, *slot)))
                .collect(),
            bars: accesses()
                .flat_map(|(at, shown)| shown.rewritten.iter().map(move |(first, last)| (at, *first, *last)))
                .collect(),
        }
    }
}

/// The panel in letters: `#` where something was read on line.
pub(crate) fn text(panel: &Panel) -> String {
    const COLUMNS: u64 = 96;
    const ROWS: u64 = 20;
    let mut marks = vec![vec![' '; COLUMNS as usize]; ROWS as usize];
    for (time, place) in &panel.dots {
        let row = ROWS - 1 - place * ROWS / panel.height;
        marks[row as usize][(time * COLUMNS / panel.width) as usize] = '#';
    }
    let mut drawn = format!(
        "{}: {} from bottom to top, {} reads from left to right\n",
        panel.title, panel.places, panel.width
    );
    for row in marks {
        drawn.extend(["|".to_owned(), row.into_iter().collect(), "|\n".to_owned()]);
    }
    drawn
}

/// Both panels next to each other. The colours are legible on light and on dark backgrounds.
pub(crate) fn svg(left: &Panel, right: &Panel) -> String {
    let mut drawn = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 880 392\" font-family=\"sans-serif\" font-size=\"13\" \
         role=\"img\" aria-label=\"Requests over time: a clear pattern of encrypted objects, none of Ameles\">\n\
         <style>text{fill:#768390}.title{font-size:16px;font-weight:bold}.frame{fill:none;stroke:#768390}\
         .dots{fill:#2f81f7}.bars{fill:#d97706;opacity:.7}</style>\n",
    );
    for (x, panel, legend) in [
        (40, left, "each read names its object (blue)"),
        (470, right, "the same reads: slots read (blue), buckets rewritten (orange)"),
    ] {
        draw(&mut drawn, x, panel, legend);
    }
    drawn.push_str("</svg>\n");
    drawn
}

fn draw(drawn: &mut String, x: u32, panel: &Panel, legend: &str) {
    const WIDTH: f64 = 380.0;
    const HEIGHT: f64 = 300.0;
    const Y: f64 = 34.0;
    let across = |time: u64| f64::from(x) + (time as f64 + 0.5) * WIDTH / panel.width as f64;
    let up = |place: u64| Y + HEIGHT - place as f64 * HEIGHT / panel.height as f64;
    let mut line = |text: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(drawn, "{text}");
    };
    line(format!("<text class=\"title\" x=\"{x}\" y=\"22\">{}</text>", panel.title));
    line(format!("<rect class=\"frame\" x=\"{x}\" y=\"{Y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>"));
    let step = WIDTH / panel.width as f64;
    let mut path = String::new();
    for (time, first, last) in &panel.bars {
        let (left, top, bottom) = (across(*time) - step / 2.0, up(last + 1), up(*first));
        let _ = write!(path, "M{left:.1} {top:.1}h{step:.1}V{bottom:.1}h-{step:.1}z");
    }
    line(format!("<path class=\"bars\" d=\"{path}\"/>"));
    let mut path = String::new();
    for (time, place) in &panel.dots {
        let (left, top) = (across(*time) - 0.9, (up(*place) + up(place + 1)) / 2.0 - 0.9);
        let _ = write!(path, "M{left:.1} {top:.1}h1.8v1.8h-1.8z");
    }
    line(format!("<path class=\"dots\" d=\"{path}\"/>"));
    let (below, side) = (Y + HEIGHT + 20.0, x - 8);
    line(format!("<text x=\"{x}\" y=\"{below}\">{} reads, in the order of time</text>", panel.width));
    line(format!("<text x=\"{x}\" y=\"{}\">{legend}</text>", below + 20.0));
    let middle = Y + HEIGHT / 2.0;
    line(format!(
        "<text x=\"{side}\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 {side} {middle})\">{}</text>",
        panel.places
    ));
}
