//! The machine of a gateway, as its lease sees it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The clock of a machine, and a mark that identifies the machine and the trusted disk. Clones share it.
#[derive(Clone)]
pub struct Host {
    clock: Arc<dyn Fn() -> Duration + Send + Sync>,
    mark: Option<Vec<u8>>,
}

impl Host {
    /// The current machine, with the trusted disk in this file, which must exist.
    ///
    /// On Linux the clock includes the time for which the machine was suspended. The mark identifies this boot of the
    /// machine and this file. A copy of the file has another mark, and so has the file after a reboot. On other systems
    /// there is no mark, and the clock is that of the standard library.
    pub fn system(file: &Path) -> Self {
        Host { clock: system::clock(), mark: system::mark(file) }
    }

    /// A machine for simulations. `clock` returns the time since a fixed instant.
    pub fn of(clock: impl Fn() -> Duration + Send + Sync + 'static, mark: Option<Vec<u8>>) -> Self {
        Host { clock: Arc::new(clock), mark }
    }

    /// The time since a fixed instant.
    pub(crate) fn now(&self) -> Duration {
        (self.clock)()
    }

    /// The mark, if there is one.
    pub(super) fn mark(&self) -> Option<&[u8]> {
        self.mark.as_deref()
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::time::{ClockId, clock_gettime};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    /// The kernel draws a new id at each boot.
    const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

    pub(super) fn clock() -> Arc<dyn Fn() -> Duration + Send + Sync> {
        Arc::new(|| Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default())
    }

    pub(super) fn mark(file: &Path) -> Option<Vec<u8>> {
        let start = std::fs::read_to_string(BOOT_ID).ok()?;
        let metadata = std::fs::metadata(file).ok()?;
        Some(format!("{} {} {}", start.trim(), metadata.dev(), metadata.ino()).into_bytes())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    pub(super) fn clock() -> Arc<dyn Fn() -> Duration + Send + Sync> {
        let begin = Instant::now();
        Arc::new(move || begin.elapsed())
    }

    pub(super) fn mark(_: &Path) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_trusted_disk_has_another_mark_and_the_disk_itself_has_the_same_again() {
        let folder = tempfile::tempdir().unwrap();
        let (file, copy) = (folder.path().join("disk"), folder.path().join("copy"));
        std::fs::write(&file, b"contents").unwrap();
        std::fs::copy(&file, &copy).unwrap();
        let mark = |of: &Path| Host::system(of).mark().map(<[u8]>::to_vec);
        assert!(mark(&file).is_some());
        assert_ne!(mark(&file), mark(&copy));
        let moved = folder.path().join("moved");
        let before = mark(&file);
        std::fs::rename(&file, &moved).unwrap();
        std::fs::write(&moved, b"other contents").unwrap();
        assert_eq!(mark(&moved), before);
        assert_eq!(mark(&file), None, "there is no file");
    }

    #[test]
    fn the_clock_goes_forward() {
        let host = Host::system(Path::new("/"));
        let before = host.now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(host.now() > before);
    }
}
