//! The gateway's S3 credentials: made once, kept with the trusted state, the same at every opening.

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// What a client signs its requests with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// Public: stands in every request. 20 characters.
    pub access_key_id: String,
    /// Secret. 40 characters, 240 bits.
    pub secret_access_key: String,
}

/// Shows the public half only.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("access_key_id", &self.access_key_id).finish_non_exhaustive()
    }
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read or written.
    #[error("the gateway's credentials in {} cannot be {verb}: {error}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What was tried.
        verb: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// The file holds something else.
    #[error(
        "{} holds no credentials: it needs access_key_id and secret_access_key; remove it to have new ones made",
        .0.display()
    )]
    Garbled(PathBuf),
    /// Other users of the machine can read the file.
    #[error("{file} can be read by other users of this machine: `chmod 600 {file}`", file = .0.display())]
    Exposed(PathBuf),
    /// The system gave no random numbers.
    #[error("the system gave no random numbers for new credentials")]
    NoRandomness,
}

impl Credentials {
    /// Reads them, if there are any yet.
    ///
    /// # Errors
    /// See [`CredentialsError`]. A file that cannot be used is left as it is.
    pub fn load(file: &Path) -> Result<Option<Credentials>, CredentialsError> {
        let failed = |error| CredentialsError::File { file: file.to_path_buf(), verb: "read", error };
        match std::fs::read_to_string(file) {
            Ok(mut text) => {
                if readable_by_others(file).map_err(failed)? {
                    return Err(CredentialsError::Exposed(file.to_path_buf()));
                }
                let read = toml::from_str(&text).map_err(|_| CredentialsError::Garbled(file.to_path_buf()));
                text.zeroize();
                read.map(Some)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Makes new ones and keeps them in `file`, which must not be there yet.
    ///
    /// # Errors
    /// See [`CredentialsError`].
    pub fn make(file: &Path) -> Result<Credentials, CredentialsError> {
        let credentials = Credentials::random()?;
        let failed = |error| CredentialsError::File { file: file.to_path_buf(), verb: "written", error };
        credentials.write(file).map_err(failed)?;
        Ok(credentials)
    }

    fn random() -> Result<Credentials, CredentialsError> {
        let mut id = [0; 10];
        let mut secret = [0; 30];
        let random = SystemRandom::new();
        random.fill(&mut id).map_err(|_| CredentialsError::NoRandomness)?;
        random.fill(&mut secret).map_err(|_| CredentialsError::NoRandomness)?;
        let credentials = Credentials {
            access_key_id: format!("LTHE{}", BASE32_NOPAD.encode(&id)),
            secret_access_key: BASE64URL_NOPAD.encode(&secret),
        };
        secret.zeroize();
        Ok(credentials)
    }

    /// Whole or not at all, and closed to other users from the first moment.
    fn write(&self, file: &Path) -> io::Result<()> {
        let folder = file.parent().unwrap_or(Path::new("."));
        let mut text = toml::to_string(self).map_err(io::Error::other)?;
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(text.as_bytes())?;
        text.zeroize();
        new.as_file().sync_all()?;
        new.persist_noclobber(file)?;
        std::fs::File::open(folder)?.sync_all()
    }
}

#[cfg(unix)]
fn readable_by_others(file: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::metadata(file)?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn readable_by_others(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_second_opening_has_the_same_credentials() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials.toml");
        assert!(Credentials::load(&file).unwrap().is_none());
        let first = Credentials::make(&file).unwrap();
        assert_eq!(first.access_key_id.len(), 20);
        assert_eq!(first.secret_access_key.len(), 40);
        assert_eq!(Credentials::load(&file).unwrap(), Some(first));
    }

    #[test]
    fn two_vaults_have_different_credentials() {
        assert_ne!(Credentials::random().unwrap(), Credentials::random().unwrap());
    }

    #[test]
    fn only_the_owner_can_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials.toml");
        Credentials::make(&file).unwrap();
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let error = Credentials::load(&file).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_garbled_file_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials.toml");
        std::fs::write(&file, "access_key_id = 5").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let error = Credentials::load(&file).unwrap_err();
        assert!(matches!(error, CredentialsError::Garbled(_)), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "access_key_id = 5");
    }

    #[test]
    fn the_secret_is_not_in_the_debug_output() {
        let credentials = Credentials::random().unwrap();
        assert!(!format!("{credentials:?}").contains(&credentials.secret_access_key));
    }
}
