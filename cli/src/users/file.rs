//! The file of users, `trusted/credentials.toml`, which only the owner of the system account can read.
//!
//! ```toml
//! [[users]]
//! account = "ameles"
//! user = "owner"
//! role = "owner"
//! password = "$argon2id$v=19$..."
//!
//! [[users.keys]]
//! access_key_id = "AMLS..."
//! secret_access_key = "..."
//! ```

use crate::runtime::atomic_file::{create_durably, replace_durably};
use ameles_gateway::auth::identity::{
    AccessKey, AccountName, Identity, NameError, PasswordError, PasswordHash, Role, User, UserName, Users,
    UsersError,
};
use base64ct::{Base64UrlUnpadded, Encoding as _};
use data_encoding::BASE32_NOPAD;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use zeroize::{Zeroize, Zeroizing};

/// The error of reading or writing the file of users.
#[derive(Debug, thiserror::Error)]
pub enum UsersFileError {
    /// The file cannot be read or written.
    #[error("the users file {} cannot be {verb}: {error}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The operation that failed.
        verb: &'static str,
        /// The system's message.
        error: io::Error,
    },
    /// The path is a folder.
    #[error(
        "the users file {file} is a folder, not a file: restore the file from a copy, or move the folder away to create a new owner",
        file = .0.display()
    )]
    Folder(PathBuf),
    /// The file is invalid.
    #[error(
        "{} has no valid users{}: it needs [[users]] with account, user and role; \
         restore it from a copy, or move it away to create a new owner",
        file.display(),
        line.map_or(String::new(), |line| format!(" (line {line})"))
    )]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The line of the error, if it is known.
        line: Option<usize>,
    },
    /// A user in the file is not valid.
    #[error("user number {number} in {} is invalid: {why}", file.display())]
    User {
        /// The file.
        file: PathBuf,
        /// The number of the user, from 1.
        number: usize,
        /// The error of the user.
        why: InvalidUser,
    },
    /// Two of its users contradict each other.
    #[error("{}: {error}", file.display())]
    Together {
        /// The file.
        file: PathBuf,
        /// The contradiction, with its users.
        error: UsersError,
    },
    /// Other users of the machine can read the file.
    #[error("{file} is readable by other users of this machine: run `chmod 600 {file}`", file = .0.display())]
    Exposed(PathBuf),
    /// The system returned no random numbers.
    #[error("the system returned no random numbers for new credentials")]
    NoRandomness,
    /// A password cannot be hashed.
    #[error(transparent)]
    Password(#[from] PasswordError),
}

