//! The schemes by name, and what each hides.

use ameles_seal::named_enum;

/// The storage of pages in untrusted memory. A `Snapshot` adversary sees which slots changed between two times, a
/// `Full` one sees every read and write.
///
/// | | hides from | trusted memory, besides resident pages (R) and 1 byte per page |
/// |---|---|---|
/// | `Plain` | nobody | versions of 8 bytes per page |
/// | `DetWoOram`, `Parallel` | `Snapshot` | position map of 4 bytes per page, K + 1 pages, counters |
/// | `Eager`, `EagerParallel` | `Snapshot` | the same; the K + 1 pages are the preload buffer |
/// | `Path` | `Snapshot`, `Full` | position map of 4 bytes per page, versions of 8 bytes per bucket, stash, two paths |
/// | `Opam` | nobody (broken, for comparison) | 4 bytes per page, 12 bytes per slot, stash, a path of single slots |
///
/// With a second process `Eager`, `Parallel` and `EagerParallel` have 4(K + 1) pages more, in memory that both share.
///
/// In addition, there are the key and one sealed page for each thread. `Region::trusted_bytes` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Encryption and authentication in place, no ORAM: the baseline.
    Plain,
    /// DetWoORAM.
    #[default]
    DetWoOram,
    /// DetWoORAM that refreshes its pages ahead and unloads them afterwards, between two faults.
    Eager,
    /// DetWoORAM that refreshes its pages in parallel on several threads.
    Parallel,
    /// Both.
    EagerParallel,
    /// Path ORAM.
    Path,
    /// OPAM (InvisiPage).
    Opam,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Scheme; 7] = [
        Scheme::Plain,
        Scheme::DetWoOram,
        Scheme::Eager,
        Scheme::Parallel,
        Scheme::EagerParallel,
        Scheme::Path,
        Scheme::Opam,
    ];

    /// The name used on command lines and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Plain => "plain",
            Scheme::DetWoOram => "detworam",
            Scheme::Eager => "eager",
            Scheme::Parallel => "parallel",
            Scheme::EagerParallel => "eager-parallel",
            Scheme::Path => "path",
            Scheme::Opam => "opam",
        }
    }

    /// Returns whether K matters.
    pub fn has_ratio(self) -> bool {
        matches!(self, Scheme::DetWoOram | Scheme::Eager | Scheme::Parallel | Scheme::EagerParallel)
    }

    /// Returns whether it seals and opens pages on several threads.
    pub fn is_parallel(self) -> bool {
        matches!(self, Scheme::Parallel | Scheme::EagerParallel)
    }
}

named_enum! {
    Scheme,
    /// The error for an unknown scheme.
    UnknownScheme,
    "unknown scheme; choose plain, detworam, eager, parallel, eager-parallel, path or opam"
}
