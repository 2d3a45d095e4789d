//! The schemes by name, and what each hides.

use ameles_seal::named_enum;

/// The storage of pages in untrusted memory. A `Snapshot` adversary sees which slots changed between two times, a
/// `Full` one sees every read and write.
///
/// | | hides from | trusted memory, besides resident pages (R) and 1 byte a page |
/// |---|---|---|
/// | `Plain` | nobody | 8 bytes a page of versions |
/// | `DetWoOram`, `Parallel` | `Snapshot` | 4 bytes a page of position map, K + 1 pages, counters |
/// | `Eager`, `EagerParallel` | `Snapshot` | the same; the K + 1 pages are the preload buffer |
/// | `Path` | `Snapshot`, `Full` | 4 bytes a page of position map, 8 a bucket of versions, stash, two paths |
/// | `Opam` | nobody (broken, for comparison) | 4 bytes a page, 12 a slot, stash, a path of single slots |
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
