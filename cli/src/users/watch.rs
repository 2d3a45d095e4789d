//! Reloads the file of users in a running gateway.

use crate::users::file::UsersFile;
use ameles_gateway::auth::identity::Users;
use std::sync::Arc;
use std::time::Duration;

/// The time between two checks of the file, which read only its time and size.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Checks the file repeatedly, and replaces the users when it has changed. Never returns.
pub async fn watch(file: UsersFile, users: Arc<Users>) {
    let mut watch_state = FileWatch::new(file, users);
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        watch_state.poll();
    }
}

struct FileWatch {
    file: UsersFile,
    users: Arc<Users>,
    last: Option<crate::users::file::Stamp>,
}

impl FileWatch {
    /// Creates a watch of users that were just loaded from the file. The first check loads them again.
    fn new(file: UsersFile, users: Arc<Users>) -> Self {
        FileWatch { file, users, last: None }
    }

    fn poll(&mut self) {
        let now = self.file.stamp();
        if now == self.last {
            return;
        }
        let was_read = self.last.is_some();
        self.last = now;
        let outcome = match self.file.load() {
            Ok(Some(users)) => self.users.replace(users).map_err(|error| error.to_string()),
            Ok(None) => Err("the file of users is missing".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        match outcome {
            Ok(()) if was_read => tracing::info!("reloaded the users"),
            Ok(()) => {}
            Err(error) => tracing::warn!(error, "cannot reload the users: the old ones stay valid"),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::users::file::{UsersFileError, new_key};
    use ameles_gateway::auth::identity::User;

    #[test]
    fn a_changed_file_is_loaded_and_an_invalid_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.toml");
        let file = UsersFile::new(path.clone());
        let (first, _) = file.create_first().unwrap();
        let users = Arc::new(Users::new(first.clone()).unwrap());
        let knows = |user: &User| users.by_access_key(&user.keys[0].id).is_some();
        let mut watch_state = FileWatch::new(file.clone(), Arc::clone(&users));
        watch_state.poll();
        assert!(knows(&first[0]));
        let mut second = User::first(new_key().unwrap());
        second.identity.user = "second".parse().unwrap();
        let added = file.change(|users| {
            users.push(second.clone());
            Ok::<_, UsersFileError>(())
        });
        added.unwrap();
        assert!(!knows(&second));
        watch_state.poll();
        assert!(knows(&first[0]) && knows(&second));
        std::fs::write(&path, "nonsense").unwrap();
        watch_state.poll();
        std::fs::remove_file(&path).unwrap();
        watch_state.poll();
        assert!(knows(&first[0]) && knows(&second));
    }
}
