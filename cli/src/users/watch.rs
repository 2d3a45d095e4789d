//! A running gateway takes over changes of the file of users.

use crate::users::file::UsersFile;
use ameles_gateway::auth::identity::Users;
use std::sync::Arc;
use std::time::Duration;

/// The time between two looks at the file. It is asked for its time and size only.
const EVERY: Duration = Duration::from_secs(1);

/// Looks at the file again and again, and replaces the users when it has changed. Never ends.
pub async fn watch(file: UsersFile, users: Arc<Users>) {
    let mut watched = FileWatch::new(file, users);
    loop {
        tokio::time::sleep(EVERY).await;
        watched.look();
    }
}

struct FileWatch {
    file: UsersFile,
    users: Arc<Users>,
    seen: Option<crate::users::file::Stamp>,
}

impl FileWatch {
    /// The users are those that the file holds now, or held a moment ago: it is read once more at the first look.
    fn new(file: UsersFile, users: Arc<Users>) -> Self {
        FileWatch { file, users, seen: None }
    }

    fn look(&mut self) {
        let now = self.file.stamp();
        if now == self.seen {
            return;
        }
        let known_before = self.seen.is_some();
        self.seen = now;
        let outcome = match self.file.load() {
            Ok(Some(users)) => self.users.replace(users).map_err(|error| error.to_string()),
            Ok(None) => Err("the file of users is gone".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        match outcome {
            Ok(()) if known_before => tracing::info!("the users were read again"),
            Ok(()) => {}
            Err(error) => tracing::warn!(error, "the users of before stay"),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::users::file::{UsersFileError, new_key};
    use ameles_gateway::auth::identity::User;

    #[test]
    fn a_changed_file_is_taken_over_and_a_bad_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.toml");
        let file = UsersFile::new(path.clone());
        let (first, _) = file.make_first().unwrap();
        let users = Arc::new(Users::new(first.clone()).unwrap());
        let knows = |user: &User| users.by_access_key(&user.keys[0].id).is_some();
        let mut watched = FileWatch::new(file.clone(), Arc::clone(&users));
        watched.look();
        assert!(knows(&first[0]));
        let mut second = User::first(new_key().unwrap());
        second.identity.user = "second".parse().unwrap();
        let added = file.change(|users| {
            users.push(second.clone());
            Ok::<_, UsersFileError>(())
        });
        added.unwrap();
        assert!(!knows(&second));
        watched.look();
        assert!(knows(&first[0]) && knows(&second));
        std::fs::write(&path, "nonsense").unwrap();
        watched.look();
        std::fs::remove_file(&path).unwrap();
        watched.look();
        assert!(knows(&first[0]) && knows(&second));
    }
}
