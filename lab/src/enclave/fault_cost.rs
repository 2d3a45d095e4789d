//! The cost of counted faults.

use crate::add_fields::add_fields;
use ameles_pager::scheme::Scheme;

/// The sum of the costs of the counted faults, over all runs of a program. All fields but `faults` and `nanos` are
/// instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCost {
    /// The number of faults.
    pub faults: u64,
    /// All work of all harts, including the program's own.
    pub total: u64,
    /// The part of these instructions in page faults.
    pub in_faults: u64,
    /// The part of that between the faults: refreshes ahead, unloading.
    pub off_line: u64,
    /// The part of it that another hart would have done while the program ran.
    pub hidden: u64,
    /// The number of system calls of the program.
    pub system_calls: u64,
    /// The number of ciphers.
    pub ciphers: u64,
    /// The number of copies between private and untrusted memory, and to where a page is sealed.
    pub copies: u64,
    /// The shares of all harts in sealing and opening.
    pub shared: u64,
    /// The longest share of each batch.
    pub longest: u64,
    /// The work of the first hart to hand shares over, and to join.
    pub hand_over: u64,
    /// The number of nanoseconds by the wall clock; 0 if instructions were counted.
    pub nanos: u64,
}

impl FaultCost {
    /// The instructions of the critical path. Work that harts do at the same time counts once. Off-line work counts
    /// only as far as it delays the program's next fault.
    ///
    /// The sum is computed as in the paper for its Eager and Parallel forms (section 5), but from counts instead of
    /// times.
    pub fn critical_path(&self, scheme: Scheme) -> u64 {
        let hidden = match scheme {
            Scheme::Eager | Scheme::EagerParallel => self.hidden,
            _ => 0,
        };
        self.total - (self.shared - self.longest) - hidden
    }

    /// The program's own work.
    pub(super) fn program_work(&self) -> u64 {
        self.total - self.in_faults - self.system_calls
    }

    /// The instructions of faults that are neither in ciphers nor in copies.
    pub(super) fn bookkeeping(&self) -> u64 {
        self.in_faults - self.ciphers - self.copies
    }

    /// Returns a count divided by the number of faults.
    pub(super) fn per_fault(&self, of: u64) -> f64 {
        of as f64 / self.faults.max(1) as f64
    }

    /// The instructions of a fault outside of ciphers.
    pub(super) fn outside_ciphers(&self) -> f64 {
        self.per_fault(self.in_faults - self.ciphers)
    }
}

add_fields!(FaultCost {
    faults,
    total,
    in_faults,
    off_line,
    hidden,
    system_calls,
    ciphers,
    copies,
    shared,
    longest,
    hand_over,
    nanos,
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_at_the_same_time_counts_once_and_hidden_work_only_where_another_hart_would_do_it() {
        let counted =
            FaultCost { total: 1000, shared: 600, longest: 200, hidden: 50, ..FaultCost::default() };
        assert_eq!(counted.critical_path(Scheme::EagerParallel), 550);
        assert_eq!(counted.critical_path(Scheme::Parallel), 600);
        let alone = FaultCost { shared: 0, longest: 0, ..counted };
        assert_eq!(alone.critical_path(Scheme::Eager), 950);
        // The paper hides no off-line work of Path ORAM.
        assert_eq!(alone.critical_path(Scheme::Path), 1000);
    }
}
