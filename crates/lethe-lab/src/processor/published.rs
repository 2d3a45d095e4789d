//! The numbers that the paper prints, in its text. Bars carry none.

/// The mean speed over Baseline's, Figure 10.
pub(super) const FIGURE_10: [(&str, f64); 5] =
    [("ir-alloc", 1.41), ("ir-stash", 1.27), ("ir-dwb", 1.05), ("ir-oram", 1.57), ("rho", 1.11)];

/// The mean speed of IR-Stash and IR-Alloc with delayed remapping, over delayed remapping: Figure 11.
pub(super) const FIGURE_11: f64 = 1.72;

/// Shares of Baseline's paths in per cent, Figure 2: data, PosMap, dummies.
pub(super) const FIGURE_2: [f64; 3] = [56.0, 33.0, 11.0];

/// The share of requests in per cent whose block is in the top ten levels, Figure 6.
pub(super) const FIGURE_6: f64 = 23.0;

/// PosMap paths of IR-Stash in per cent of Baseline's, Figure 14.
pub(super) const FIGURE_14: f64 = 49.0;

/// Dummies in per cent of all paths, of Baseline and of IR-DWB: Figure 15.
pub(super) const FIGURE_15: [f64; 2] = [11.0, 6.0];

/// The energy that IR-ORAM saves, in per cent of Baseline's (section VI-F).
pub(super) const ENERGY: f64 = 57.0;
