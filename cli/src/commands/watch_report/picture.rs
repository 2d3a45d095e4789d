//! The picture of the observed changes: faults from left to right, slots from bottom to top. Slots above the highest
//! changed one are left out.

use super::observations::Observations;
use ameles_lab::svg::{Drawing, escape};
use std::collections::BTreeSet;
use std::fmt::Write;

const WIDTH: u64 = 380;
const HEIGHT: u64 = 300;
const LEFT: u64 = 40;
const TOP: u64 = 34;

/// The minimal width and height of a cell: close changes are drawn together.
const MIN: f64 = 1.0;

/// Draws the picture. Its colours are visible on light and dark backgrounds.
pub(in crate::commands) fn draw(title: &str, observations: &Observations) -> String {
    let (faults, slots) = (observations.faults().max(1), observations.highest() + 1);
    let grid = Grid {
        columns: faults.min((WIDTH as f64 / MIN) as u64),
        rows: slots.min((HEIGHT as f64 / MIN) as u64),
        faults,
        slots,
    };
    let (main, holding) = observations.geometry.areas.unwrap_or((observations.geometry.slots, 0));
    let title = escape(title);
    let mut drawing = Drawing::new(
        [LEFT + WIDTH + 10, TOP + HEIGHT + 50],
        &format!("Slots of untrusted memory that changed at each fault: {title}"),
        ".frame{fill:none;stroke:#768390}.main{fill:#2f81f7}.holding{fill:#d97706}",
    );
    drawing.title(LEFT, &title);
    let mut line = |text: String| drawing.line(text);
    line(format!("<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>"));
    line(format!("<path class=\"main\" d=\"{}\"/>", grid.path(&grid.cells(observations, 0, main))));
    line(format!(
        "<path class=\"holding\" d=\"{}\"/>",
        grid.path(&grid.cells(observations, main, main + holding))
    ));
    let below = TOP + HEIGHT + 20;
    line(format!(
        "<text x=\"{LEFT}\" y=\"{below}\">{} faults, in the order of time</text>",
        observations.faults()
    ));
    let legend = if holding > 0 {
        "slots that changed: main area (blue), holding area (orange)"
    } else {
        "slots that changed"
    };
    line(format!("<text x=\"{LEFT}\" y=\"{}\">{legend}</text>", below + 20));
    let (side, middle) = (LEFT - 8, TOP + HEIGHT / 2);
    line(format!(
        "<text x=\"{side}\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 {side} {middle})\">{slots} of {} \
         slots</text>",
        observations.geometry.slots
    ));
    drawing.finish()
}

/// The cells that faults and slots fall into.
struct Grid {
    columns: u64,
    rows: u64,
    faults: u64,
    slots: u64,
}

impl Grid {
    /// Returns column and row of the changes among the slots from `first` up to `end`.
    fn cells(&self, observations: &Observations, first: u64, end: u64) -> BTreeSet<(u64, u64)> {
        let mut cells = BTreeSet::new();
        for (fault, observation) in (0..).zip(&observations.list) {
            let column = fault * self.columns / self.faults;
            let slots = observation.changed.iter().filter(|slot| (first..end).contains(*slot));
            cells.extend(slots.map(|slot| (column, slot * self.rows / self.slots)));
        }
        cells
    }

    /// Returns the cells as one path, with adjacent cells of a column as one box.
    fn path(&self, cells: &BTreeSet<(u64, u64)>) -> String {
        let (width, height) = (WIDTH as f64 / self.columns as f64, HEIGHT as f64 / self.rows as f64);
        let mut path = String::new();
        let mut cells = cells.iter().copied().peekable();
        while let Some((column, row)) = cells.next() {
            let mut above = row + 1;
            while cells.next_if_eq(&(column, above)).is_some() {
                above += 1;
            }
            let left = LEFT as f64 + column as f64 * width;
            let top = (TOP + HEIGHT) as f64 - above as f64 * height;
            let _ = write!(
                path,
                "M{left:.1} {top:.1}h{width:.2}v{:.1}h-{width:.2}z",
                (above - row) as f64 * height
            );
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::super::observations::Observation;
    use super::*;
    use ameles_pager::watch::{FaultCounts, Geometry};

    fn observations(faults: u64) -> Observations {
        let list = (1..=faults).map(|fault| Observation {
            moment: FaultCounts { faults: fault, evictions: fault },
            changed: vec![fault % 3, fault % 3 + 1, 30 + fault % 10],
        });
        Observations {
            geometry: Geometry { slots: 40, stride: 4160, areas: Some((30, 10)) },
            list: list.collect(),
        }
    }

    #[test]
    fn each_change_is_a_box_at_its_fault_and_its_slot() {
        let drawing = draw("sort, detworam", &observations(4));
        let boxes = |class: &str| {
            let path = drawing.lines().find(|line| line.contains(class) && line.contains("<path")).unwrap();
            path.matches('M').count()
        };
        // Two neighbours in the main area are one box.
        assert_eq!((boxes("main"), boxes("holding")), (4, 4));
        // Slots 1 and 2 of 35 that are drawn, from below, at the first of four faults.
        assert!(drawing.contains("M40.0 308.3h95.00v17.1h-95.00z"), "{drawing}");
        assert!(drawing.contains("35 of 40 slots") && drawing.contains("4 faults"));
    }

    #[test]
    fn a_picture_does_not_grow_beyond_its_resolution() {
        let (some, more) = (draw("", &observations(10_000)).len(), draw("", &observations(40_000)).len());
        assert!(more < some + some / 10, "{some} {more}");
    }

    #[test]
    fn a_name_stays_text() {
        assert!(draw("a<b>&\"c\"", &observations(1)).contains("a&lt;b&gt;&amp;&quot;c&quot;"));
    }
}
