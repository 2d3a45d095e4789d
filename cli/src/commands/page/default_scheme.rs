//! The default scheme of a paged program.

use ameles_pager::scheme::Scheme;
use std::num::NonZero;
use std::thread::available_parallelism;

/// The load that other programs may have on a processor that counts as free.
const LOAD_TOLERANCE: f64 = 0.5;

/// Returns the fastest scheme for the free processors of this machine, by the load of the last minute.
///
/// A second process that shares its processor makes the program wait: without it, the program is faster.
pub(super) fn default_scheme() -> Scheme {
    let processors = available_parallelism().map_or(1, NonZero::get);
    // The kernel gives the load as a multiple of 2^-16.
    let load = rustix::system::sysinfo().loads[0] as f64 / 65536.0;
    for_machine(processors, load)
}

/// The program needs one processor, and the second process needs another.
fn for_machine(processors: usize, load: f64) -> Scheme {
    if load + 2.0 <= processors as f64 + LOAD_TOLERANCE { Scheme::EagerParallel } else { Scheme::DetWoOram }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_shared_with_a_second_process_only_where_a_processor_is_free_for_it() {
        for (processors, load, expected) in [
            (1, 0.0, Scheme::DetWoOram),
            (2, 0.0, Scheme::EagerParallel),
            (2, 0.5, Scheme::EagerParallel),
            (2, 1.0, Scheme::DetWoOram),
            (2, 4.0, Scheme::DetWoOram),
            (8, 6.0, Scheme::EagerParallel),
            (8, 7.0, Scheme::DetWoOram),
        ] {
            assert_eq!(for_machine(processors, load), expected, "{load} of {processors}");
        }
    }
}
