//! Offline work that another processor would do while the program runs: the paper's discount.

/// The sum, over faults, of the smaller of two: the fault's offline work, and the time to the next fault.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HiddenWork {
    /// The number of instructions retired at the end of the last fault.
    ended: u64,
    /// The offline work of the last fault.
    work: u64,
    sum: u64,
}

impl HiddenWork {
    /// Records the beginning of a fault.
    pub(crate) fn begin(&mut self, now: u64) {
        self.sum += self.work.min(now.saturating_sub(self.ended));
        self.work = 0;
    }

    /// Records the end of a fault, with the instructions of its offline work.
    pub(crate) fn end(&mut self, now: u64, work: u64) {
        (self.ended, self.work) = (now, work);
    }

    /// The sum so far.
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    /// Forgets the last fault: no later one hides its work.
    pub(crate) fn flush_translation(&mut self) {
        self.work = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_offline_work_and_the_time_to_the_next_fault_is_hidden() {
        let mut hidden = HiddenWork::default();
        hidden.begin(1000);
        hidden.end(1500, 200);
        assert_eq!(hidden.sum(), 0, "the next fault tells");
        hidden.begin(1550);
        hidden.end(2000, 200);
        assert_eq!(hidden.sum(), 50, "it came before the work would have been done");
        hidden.begin(3000);
        assert_eq!(hidden.sum(), 250, "all of it");
        hidden.begin(4000);
        assert_eq!(hidden.sum(), 250, "a fault's work is hidden once");
    }

    #[test]
    fn work_from_before_counting_is_not_hidden() {
        let mut hidden = HiddenWork::default();
        hidden.end(100, 50);
        hidden.flush_translation();
        hidden.begin(1000);
        assert_eq!(hidden.sum(), 0);
    }
}