/// The error of a user.
#[derive(Debug, thiserror::Error)]
pub enum InvalidUser {
    /// The name of the account or of the user is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The hash of the password is invalid.
    #[error(transparent)]
    Password(#[from] PasswordError),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    #[serde(default)]
    users: Vec<UserForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserForm {
    account: String,
    user: String,
    role: RoleForm,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<KeyForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyForm {
    access_key_id: String,
    secret_access_key: String,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoleForm {
    Member,
    Owner,
    Admin,
}

impl Drop for KeyForm {
    fn drop(&mut self) {
        self.secret_access_key.zeroize();
    }
}

impl RoleForm {
    fn of(role: Role) -> Self {
        match role {
            Role::Member => RoleForm::Member,
            Role::Owner => RoleForm::Owner,
            Role::Admin => RoleForm::Admin,
        }
    }

    fn role(self) -> Role {
        match self {
            RoleForm::Member => Role::Member,
            RoleForm::Owner => Role::Owner,
            RoleForm::Admin => Role::Admin,
        }
    }
}

impl UserForm {
    fn of(user: &User) -> Self {
        let key = |key: &AccessKey| KeyForm {
            access_key_id: key.id.clone(),
            secret_access_key: key.secret.to_string(),
        };
        UserForm {
            account: user.identity.account.as_str().to_owned(),
            user: user.identity.user.as_str().to_owned(),
            role: RoleForm::of(user.identity.role),
            password: user.password.as_ref().map(|hash| hash.as_str().to_owned()),
            keys: user.keys.iter().map(key).collect(),
        }
    }

    fn user(&self) -> Result<User, InvalidUser> {
        let account: AccountName = self.account.parse()?;
        let user: UserName = self.user.parse()?;
        let password = self.password.as_deref().map(str::parse).transpose()?;
        let key = |key: &KeyForm| AccessKey::new(&key.access_key_id, &key.secret_access_key);
        let keys = self.keys.iter().map(key).collect();
        Ok(User { identity: Identity { account, user, role: self.role.role() }, password, keys })
    }
}

/// A state of the file, to detect changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

/// The file of users.
#[derive(Clone, Debug)]
pub struct UsersFile {
    path: PathBuf,
}

impl UsersFile {
    /// Names the file, without creating it.
    pub fn new(path: PathBuf) -> Self {
        UsersFile { path }
    }

    /// Reads the users, if the file exists.
    ///
    /// # Errors
    /// See [`UsersFileError`]. An invalid file stays unchanged.
    pub fn load(&self) -> Result<Option<Vec<User>>, UsersFileError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed("read")(error)),
        };
        if file.metadata().map_err(self.failed("read"))?.is_dir() {
            return Err(UsersFileError::Folder(self.path.clone()));
        }
        if readable_by_others(&file).map_err(self.failed("read"))? {
            return Err(UsersFileError::Exposed(self.path.clone()));
        }
        let mut text = Zeroizing::new(String::new());
        file.read_to_string(&mut text).map_err(self.failed("read"))?;
        let form: FileForm = toml::from_str(&text).map_err(|error| {
            // The error must not contain the text, which may be a secret.
            let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            self.invalid(line)
        })?;
        let users = self.users(&form)?;
        if users.is_empty() {
            return Err(self.invalid(None));
        }
        Users::new(users.clone())
            .map_err(|error| UsersFileError::Together { file: self.path.clone(), error })?;
        Ok(Some(users))
    }

    fn users(&self, form: &FileForm) -> Result<Vec<User>, UsersFileError> {
        let mut users = Vec::new();
        for (index, user) in form.users.iter().enumerate() {
            let invalid_user = |why| UsersFileError::User { file: self.path.clone(), number: index + 1, why };
            users.push(user.user().map_err(invalid_user)?);
        }
        Ok(users)
    }

    /// Creates the file with the owner of the first account, who gets a pair of S3 keys and a password. Returns the
    /// users and the password.
    ///
    /// # Errors
    /// See [`UsersFileError`].
    pub fn create_first(&self) -> Result<(Vec<User>, Zeroizing<String>), UsersFileError> {
        let password = new_password()?;
        let users = vec![User { password: Some(hash(&password)?), ..User::first(new_key()?) }];
        self.write(&users, create_durably)?;
        Ok((users, password))
    }

    /// Changes the users by `edit`, atomically and under a lock. Without a file, the change starts from the owner of
    /// the first account.
    ///
    /// # Errors
    /// The errors of `edit`; see [`UsersFileError`]. The file then stays unchanged.
    pub fn change<T, E: From<UsersFileError>>(
        &self,
        edit: impl FnOnce(&mut Vec<User>) -> Result<T, E>,
    ) -> Result<T, E> {
        let lock = self.path.with_extension("lock");
        let lock_file = OpenOptions::new().create(true).append(true).open(&lock);
        let lock_file = lock_file
            .and_then(|lock_file| lock_file.lock().map(|()| lock_file))
            .map_err(self.failed("changed"))?;
        let mut users = match self.load()? {
            Some(users) => users,
            None => vec![User::first(new_key()?)],
        };
        let outcome = edit(&mut users)?;
        Users::new(users.clone())
            .map_err(|error| UsersFileError::Together { file: self.path.clone(), error })?;
        self.write(&users, replace_durably)?;
        drop(lock_file);
        Ok(outcome)
    }

    /// Writes the users atomically. Other users of the machine can never read the file.
    fn write(
        &self,
        users: &[User],
        replace_file: impl FnOnce(&Path, &[u8]) -> io::Result<()>,
    ) -> Result<(), UsersFileError> {
        let users = users.iter().map(UserForm::of).collect();
        let form = FileForm { users };
        let write = || {
            let text = Zeroizing::new(toml::to_string(&form).map_err(io::Error::other)?);
            replace_file(&self.path, text.as_bytes())
        };
        write().map_err(self.failed("written"))
    }

    /// Returns the current state of the file, or `None` if it does not exist.
    pub fn stamp(&self) -> Option<Stamp> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        Some(Stamp { modified: metadata.modified().ok(), bytes: metadata.len(), inode: inode(&metadata) })
    }

    fn failed(&self, verb: &'static str) -> impl Fn(io::Error) -> UsersFileError {
        let file = self.path.clone();
        move |error| UsersFileError::File { file: file.clone(), verb, error }
    }

    fn invalid(&self, line: Option<usize>) -> UsersFileError {
        UsersFileError::Invalid { file: self.path.clone(), line }
    }
}

/// Generates a pair of S3 keys: an id of 20 characters, and a secret of 40 characters with 240 bits.
///
/// # Errors
/// [`UsersFileError::NoRandomness`].
pub fn new_key() -> Result<AccessKey, UsersFileError> {
    let mut id = [0; 10];
    random(&mut id)?;
    Ok(AccessKey { id: format!("AMLS{}", BASE32_NOPAD.encode(&id)), secret: secret::<30>()? })
}

/// Generates a password of 24 characters with 144 bits.
///
/// # Errors
/// [`UsersFileError::NoRandomness`].
pub fn new_password() -> Result<Zeroizing<String>, UsersFileError> {
    secret::<18>()
}

