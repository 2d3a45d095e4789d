//! Reloads a renewed certificate in a running gateway.

use crate::config::TlsSettings;
use ameles_gateway::Tls;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The time between two checks of the files, which read only their times and sizes.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Checks both files repeatedly, and reloads them when one has changed. Never returns.
pub async fn watch(files: TlsSettings, tls: Tls) {
    let mut watch_state = FileWatch::new(files, tls);
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        watch_state.poll();
    }
}

type Stamp = Option<(SystemTime, u64)>;

struct FileWatch {
    files: TlsSettings,
    tls: Tls,
    last: Option<(Stamp, Stamp)>,
}

impl FileWatch {
    /// Creates a watch of TLS files that were just loaded. The first check loads them again.
    fn new(files: TlsSettings, tls: Tls) -> Self {
        FileWatch { files, tls, last: None }
    }

    fn poll(&mut self) {
        let now = Some((stamp(&self.files.cert), stamp(&self.files.key)));
        if now == self.last {
            return;
        }
        let was_read = self.last.is_some();
        self.last = now;
        match self.tls.reload() {
            Ok(()) if was_read => tracing::info!("reloaded the certificate"),
            Ok(()) => {}
            // Between the writes of the two files of a renewal, this is normal.
            Err(error) => tracing::warn!(%error, "cannot reload the certificate: the old one stays in use"),
        }
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    fn write(path: &Path, text: &str, modified: SystemTime) {
        fs::write(path, text).unwrap();
        // Two writes may have the same file time.
        File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
    }

    #[test]
    fn a_renewal_is_loaded_once_both_files_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let files = TlsSettings { cert: folder.path().join("cert.pem"), key: folder.path().join("key.pem") };
        let pair = || {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
            (made.cert.pem(), made.signing_key.serialize_pem())
        };
        let put = |(cert, key): &(String, String), days: u64| {
            let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86400);
            write(&files.cert, cert, modified);
            write(&files.key, key, modified);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(&files.key, fs::Permissions::from_mode(0o600)).unwrap();
            }
        };
        let (first, second) = (pair(), pair());
        put(&first, 1);
        let tls = Tls::load(&files.cert, &files.key).unwrap();
        let mut watch_state = FileWatch::new(files.clone(), tls.clone());
        watch_state.poll();
        let before = tls.certificate();
        write(&files.cert, &second.0, SystemTime::UNIX_EPOCH + Duration::from_secs(2 * 86400));
        watch_state.poll();
        assert_eq!(tls.certificate(), before, "its key is not written yet");
        put(&second, 2);
        watch_state.poll();
        assert_ne!(tls.certificate(), before);
        fs::remove_file(&files.cert).unwrap();
        let served = tls.certificate();
        watch_state.poll();
        assert_eq!(tls.certificate(), served);
    }
}
