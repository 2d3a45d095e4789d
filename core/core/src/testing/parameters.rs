//! The parts that tests of parameters share.

/// Returns the reason why parameters are refused after a change.
///
/// # Panics
/// If they are valid.
pub fn refusal<P: Clone, E>(
    valid: &P,
    validate: impl FnOnce(&P) -> Result<(), E>,
    change: impl FnOnce(&mut P),
) -> E {
    let mut changed = valid.clone();
    change(&mut changed);
    validate(&changed).err().expect("the changed parameters are valid")
}

/// Capacities, numbers of trusted blocks and largest batches to plan parameters for, from the least to the most.
pub fn plan_sizes() -> impl Iterator<Item = (u64, u64, u32)> {
    let capacities = (1..70).chain([1000, 4096, 16_384, 100_000, 1 << 20, 1 << 28, u64::from(u32::MAX)]);
    capacities.flat_map(|capacity| {
        [4, 8, 32, 1000]
            .into_iter()
            .flat_map(move |share| [1, 16, 1024].map(|max_batch| (capacity, capacity / share, max_batch)))
    })
}
