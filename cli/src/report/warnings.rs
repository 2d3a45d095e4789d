//! Early warnings for the operator. A warning is logged once when it begins and once when it ends, and is in `status`
//! while it lasts.

use crate::config::size::Size;
use crate::report::full_disk_reads::ReadsOnFullStore;
use crate::runtime::file_system::is_one_of;
use crate::vault::trusted_memory::TrustedMemory;
use ameles_store::Versioning;
use ameles_vault::{ReserveFigures, StoreFigures, VaultParameters};
use std::collections::BTreeSet;
use std::path::Path;

/// The magic numbers of file systems in memory: tmpfs and ramfs.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// A condition that needs an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// The provider keeps deleted objects.
    Versioning,
    /// The trusted folder's disk is nearly full.
    Disk,
    /// The trusted folder's disk is full.
    DiskFull,
    /// The reserved space is nearly used up, or used up.
    DiskReads,
    /// The store is full.
    StoreFull,
    /// The next read needs an eviction, which finds no space in the store.
    StoreReads,
    /// The stash is fuller than usual.
    Stash,
    /// The trusted folder is in memory.
    InMemory,
}

/// The figures that the warnings depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// The number of free bytes on the trusted folder's disk, if known.
    pub free_bytes: Option<u64>,
    /// The number of blocks in the stash at the last time with nothing in flight.
    pub stash_blocks: u64,
    /// The reserved space on the trusted disk.
    pub reserve: ReserveFigures,
    /// The space in the store.
    pub store: StoreFigures,
}

/// Checks the figures periodically, and remembers the active warnings.
#[derive(Debug)]
pub struct WarningMonitor {
    versioning: Versioning,
    /// True if the trusted folder is in the machine's memory.
    in_memory: bool,
    /// A warning begins with fewer free bytes than this.
    min_free: u64,
    /// A warning begins with more blocks in the stash than this.
    max_usual: u64,
    /// The maximum number of blocks in the stash.
    stash_bound: u64,
    /// The reads that are answered when the store is full.
    reads: ReadsOnFullStore,
    active: BTreeSet<Warning>,
}

impl WarningMonitor {
    /// Creates a monitor for a vault with these parameters, this kind of store and this trusted folder.
    pub fn new(parameters: &VaultParameters, versioning: Versioning, trusted: &Path) -> Self {
        let stash_bound = parameters.scheme.stash_bound();
        let usual = TrustedMemory::of(parameters).resting_blocks;
        WarningMonitor {
            versioning,
            in_memory: is_one_of(trusted, &IN_MEMORY),
            min_free: 2 * parameters.trusted_disk_bytes(),
            // Half-way from the mean to the bound: chance alone rarely reaches it.
            max_usual: if usual < stash_bound { usual.midpoint(stash_bound) } else { stash_bound },
            stash_bound,
            reads: ReadsOnFullStore::of(parameters),
            active: BTreeSet::new(),
        }
    }

    /// Checks the figures, logs warnings that have begun or ended, and returns the active ones as sentences.
    pub fn check(&mut self, figures: &Figures) -> Vec<String> {
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
        let active: BTreeSet<Warning> =
            all.into_iter().filter(|warning| self.is_on(*warning, figures)).collect();
        for new_warning in active.difference(&self.active) {
            tracing::warn!("{}", self.sentence(*new_warning, figures));
        }
        for old_warning in self.active.difference(&active) {
            tracing::info!(warning = ?old_warning, "the warning is over");
        }
        self.active = active;
        self.active.iter().map(|warning| self.sentence(*warning, figures)).collect()
    }

