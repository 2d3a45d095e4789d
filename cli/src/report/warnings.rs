//! The warnings that an operator should have early: in the log once when a warning begins and once when it ends, and in
//! `status` as long as it lasts.

use crate::config::size::Size;
use crate::report::reserve::ReadsOnFullStore;
use crate::runtime::file_system::is_one_of;
use crate::vault::trusted_memory::TrustedMemory;
use ameles_store::Versioning;
use ameles_vault::{RoomFigures, StoreFigures, VaultParameters};
use std::collections::BTreeSet;
use std::path::Path;

/// The magic numbers of file systems that are gone when the machine stops: tmpfs and ramfs.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Something to do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// The provider keeps what is deleted.
    Versioning,
    /// The trusted folder's disk is nearly full.
    Disk,
    /// The trusted folder's disk is full.
    DiskFull,
    /// The room that is kept for that is nearly used up, or used up.
    DiskReads,
    /// The store is full.
    StoreFull,
    /// An eviction must come before the next read, and finds no room in the store.
    StoreReads,
    /// The stash is fuller than it is as a rule.
    Stash,
    /// The trusted folder is in memory.
    InMemory,
}

/// The figures that the warnings depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Bytes free on the trusted folder's disk, where that is known.
    pub free_bytes: Option<u64>,
    /// Blocks in the stash when last nothing was in flight.
    pub stash_blocks: u64,
    /// The room that is kept on the trusted disk.
    pub room: RoomFigures,
    /// The room of the store.
    pub store: StoreFigures,
}

/// Looks at the figures, now and then, and knows what it has warned of.
#[derive(Debug)]
pub struct Watch {
    versioning: Versioning,
    /// Tells whether the trusted folder goes with the machine's memory.
    in_memory: bool,
    /// Fewer bytes free than these are few.
    min_free: u64,
    /// More blocks in the stash than these are many, and so many it can hold.
    max_usual: u64,
    stash_bound: u64,
    /// The reads that go on when the store is full.
    reads: ReadsOnFullStore,
    lasting: BTreeSet<Warning>,
}

impl Watch {
    /// A watch for a vault with these parameters, over a store of this kind and with this trusted folder.
    pub fn new(parameters: &VaultParameters, versioning: Versioning, trusted: &Path) -> Self {
        let stash_bound = parameters.scheme.stash_bound();
        let usual = TrustedMemory::of(parameters).resting_blocks;
        Watch {
            versioning,
            in_memory: is_one_of(trusted, &IN_MEMORY),
            min_free: 2 * parameters.trusted_disk_bytes(),
            // Half-way from the mean to the bound: chance hardly leads there.
            max_usual: if usual < stash_bound { usual.midpoint(stash_bound) } else { stash_bound },
            stash_bound,
            reads: ReadsOnFullStore::of(parameters),
            lasting: BTreeSet::new(),
        }
    }

    /// Looks, logs what has begun or ended since the last look, and tells what lasts, a sentence each.
    pub fn look(&mut self, figures: &Figures) -> Vec<String> {
        let all = [
            Warning::Versioning,
            Warning::Disk,
            Warning::DiskFull,
            Warning::DiskReads,
            Warning::StoreFull,
            Warning::StoreReads,
            Warning::Stash,
            Warning::InMemory,
        ];
        let lasting: BTreeSet<Warning> =
            all.into_iter().filter(|warning| self.is_on(*warning, figures)).collect();
        for begun in lasting.difference(&self.lasting) {
            tracing::warn!("{}", self.sentence(*begun, figures));
        }
        for ended in self.lasting.difference(&lasting) {
            tracing::info!(warning = ?ended, "the warning is over");
        }
        self.lasting = lasting;
        self.lasting.iter().map(|warning| self.sentence(*warning, figures)).collect()
    }

