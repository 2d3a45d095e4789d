//! Forms of growth, and which of them meets measured figures.

/// A form of growth.
pub(super) struct Form {
    /// The form's name.
    pub(super) name: &'static str,
    /// The form as Table 3.1 of the thesis prints it.
    printed: &'static [&'static str],
    of: fn(f64) -> f64,
}

/// The forms, slowest first.
pub(super) const FORMS: [Form; 8] = [
    Form { name: "1", printed: &["O(1)"], of: |_| 0.0 },
    Form { name: "log N", printed: &["O(log N)", "O(log N) w(1)"], of: f64::log2 },
    Form { name: "(log N)²", printed: &[], of: |blocks| blocks.log2().powi(2) },
    Form { name: "(log N)³", printed: &["O((log N)^3)"], of: |blocks| blocks.log2().powi(3) },
    Form { name: "√N", printed: &["O(2 sqrt(N))"], of: f64::sqrt },
    Form { name: "√N log N", printed: &["O(sqrt(N) log N)"], of: |blocks| blocks.sqrt() * blocks.log2() },
    Form { name: "√N (log N)²", printed: &[], of: |blocks| blocks.sqrt() * blocks.log2().powi(2) },
    Form { name: "N", printed: &["O(N)"], of: |blocks| blocks },
];

/// The part of a figure by which a form may be off and still be as good as one that grows faster.
const TIE_TOLERANCE: f64 = 0.005;

/// The form that Table 3.1 prints.
pub(super) fn from_printed(printed: &str) -> Option<&'static Form> {
    static ALL: [Form; FORMS.len()] = FORMS;
    ALL.iter().find(|form| form.printed.contains(&printed))
}

/// The form that fits the figures (N, y) best. If several fit equally, it is the one that grows slowest.
pub(super) fn best_fit<'a>(forms: &'a [Form], points: &[(f64, f64)]) -> Option<&'a Form> {
    let min = forms.iter().map(|form| relative_error(form, points)).fold(f64::MAX, f64::min);
    forms.iter().find(|form| relative_error(form, points) <= min + TIE_TOLERANCE)
}

/// The root mean square of the relative errors of `a + b f(N)`, with the best `a`, and the best `b` of 0 or more.
pub(super) fn relative_error(form: &Form, points: &[(f64, f64)]) -> f64 {
    // Least squares of 1 ≈ a u + b v, where u = 1 / y and v = f(N) / y.
    let terms = || points.iter().map(|(blocks, figure)| (1.0 / figure, (form.of)(*blocks) / figure));
    let sum = |of: fn(f64, f64) -> f64| terms().map(|(u, v)| of(u, v)).sum::<f64>();
    let (uu, uv, vv) = (sum(|u, _| u * u), sum(|u, v| u * v), sum(|_, v| v * v));
    let (u, v) = (sum(|u, _| u), sum(|_, v| v));
    let determinant = uu * vv - uv * uv;
    let (mut a, mut b) = ((u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant);
    if !(b >= 0.0 && a.is_finite()) {
        (a, b) = (u / uu, 0.0);
    }
    let squares = terms().map(|(u, v)| (1.0 - a * u - b * v).powi(2)).sum::<f64>();
    (squares / points.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points_of(of: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        [320.0, 1280.0, 5120.0, 20_480.0, 81_920.0].map(|blocks| (blocks, of(blocks))).into()
    }

    #[test]
    fn figures_that_follow_a_form_are_known_for_it() {
        for (nth, form) in FORMS.iter().enumerate() {
            let points = points_of(|blocks| 7.0 + 3.0 * (form.of)(blocks));
            assert_eq!(best_fit(&FORMS, &points).unwrap().name, form.name);
            assert!(relative_error(form, &points) < 1e-6);
            // A constant fits no growth.
            assert!(nth == 0 || relative_error(&FORMS[0], &points) > 0.02);
        }
    }

    #[test]
    fn a_figure_that_falls_grows_like_no_form() {
        let points = points_of(|blocks| 1000.0 - blocks.log2());
        assert!(FORMS.iter().all(|form| (relative_error(form, &points) - relative_error(&FORMS[0], &points)).abs() < 1e-9));
    }

    #[test]
    fn every_form_of_table_3_1_is_known() {
        let printed = super::super::Published::tables();
        for scheme in
            ["Trivial", "Square-Root", "Hierarchical", "PracticalOS", "PathORAM", "RingORAM", "ObliviStore"]
        {
            let (overhead, local) = printed.asymptotics(scheme).unwrap();
            assert!(from_printed(overhead).is_some() && from_printed(local).is_some(), "{scheme}");
        }
    }
}