/// Returns the hash of a password.
///
/// # Errors
/// [`UsersFileError::Password`].
pub fn hash(password: &str) -> Result<PasswordHash, UsersFileError> {
    Ok(PasswordHash::of(password.as_bytes())?)
}

fn secret<const BYTES: usize>() -> Result<Zeroizing<String>, UsersFileError> {
    let mut bytes = Zeroizing::new([0; BYTES]);
    random(&mut *bytes)?;
    Ok(Zeroizing::new(Base64UrlUnpadded::encode_string(&*bytes)))
}

fn random(bytes: &mut [u8]) -> Result<(), UsersFileError> {
    SystemRandom::new().fill(bytes).map_err(|_| UsersFileError::NoRandomness)
}

#[cfg(unix)]
fn readable_by_others(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.metadata()?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn readable_by_others(_: &File) -> io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Folder {
        folder: tempfile::TempDir,
        file: UsersFile,
    }

    fn folder() -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let file = UsersFile::new(folder.path().join("credentials.toml"));
        Folder { folder, file }
    }

    impl Folder {
        fn write_text(&self, text: &str) {
            std::fs::write(&self.file.path, text).unwrap();
            self.set_mode(0o600);
        }

        fn add(&self, user: &User) -> Result<(), UsersFileError> {
            self.file.change(|users| {
                users.push(user.clone());
                Ok(())
            })
        }

        fn set_mode(&self, mode: u32) {
            std::fs::set_permissions(&self.file.path, std::fs::Permissions::from_mode(mode)).unwrap();
        }

        fn load_error(&self) -> String {
            let before = std::fs::read(&self.file.path).unwrap();
            let error = self.file.load().unwrap_err().to_string();
            assert_eq!(std::fs::read(&self.file.path).unwrap(), before, "an invalid file stays unchanged");
            error
        }
    }

    #[test]
    fn a_second_opening_has_the_same_owner() {
        let folder = folder();
        assert!(folder.file.load().unwrap().is_none());
        let (first, password) = folder.file.create_first().unwrap();
        assert_eq!(password.len(), 24);
        assert_eq!(first[0].keys[0].id.len(), 20);
        assert_eq!(first[0].keys[0].secret.len(), 40);
        assert_eq!(folder.file.load().unwrap(), Some(first));
        folder.file.create_first().unwrap_err();
    }

    #[test]
    fn a_change_is_read_back_and_a_refused_one_changes_nothing() {
        let folder = folder();
        folder.file.create_first().unwrap();
        let identity =
            Identity { account: "b".parse().unwrap(), user: "u".parse().unwrap(), role: Role::Member };
        let user = User { identity, password: Some(hash("x").unwrap()), keys: vec![] };
        let stamp = folder.file.stamp();
        folder.add(&user).unwrap();
        assert_ne!(folder.file.stamp(), stamp);
        assert_eq!(folder.file.load().unwrap().unwrap()[1], user);
        let twice = folder.add(&user);
        assert!(twice.unwrap_err().to_string().contains("number 2"));
        assert_eq!(folder.file.load().unwrap().unwrap().len(), 2);
    }

    #[test]
    fn only_the_owner_of_the_machines_account_can_read_it() {
        let folder = folder();
        folder.file.create_first().unwrap();
        let mode = || std::fs::metadata(&folder.file.path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        folder.file.change(|_| Ok::<_, UsersFileError>(())).unwrap();
        assert_eq!(mode(), 0o600);
        folder.set_mode(0o644);
        assert!(folder.load_error().contains("chmod 600"));
    }

    #[test]
    fn an_invalid_file_is_refused_with_its_line_and_without_its_secrets() {
        let folder = folder();
        let good = "[[users]]\naccount = \"a\"\nuser = \"u\"\nrole = \"owner\"\n";
        for (text, expected) in [
            ("access_key_id = 5", "line 1"),
            ("access_key_id = \"hush\"", "line 1"),
            ("", "has no valid users"),
            ("[[users]]\naccount = \"a\"\nuser = \"u\"\nrole = \"hush\"", "line 4"),
            ("[[users]]\naccount = \"a:hush\"\nuser = \"u\"\nrole = \"owner\"", "user number 1"),
            (&format!("{good}password = \"hush\"\n"), "Argon2id"),
            (&format!("{good}{good}"), "user number 2"),
            (&format!("{good}colour = \"hush\"\n"), "line 5"),
        ] {
            folder.write_text(text);
            let error = folder.load_error();
            assert!(error.contains(expected) && !error.contains("hush"), "{error}");
        }
        drop(folder.folder);
    }

    #[test]
    fn two_vaults_have_different_keys_and_passwords() {
        assert_ne!(new_key().unwrap(), new_key().unwrap());
        let password = new_password().unwrap();
        assert_eq!(password.len(), 24);
        assert_ne!(password, new_password().unwrap());
    }
}
