//! The numbers that the paper prints, in its text. Bars carry none.

/// The mean speed over Baseline's, Figure 10.
pub(super) const FIGURE_10: [(&str, Option<f64>); 7] = [
    ("rho", Some(1.11)),
    ("ir-alloc", Some(1.41)),
    ("ir-stash", Some(1.27)),
    ("ir-dwb", Some(1.05)),
    ("ir-oram", Some(1.57)),
    ("ir-stash-alloc", None),
    ("llc-d", None),
];

/// The mean speed of IR-Stash and IR-Alloc with delayed remapping, over delayed remapping: Figure 11.
pub(super) const FIGURE_11: f64 = 1.72;

/// Shares of Baseline's paths, Figure 2: data, PosMap, dummies.
pub(super) const FIGURE_2: [f64; 3] = [0.56, 0.33, 0.11];

/// The parts of PosMap 1 and PosMap 2 in the PosMap paths, Figure 2: the first has four times as many.
pub(super) const POSMAP_1_AND_2: [f64; 2] = [0.8, 0.2];

/// The share of requests whose block is in the top ten levels, Figure 6.
pub(super) const FIGURE_6: f64 = 0.23;

/// PosMap paths of IR-Stash as a share of Baseline's, Figure 14.
pub(super) const FIGURE_14: f64 = 0.49;

/// Dummies as a share of all paths, of Baseline and of IR-DWB: Figure 15.
pub(super) const FIGURE_15: [f64; 2] = [0.11, 0.06];

/// The energy that IR-ORAM saves, as a share of Baseline's (section VI-F).
pub(super) const ENERGY: f64 = 0.57;

/// The share of slots that hold a block on levels 10 to 21, Figure 3.
pub(super) const MIDDLE_LEVELS: &str = "20 % and lower for programs, 30 % for random accesses";

/// The share of slots that hold a block on the last level, Figure 3.
pub(super) const LAST_LEVEL: &str = "80 % for programs, 70 % for random accesses";

/// The share of slots that hold a block on level 3, Figure 3.
pub(super) const LEVEL_3: &str = "from 11 to 50 %";

/// The share of slots that hold a block with IR-Alloc, Figure 13.
pub(super) const WITH_IR_ALLOC: &str =
    "above 50 % for random accesses, and seldom an empty slot on levels 0 to 3";