    /// Returns true if a warning is active. It ends when its figure is a quarter better than where it began.
    fn is_on(&self, warning: Warning, figures: &Figures) -> bool {
        let is_active = self.active.contains(&warning);
        match warning {
            Warning::Versioning => self.versioning == Versioning::On,
            Warning::InMemory => self.in_memory,
            Warning::DiskFull => figures.reserve.is_full,
            Warning::DiskReads => figures.reserve.is_nearly_exhausted(),
            Warning::StoreFull => figures.store.is_full,
            Warning::StoreReads => figures.store.refuses_reads,
            Warning::Disk => {
                let enough = if is_active { self.min_free / 4 * 5 } else { self.min_free };
                figures.free_bytes.is_some_and(|free| free < enough)
            }
            Warning::Stash => {
                let many = if is_active { self.max_usual / 4 * 3 } else { self.max_usual };
                self.stash_bound > 0 && figures.stash_blocks > many
            }
        }
    }

    fn sentence(&self, warning: Warning, figures: &Figures) -> String {
        match warning {
            Warning::Versioning => {
                "the provider's bucket has versioning on: it keeps all deleted objects and charges for them; switch it off, \
                 or let old versions expire"
                    .into()
            }
            Warning::InMemory => {
                "the trusted folder is in memory (tmpfs or ramfs): when this machine stops, its files are lost, with the users \
                 and any key in it; choose a --data folder on a disk"
                    .into()
            }
            Warning::Disk => format!(
                "the trusted folder's disk is nearly full: {} free, and the next checkpoint with the journal up to it needs {}; \
                 free some space",
                Size(figures.free_bytes.unwrap_or(0)),
                Size(self.min_free / 2),
            ),
            Warning::DiskFull => format!(
                "the trusted folder's disk is full, with {} of {} of the reserved space left: writes get 507; at least {} more \
                 reads are answered, then reads get 503; free some space",
                Size(figures.reserve.held),
                Size(figures.reserve.sizes.whole),
                figures.reserve.reads(),
            ),
            Warning::DiskReads if figures.reserve.refuses_reads() => {
                "reads get 503 too: the rest of the trusted folder's disk is for pending work; lists and deletions still work; \
                 free some space"
                    .into()
            }
            Warning::DiskReads => format!(
                "reads are about to get 503: the trusted folder's disk has space for at least {} more; free some space",
                figures.reserve.reads()
            ),
            Warning::StoreFull => {
                format!("the store is full: writes get 507, and {}; free some space in it", self.reads)
            }
            Warning::StoreReads => {
                "reads get 503 too: the next read needs an eviction, and the store is full; lists and deletions still work; \
                 free some space in it"
                    .into()
            }
            Warning::Stash => format!(
                "the stash is filling up: {} blocks, usually up to {}, at most {}; when it is full, an emergency eviction is \
                 visible to the provider",
                figures.stash_blocks, self.max_usual, self.stash_bound
            ),
        }
    }
}

