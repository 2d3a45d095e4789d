//! The counts of a fault path. All of them show to whoever watches the faults, but for the soft faults
//! and how many pages hold something.

/// Counts since construction; times in nanoseconds by [`Frames::now`](super::frames::Frames::now), 0 without a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages that were brought in through the scheme.
    pub faults: u64,
    /// Pages that were written through the scheme to make room.
    pub evictions: u64,
    /// Touches of a page that had its second chance: it was still here and went through no scheme.
    pub soft_faults: u64,
    /// Faults that another thread had served already.
    pub repeated: u64,
    /// Steps of the scheme's off-line work.
    pub idle_steps: u64,
    /// Time in the faults counted in `faults`, from the entry into the fault path to its end.
    pub total_nanos: u64,
    /// Of it, taking victims out and putting pages in.
    pub frames_nanos: u64,
    /// Of it, writing victims through the scheme.
    pub write_nanos: u64,
    /// Of it, reading pages through the scheme.
    pub read_nanos: u64,
    /// Time in `step`, outside of faults.
    pub idle_nanos: u64,
    /// Pages that were touched and not given up since: no count of events, but what is now.
    pub held_pages: u64,
    /// The most there were at a time.
    pub max_held_pages: u64,
    /// Pages that may be resident, if their number follows that of the pages that hold something; else
    /// 0. No count of events either.
    pub max_resident: u64,
}
