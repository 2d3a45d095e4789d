//! Instructions between the requests of a trace that has times and no instructions.
//!
//! The lab's processor has one clock of 3.2 GHz, and executes up to four instructions per cycle. A time says nothing of
//! instructions, so each cycle of that clock counts as one.

/// Cycles of the processor in a second.
const CLOCK: u64 = 3_200_000_000;

/// Cycles in a second of the memory of IR-ORAM's Table I, which runs at 800 MHz.
pub(super) const MEMORY_CLOCK: u64 = 800_000_000;

/// The time between requests, as instructions.
#[derive(Debug)]
pub(super) struct Pauses {
    /// Units of time in a second.
    frequency: u64,
    /// The cycle of the latest request so far.
    latest: Option<u64>,
}

impl Pauses {
    /// A trace whose times count `frequency` units in a second, which is not 0.
    pub(super) fn new(frequency: u64) -> Self {
        Pauses { frequency, latest: None }
    }

    /// The instructions before a request at this time, without the instruction of the request itself. There are none
    /// before the first request, and before a request that does not come later than the previous one.
    pub(super) fn instructions(&mut self, time: u64) -> u32 {
        let cycle = u128::from(time) * u128::from(CLOCK) / u128::from(self.frequency.max(1));
        let cycle = u64::try_from(cycle).unwrap_or(u64::MAX);
        let latest = self.latest.unwrap_or(cycle);
        self.latest = Some(latest.max(cycle));
        let between = cycle.saturating_sub(latest).saturating_sub(1);
        u32::try_from(between).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_of_3_2_gigahertz_is_an_instruction_and_time_does_not_run_back() {
        let mut ticks = Pauses::new(1_000_000_000_000);
        // 312.5 ticks of a picosecond are a cycle: these are in the cycles 16, 16, 18, 26, 16, 26 and 27.
        let found: Vec<u32> =
            [5000, 5312, 5625, 8125, 5000, 8125, 8438].map(|at| ticks.instructions(at)).into();
        assert_eq!(found, [0, 0, 1, 7, 0, 0, 0]);
        let mut cycles = Pauses::new(MEMORY_CLOCK);
        assert_eq!([0, 1, 100, u64::MAX].map(|at| cycles.instructions(at)), [0, 3, 395, u32::MAX]);
    }
}