/// Returns the free bytes on a folder's disk.
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
    use crate::config::Settings;
    use crate::vault::parameters::vault_parameters;

    fn watch(scheme: &str, versioning: Versioning) -> WarningMonitor {
        watch_in(Path::new("/nowhere"), scheme, versioning)
    }

    fn watch_in(trusted: &Path, scheme: &str, versioning: Versioning) -> WarningMonitor {
        let text = format!("[vault]\nscheme = \"{scheme}\"\ncapacity = \"64MiB\"");
        let settings = Settings::from_toml(&text);
        WarningMonitor::new(&vault_parameters(&settings).unwrap(), versioning, trusted)
    }

    fn figures(free_bytes: u64, stash_blocks: u64) -> Figures {
        Figures { free_bytes: Some(free_bytes), stash_blocks, ..Figures::default() }
    }

    const PLENTY: u64 = 1 << 50;

    #[test]
    fn a_full_disk_is_one_warning_until_there_is_space_again() {
        let mut watch = watch("ring", Versioning::Off);
        let min = watch.min_free;
        assert!(watch.check(&figures(min, 0)).is_empty());
        let messages = watch.check(&figures(min - 1, 0));
        assert!(messages.len() == 1 && messages[0].contains("nearly full"), "{messages:?}");
        // Near the threshold, it neither ends nor begins again.
        assert_eq!(watch.check(&figures(min + 1, 0)).len(), 1);
        assert!(watch.check(&figures(min / 4 * 5, 0)).is_empty());
        assert!(watch.check(&figures(min, 0)).is_empty());
        // If the free bytes are unknown, there is no warning.
        assert!(watch.check(&Figures::default()).is_empty());
    }

    #[test]
    fn a_disk_with_room_for_less_than_a_checkpoint_and_its_journal_is_warned_of() {
        let mut watch = watch("ring", Versioning::Off);
        // 64 MiB in blocks of 64 KiB: the journal up to a checkpoint holds 256 writes.
        assert!(watch.min_free > 2 * 256 * (64 << 10), "{}", watch.min_free);
        assert_eq!(watch.check(&figures(256 * (64 << 10), 0)).len(), 1);
    }

    #[test]
    fn full_disks_are_warned_of_with_the_remaining_reads() {
        let mut watch = watch("ring", Versioning::Off);
        let sizes = ameles_vault::ReserveSizes { whole: 3 << 20, pending: 1 << 20, access: 1 << 16 };
        let mut disk = |held| {
            let reserve = ReserveFigures { sizes, held, is_full: true };
            watch.check(&Figures { reserve, ..figures(PLENTY, 0) })
        };
        let messages = disk((1 << 20) + (20 << 16) + (1 << 15));
        assert!(messages.len() == 1 && messages[0].contains("at least 20 more"), "{messages:?}");
        let messages = disk((1 << 20) + (5 << 15));
        assert!(messages.len() == 2 && messages[1].contains("about to get 503"), "{messages:?}");
        let messages = disk(1 << 20);
        assert!(messages.len() == 2 && messages[1].contains("reads get 503 too"), "{messages:?}");
        let mut store = |refuses_reads| {
            let store = StoreFigures { is_full: true, refuses_reads };
            watch.check(&Figures { store, ..figures(PLENTY, 0) })
        };
        let messages = store(false);
        assert!(
            messages.len() == 1 && messages[0].contains("507, and reads are answered for "),
            "{messages:?}"
        );
        let messages = store(true);
        assert!(messages.len() == 2 && messages[1].contains("reads get 503 too"), "{messages:?}");
    }

    #[test]
    fn a_stash_that_rises_towards_its_bound_is_warned_of_and_a_usual_one_is_not() {
        for scheme in ["ring", "path"] {
            let mut watch = watch(scheme, Versioning::Off);
            let (max, bound) = (watch.max_usual, watch.stash_bound);
            assert!(max < bound, "{scheme}");
            assert!(watch.check(&figures(PLENTY, max)).is_empty());
            let messages = watch.check(&figures(PLENTY, max + 1));
            assert!(messages.len() == 1 && messages[0].contains("stash is filling up"), "{messages:?}");
            assert_eq!(watch.check(&figures(PLENTY, max)).len(), 1);
            assert!(watch.check(&figures(PLENTY, max / 4 * 3)).is_empty());
        }
        assert!(watch("trivial", Versioning::Off).check(&figures(PLENTY, 0)).is_empty());
    }

    #[test]
    fn only_versioning_that_is_on_is_warned_of() {
        for (versioning, warnings) in
            [(Versioning::On, 1), (Versioning::Off, 0), (Versioning::Suspended, 0), (Versioning::Unknown, 0)]
        {
            assert_eq!(
                watch("ring", versioning).check(&figures(PLENTY, 0)).len(),
                warnings,
                "{versioning:?}"
            );
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_trusted_folder_in_memory_is_warned_of_and_no_other() {
        let messages =
            |folder: &str| watch_in(Path::new(folder), "ring", Versioning::Off).check(&figures(PLENTY, 0));
        // /dev/shm is a tmpfs by definition.
        let in_memory = messages("/dev/shm");
        assert!(in_memory.len() == 1 && in_memory[0].contains("(tmpfs or ramfs)"), "{in_memory:?}");
        assert!(messages("/proc").is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_free_bytes_of_a_disk_are_known() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).is_some_and(|free| free > 0));
        assert_eq!(free_bytes(Path::new("/nowhere")), None);
    }
}
