//! The processor's time of a bench, here and of the simulator.

/// The processor's time that this program has taken, as Linux counts it: other programs do not matter.
pub(crate) fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux counts the time of its threads");
    let nanoseconds: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    nanoseconds * 1e-9
}
