//! A running gateway takes over a renewed certificate.

use crate::config::TlsSettings;
use ameles_gateway::Tls;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The time between two looks at the files. They are asked for their times and sizes only.
const EVERY: Duration = Duration::from_secs(5);

/// Looks at both files again and again, and serves with what they hold when one has changed. Never ends.
pub async fn watch(files: TlsSettings, tls: Tls) {
    let mut watched = FileWatch::new(files, tls);
    loop {
        tokio::time::sleep(EVERY).await;
        watched.look();
    }
}

type Stamp = Option<(SystemTime, u64)>;

struct FileWatch {
    files: TlsSettings,
    tls: Tls,
    seen: Option<(Stamp, Stamp)>,
}

impl FileWatch {
    /// Takes the TLS files that were read a moment ago: the files are read once more at the first look.
    fn new(files: TlsSettings, tls: Tls) -> Self {
        FileWatch { files, tls, seen: None }
    }

    fn look(&mut self) {
        let now = Some((stamp(&self.files.cert), stamp(&self.files.key)));
        if now == self.seen {
            return;
        }
        let known_before = self.seen.is_some();
        self.seen = now;
        match self.tls.reload() {
            Ok(()) if known_before => tracing::info!("the certificate was read again"),
            Ok(()) => {}
            // Between the two files of a renewal that is only for a moment.
            Err(error) => tracing::warn!(%error, "the certificate of before stays"),
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
        // Writes may come within one tick of the clock of files.
        File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
    }

    #[test]
    fn a_renewal_is_taken_over_once_both_files_are_there() {
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
        let mut watched = FileWatch::new(files.clone(), tls.clone());
        watched.look();
        let before = tls.certificate();
        write(&files.cert, &second.0, SystemTime::UNIX_EPOCH + Duration::from_secs(2 * 86400));
        watched.look();
        assert_eq!(tls.certificate(), before, "its key is not there yet");
        put(&second, 2);
        watched.look();
        assert_ne!(tls.certificate(), before);
        fs::remove_file(&files.cert).unwrap();
        let served = tls.certificate();
        watched.look();
        assert_eq!(tls.certificate(), served);
    }
}
