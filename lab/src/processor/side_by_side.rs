//! Traces that run side by side on several cores, as one.

use ameles_processor::trace::Miss;

/// Merges traces. Each has a number of first misses that only warm the cache. These come first, in turn; then all
/// others come, so that no trace is ahead by its instructions. Returns the number of misses that warm the cache, and
/// all misses. Each core's misses stay in their order, and the processor separates them by their lines.
pub(super) fn merge(traces: Vec<(usize, Vec<Miss>)>) -> (usize, Vec<Miss>) {
    let warm_ups: Vec<&[Miss]> = traces.iter().map(|(warm_up, misses)| &misses[..*warm_up]).collect();
    let longest = warm_ups.iter().map(|warm_up| warm_up.len()).max().unwrap_or(0);
    let in_turn =
        (0..longest).flat_map(|nth| warm_ups.iter().filter_map(move |warm_up| warm_up.get(nth).copied()));
    let mut merged: Vec<Miss> = in_turn.collect();
    let warm_up = merged.len();
    let mut timed = Vec::new();
    for (core, (warm_up, misses)) in traces.iter().enumerate() {
        let mut executed = 0;
        timed.extend(misses[*warm_up..].iter().map(|miss| {
            executed += u64::from(miss.instructions) + 1;
            (executed, core, *miss)
        }));
    }
    timed.sort_by_key(|(executed, core, _)| (*executed, *core));
    merged.extend(timed.into_iter().map(|(.., miss)| miss));
    (warm_up, merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_processor::trace::Kind;
    use ameles_processor::units::Line;

    #[test]
    fn warm_ups_come_first_in_turn_and_then_each_trace_by_its_instructions() {
        let miss = |instructions, line| Miss { instructions, kind: Kind::Load, line: Line(line) };
        let first = vec![miss(0, 1), miss(0, 2), miss(9, 3), miss(9, 4)];
        let second = vec![miss(0, 101), miss(4, 102), miss(4, 103), miss(14, 104)];
        let (warm_up, merged) = merge(vec![(2, first), (1, second)]);
        let lines: Vec<u64> = merged.iter().map(|miss| miss.line.0).collect();
        assert_eq!((warm_up, lines), (3, vec![1, 101, 2, 102, 3, 103, 4, 104]));
        assert_eq!(merge(Vec::new()).0, 0);
    }
}