    /// An episode that has begun ends when things are a quarter better than where it began.
    fn is_on(&self, warning: Warning, figures: &Figures) -> bool {
        let lasts = self.lasting.contains(&warning);
        match warning {
            Warning::Versioning => self.versioning == Versioning::On,
            Warning::InMemory => self.in_memory,
            Warning::DiskFull => figures.room.is_full,
            Warning::DiskReads => figures.room.is_nearly_exhausted(),
            Warning::StoreFull => figures.store.is_full,
            Warning::StoreReads => figures.store.refuses_reads,
            Warning::Disk => {
                let enough = if lasts { self.min_free / 4 * 5 } else { self.min_free };
                figures.free_bytes.is_some_and(|free| free < enough)
            }
            Warning::Stash => {
                let many = if lasts { self.max_usual / 4 * 3 } else { self.max_usual };
                self.stash_bound > 0 && figures.stash_blocks > many
            }
        }
    }

    fn sentence(&self, warning: Warning, figures: &Figures) -> String {
        match warning {
            Warning::Versioning => {
                "the provider's bucket has versioning on: it keeps, and charges for, everything \
                that is deleted; switch it off, or have old versions expire"
                    .into()
            }
            Warning::InMemory => {
                "the trusted folder is in memory (tmpfs or ramfs): when this machine stops, all is lost that the store lacks, \
                 the users and a key in that folder too; name a --data folder on a disk"
                    .into()
            }
            Warning::Disk => format!(
                "the trusted folder's disk is nearly full: {} free, {} are needed for the next checkpoint and the \
                 journal up to it; free some space",
                Size(figures.free_bytes.unwrap_or(0)),
                Size(self.min_free / 2),
            ),
            Warning::DiskFull => format!(
                "the trusted folder's disk is full, and {} of {} are left of what is kept for that: writes get 507, {} reads \
                 more are answered at least, and 503 after them; free some space",
                Size(figures.room.held),
                Size(figures.room.sizes.whole),
                figures.room.reads(),
            ),
            Warning::DiskReads if figures.room.refuses_reads() => {
                "reads get 503 too: what is left on the trusted folder's disk is for what is owed; lists and deletions go on; \
                 free some space"
                    .into()
            }
            Warning::DiskReads => format!(
                "reads are about to get 503: the trusted folder's disk has room for {} more at least; free some space",
                figures.room.reads()
            ),
            Warning::StoreFull => {
                format!("the store is full: writes get 507, and {}; free some space in it", self.reads)
            }
            Warning::StoreReads => {
                "reads get 503 too: an eviction must come first, and the store is full; lists and deletions go on; free some \
                 space in it"
                    .into()
            }
            Warning::Stash => format!(
                "the stash is rising: {} blocks, as a rule up to {}, at most {}; when it is full an emergency \
                 eviction shows",
                figures.stash_blocks, self.max_usual, self.stash_bound
            ),
        }
    }
}

