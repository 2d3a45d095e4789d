//! Counters of a fault path. An observer of the faults sees all of them, except the soft faults
//! and the number of pages that hold something.

/// Counts since construction. Times are in nanoseconds by [`Frames::now`](super::frames::Frames::now), or 0 without a
/// clock. `ameles_counters` of the C interface.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of pages that were paged in through the scheme.
    pub faults: u64,
    /// The number of pages that were written through the scheme to make room.
    pub evictions: u64,
    /// The number of accesses to a page during its second chance: it was still resident and went through no scheme.
    pub soft_faults: u64,
    /// The number of faults that another thread had handled already.
    pub repeated: u64,
    /// The number of steps of the scheme's offline work.
    pub idle_steps: u64,
    /// The time in the faults counted in `faults`, from entering the fault path to leaving it.
    pub total_nanos: u64,
    /// The part of `total_nanos` for taking victims out and mapping pages.
    pub frames_nanos: u64,
    /// The part of `total_nanos` for writing victims through the scheme.
    pub write_nanos: u64,
    /// The part of `total_nanos` for reading pages through the scheme.
    pub read_nanos: u64,
    /// The time in `step`, outside of faults.
    pub idle_nanos: u64,
    /// The number of pages that hold something now: they were accessed and not discarded since. Not a count of events.
    pub held_pages: u64,
    /// The largest value of `held_pages` so far.
    pub max_held_pages: u64,
    /// The current limit of resident pages, if it follows the number of pages that hold something; 0 otherwise. Not a
    /// count of events either.
    pub max_resident: u64,
}
