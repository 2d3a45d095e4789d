//! The processor, as paging asks for it.

/// The acts of which only the processor is able. It has no state here: there is one of it.
pub trait Processor {
    /// Forgets how the address was translated.
    fn forget(address: u64);

    /// Forgets instructions that it has fetched before.
    fn forget_instructions();

    /// Instructions that it has retired so far, without those that waited for the host.
    fn retired() -> u64;

    /// Nanoseconds by the machine's timer.
    fn nanos() -> u64;
}