/// Bytes that are free on a folder's disk.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let disk = rustix::fs::statvfs(folder).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};
    use crate::vault::parameters::vault_parameters;

    fn watch(scheme: &str, versioning: Versioning) -> Watch {
        watch_in(Path::new("/nowhere"), scheme, versioning)
    }

    fn watch_in(trusted: &Path, scheme: &str, versioning: Versioning) -> Watch {
        let text = format!("[vault]\nscheme = \"{scheme}\"\ncapacity = \"64MiB\"");
        let settings = Settings::resolve(Config::parse(&text, Path::new("ameles.toml")).unwrap()).unwrap();
        Watch::new(&vault_parameters(&settings).unwrap(), versioning, trusted)
    }

    fn figures(free_bytes: u64, stash_blocks: u64) -> Figures {
        Figures { free_bytes: Some(free_bytes), stash_blocks, ..Figures::default() }
    }

    const PLENTY: u64 = 1 << 50;

    #[test]
    fn a_disk_that_fills_up_is_one_episode_until_there_is_space_again() {
        let mut watch = watch("ring", Versioning::Off);
        let min = watch.min_free;
        assert!(watch.look(&figures(min, 0)).is_empty());
        let warned = watch.look(&figures(min - 1, 0));
        assert!(warned.len() == 1 && warned[0].contains("nearly full"), "{warned:?}");
        // On the edge, it neither ends nor begins anew.
        assert_eq!(watch.look(&figures(min + 1, 0)).len(), 1);
        assert!(watch.look(&figures(min / 4 * 5, 0)).is_empty());
        assert!(watch.look(&figures(min, 0)).is_empty());
        // Where the system does not say, nothing is said.
        assert!(watch.look(&Figures::default()).is_empty());
    }

    #[test]
    fn a_disk_with_room_for_less_than_a_checkpoint_and_its_journal_is_warned_of() {
        let mut watch = watch("ring", Versioning::Off);
        // 64 MiB in blocks of 64 KiB: the journal up to a checkpoint holds 256 writes.
        assert!(watch.min_free > 2 * 256 * (64 << 10), "{}", watch.min_free);
        assert_eq!(watch.look(&figures(256 * (64 << 10), 0)).len(), 1);
    }

    #[test]
    fn full_disks_are_warned_of_with_the_reads_that_are_left() {
        let mut watch = watch("ring", Versioning::Off);
        let sizes = ameles_vault::ReserveSizes { whole: 3 << 20, owed: 1 << 20, access: 1 << 16 };
        let mut disk = |held| {
            let room = RoomFigures { sizes, held, is_full: true };
            watch.look(&Figures { room, ..figures(PLENTY, 0) })
        };
        let warned = disk((1 << 20) + (20 << 16) + (1 << 15));
        assert!(warned.len() == 1 && warned[0].contains("507, 20 reads more"), "{warned:?}");
        let warned = disk((1 << 20) + (5 << 15));
        assert!(warned.len() == 2 && warned[1].contains("about to get 503"), "{warned:?}");
        let warned = disk(1 << 20);
        assert!(warned.len() == 2 && warned[1].contains("reads get 503 too"), "{warned:?}");
        let mut store = |refuses_reads| {
            let store = StoreFigures { is_full: true, refuses_reads };
            watch.look(&Figures { store, ..figures(PLENTY, 0) })
        };
        let warned = store(false);
        assert!(warned.len() == 1 && warned[0].contains("507, and reads go on for "), "{warned:?}");
        let warned = store(true);
        assert!(warned.len() == 2 && warned[1].contains("reads get 503 too"), "{warned:?}");
    }

    #[test]
    fn a_stash_that_rises_towards_its_bound_is_warned_of_and_a_usual_one_is_not() {
        for scheme in ["ring", "path"] {
            let mut watch = watch(scheme, Versioning::Off);
            let (max, bound) = (watch.max_usual, watch.stash_bound);
            assert!(max < bound, "{scheme}");
            assert!(watch.look(&figures(PLENTY, max)).is_empty());
            let warned = watch.look(&figures(PLENTY, max + 1));
            assert!(warned.len() == 1 && warned[0].contains("stash is rising"), "{warned:?}");
            assert_eq!(watch.look(&figures(PLENTY, max)).len(), 1);
            assert!(watch.look(&figures(PLENTY, max / 4 * 3)).is_empty());
        }
        assert!(watch("trivial", Versioning::Off).look(&figures(PLENTY, 0)).is_empty());
    }

    #[test]
    fn only_versioning_that_is_on_is_warned_of() {
        for (versioning, warnings) in
            [(Versioning::On, 1), (Versioning::Off, 0), (Versioning::Suspended, 0), (Versioning::Unknown, 0)]
        {
            assert_eq!(watch("ring", versioning).look(&figures(PLENTY, 0)).len(), warnings, "{versioning:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_trusted_folder_in_memory_is_warned_of_and_no_other() {
        let warned =
            |folder: &str| watch_in(Path::new(folder), "ring", Versioning::Off).look(&figures(PLENTY, 0));
        // Its memory is a tmpfs by definition.
        let in_memory = warned("/dev/shm");
        assert!(in_memory.len() == 1 && in_memory[0].contains("(tmpfs or ramfs)"), "{in_memory:?}");
        assert!(warned("/proc").is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_free_bytes_of_a_disk_are_known() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).is_some_and(|free| free > 0));
        assert_eq!(free_bytes(Path::new("/nowhere")), None);
    }
}
