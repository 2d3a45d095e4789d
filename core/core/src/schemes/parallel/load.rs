//! The load of messages: how many of the routed blocks are in one message.

/// The probability that any message of a round is too short lies below 2 to the power of minus this.
const SAFETY_BITS: f64 = 80.0;

/// The log2 of a bound on the probability that a message has more than `slots` of this many blocks. Each block is in
/// the message with a chance of `2^-chance_bits`, independently of the others. The bound is the number of sets of
/// `slots + 1` blocks, times the chance that all blocks of a set are in the message.
fn overflow_log2(blocks: u64, chance_bits: u32, slots: u64) -> f64 {
    if slots >= blocks {
        return f64::NEG_INFINITY;
    }
    let sets: f64 = (0..=slots).map(|nth| libm::log2((blocks - nth) as f64 / (nth + 1) as f64)).sum();
    sets - f64::from(chance_bits) * (slots + 1) as f64
}

/// Returns the least number of blocks that a message of a step must have room for, with `2^bits` processors.
///
/// Before step k, counted from 0, a processor has blocks of `2^k` processors. They go to the processors that agree with
/// it in k bits. It has at most one block of each processor, with a chance of `2^-k`. Half of these continue in the
/// message.
pub(super) fn message_blocks(bits: u32, step: u32) -> u64 {
    let messages_of_round = f64::from(bits) + libm::log2(f64::from(bits));
    let others = 1 << step;
    let is_enough = |slots: &u64| messages_of_round + overflow_log2(others, step + 1, *slots) < -SAFETY_BITS;
    (1..others).find(is_enough).unwrap_or(others)
}

/// The log2 of a bound on the probability that a message of one round is too short for its blocks. `processors`, their
/// number, is a power of two. It holds for any requests. It is minus infinity if no message can be too short.
pub fn routing_overflow_log2(processors: u32) -> f64 {
    let bits = processors.ilog2();
    let messages = f64::from(processors);
    let of_step = |step| {
        let one = overflow_log2(1u64 << step, step + 1, message_blocks(bits, step));
        messages * libm::exp2(one)
    };
    libm::log2((0..bits).map(of_step).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The binomial distribution, summed up.
    fn exactly(blocks: u64, chance: f64, slots: u64) -> f64 {
        let mut probability = libm::pow(1.0 - chance, blocks as f64);
        let mut above = 1.0 - probability;
        for nth in 0..slots {
            probability *= (blocks - nth) as f64 / (nth + 1) as f64 * chance / (1.0 - chance);
            above -= probability;
        }
        above
    }

    #[test]
    fn the_bound_on_a_message_is_above_the_probability_by_a_small_factor() {
        for step in 0..10 {
            let (blocks, chance) = (1u64 << step, libm::exp2(-f64::from(step + 1)));
            for slots in 0..blocks.min(12) {
                let (exact, bound) = (exactly(blocks, chance, slots), overflow_log2(blocks, step + 1, slots));
                if exact > 1e-12 {
                    let over = bound - libm::log2(exact);
                    assert!((-1e-6..1.0).contains(&over), "{slots} of {blocks}: 2^{bound} for {exact}");
                }
            }
        }
    }

    #[test]
    fn a_message_is_no_longer_than_it_must_be() {
        let of_a_thousand = [1, 2, 4, 8, 16, 20, 21, 21, 22, 22];
        assert!((0..10).map(|step| message_blocks(10, step)).eq(of_a_thousand));
        assert!((0..4).map(|step| message_blocks(4, step)).eq([1, 2, 4, 8]), "few cannot be too many");
    }
}
