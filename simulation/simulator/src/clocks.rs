//! The clock of the processor and that of its memory.

use ameles_processor::units::Cycle;

/// Both clocks in megahertz. A cycle of one need not be a whole number of cycles of the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    pub(crate) processor: u64,
    pub(crate) memory: u64,
}

impl Clocks {
    /// The first cycle of the processor that is not before a cycle of the memory.
    pub(crate) fn to_processor(self, at: ameles_dram::Cycle) -> Cycle {
        Cycle((at.0 * self.processor).div_ceil(self.memory))
    }

    /// The first cycle of the memory that is not before a cycle of the processor.
    pub(crate) fn to_memory(self, at: Cycle) -> ameles_dram::Cycle {
        ameles_dram::Cycle((at.0 * self.memory).div_ceil(self.processor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_of_one_clock_are_the_next_of_the_other_and_whole_multiples_are_exact() {
        let ddr3 = Clocks { processor: 3200, memory: 800 };
        assert_eq!(ddr3.to_processor(ameles_dram::Cycle(7)), Cycle(28));
        assert_eq!(ddr3.to_memory(Cycle(28)), ameles_dram::Cycle(7));
        assert_eq!(ddr3.to_memory(Cycle(29)), ameles_dram::Cycle(8));
        // 2400 cycles of DDR5-4800 are a microsecond.
        let ddr5 = Clocks { processor: 3200, memory: 2400 };
        assert_eq!(ddr5.to_processor(ameles_dram::Cycle(2400)), Cycle(3200));
        assert_eq!(ddr5.to_processor(ameles_dram::Cycle(2)), Cycle(3));
        assert_eq!(ddr5.to_memory(Cycle(3)), ameles_dram::Cycle(3));
    }
}
