//! All users, and the two ways to authenticate: a key that signs requests, and a password.

use super::{AccessKey, AccountName, Identity, PasswordError, PasswordHash, User, UserName};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

/// The largest number of passwords that are checked in parallel. Each takes the memory of one hash (19 MiB unless the
/// file says more). Others wait, and there are no more of them than connections.
const MAX_LOGINS_AT_A_TIME: usize = 4;

/// The reason why a list of users is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsersError {
    /// Two users of one account have the same name.
    #[error("user number {second} has the account and the name of user number {first}: give each user once")]
    Twice {
        /// The number of the first user, from 1.
        first: usize,
        /// The number of the second user, from 1.
        second: usize,
    },
    /// Two users have the same access key.
    #[error("user number {0} has an access key that is already in use: each must be different")]
    SharedKey(usize),
    /// The dummy hash for unknown users could not be computed.
    #[error(transparent)]
    Password(#[from] PasswordError),
}

/// All users of a gateway. They can be replaced while it runs.
pub struct Users {
    table: RwLock<Arc<Table>>,
    logins: Arc<Semaphore>,
}

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Users(..)")
    }
}

struct Table {
    users: Vec<User>,
    by_name: HashMap<(AccountName, UserName), usize>,
    keys: Vec<(AccessKey, usize)>,
    /// The hash for checks of unknown users. It costs as much as the costliest hash of a user.
    dummy_hash: PasswordHash,
}

impl Table {
    fn new(users: Vec<User>) -> Result<Self, UsersError> {
        let mut by_name = HashMap::new();
        let mut keys: Vec<(AccessKey, usize)> = Vec::new();
        for (index, user) in users.iter().enumerate() {
            let name = (user.identity.account.clone(), user.identity.user.clone());
            if let Some(first) = by_name.insert(name, index) {
                return Err(UsersError::Twice { first: first + 1, second: index + 1 });
            }
            for key in &user.keys {
                if keys.iter().any(|(known, _)| known.id == key.id) {
                    return Err(UsersError::SharedKey(index + 1));
                }
                keys.push((key.clone(), index));
            }
        }
        let hashes = users.iter().filter_map(|user| user.password.as_ref());
        let dummy_hash = PasswordHash::dummy_as_costly_as(hashes.max_by_key(|hash| hash.cost()))?;
        Ok(Table { users, by_name, keys, dummy_hash })
    }

    fn user(&self, account: &AccountName, user: &UserName) -> Option<&User> {
        self.by_name.get(&(account.clone(), user.clone())).map(|&index| &self.users[index])
    }
}

/// An authenticated user, and the password that was checked. If the password has changed since, the authentication is
/// void.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenUser {
    /// The user.
    pub identity: Identity,
    pub(super) password: Option<PasswordHash>,
}

#[cfg(test)]
impl ProvenUser {
    /// Authenticates this user, for tests.
    pub(super) fn of(user: &User) -> Self {
        ProvenUser { identity: user.identity.clone(), password: user.password.clone() }
    }
}

/// Returns the number of passwords that are checked in parallel: half of the processors stay free for other requests.
fn logins_at_a_time() -> usize {
    std::thread::available_parallelism()
        .map_or(1, |processors| processors.get() / 2)
        .clamp(1, MAX_LOGINS_AT_A_TIME)
}

impl Users {
    /// Creates a list of users.
    ///
    /// # Errors
    /// [`UsersError`] if two users have the same name or key.
    pub fn new(users: Vec<User>) -> Result<Self, UsersError> {
        Ok(Users {
            table: RwLock::new(Arc::new(Table::new(users)?)),
            logins: Arc::new(Semaphore::new(logins_at_a_time())),
        })
    }

    /// Replaces the users. Running requests continue.
    ///
    /// # Errors
    /// [`UsersError`] if two users have the same name or key; in this case the earlier users stay.
    pub fn replace(&self, users: Vec<User>) -> Result<(), UsersError> {
        let table = Arc::new(Table::new(users)?);
        *self.table.write() = table;
        Ok(())
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read())
    }

    /// Returns the user of an access key, and the secret that signs its requests. Compares every known key in constant
    /// time, so that the time shows at most how many there are.
    pub fn by_access_key(&self, id: &str) -> Option<(Identity, Zeroizing<String>)> {
        let table = self.table();
        let mut found = Choice::from(0);
        let mut position = 0u64;
        for (index, (key, _)) in table.keys.iter().enumerate() {
            let is_match = key.id.as_bytes().ct_eq(id.as_bytes());
            position = u64::conditional_select(&position, &(index as u64), is_match);
            found |= is_match;
        }
        if !bool::from(found) {
            return None;
        }
        let (key, user) = table.keys.get(position as usize)?;
        Some((table.users[*user].identity.clone(), key.secret.clone()))
    }

    /// Returns the user if the password is right. An unknown user, or one without a password, costs the same time as a
    /// wrong password. Only a few passwords are checked in parallel.
    pub async fn by_password(
        &self,
        account: &str,
        user: &str,
        password: Zeroizing<Vec<u8>>,
    ) -> Option<ProvenUser> {
        let table = self.table();
        let known = match (account.parse(), user.parse()) {
            (Ok(account), Ok(user)) => {
                table.user(&account, &user).map(|user| (user.identity.clone(), user.password.clone()))
            }
            _ => None,
        };
        let (identity, hash) = match known {
            Some((identity, Some(hash))) => (Some(identity), hash),
            _ => (None, table.dummy_hash.clone()),
        };
        let turn = Arc::clone(&self.logins).acquire_owned().await.ok()?;
        let verified = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            hash.verifies(&password).then_some(hash)
        });
        match (identity, verified.await) {
            (Some(identity), Ok(Some(hash))) => Some(ProvenUser { identity, password: Some(hash) }),
            _ => None,
        }
    }

    /// Returns the user with this [id](Identity::id).
    pub fn by_id(&self, id: &str) -> Option<Identity> {
        let table = self.table();
        table.users.iter().map(|user| &user.identity).find(|identity| identity.id() == id).cloned()
    }

    /// Returns account and name of a user. The client may give the account separately (`account`), with the name
    /// (`account:user`), or not at all. If it gives none, only one account may have a user of this name. If the account
    /// is unclear, both names are empty.
    pub fn full_name(&self, account: Option<&str>, name: &str) -> (String, String) {
        if let Some(account) = account {
            return (account.to_owned(), name.to_owned());
        }
        if let Some((account, name)) = name.split_once(':') {
            return (account.to_owned(), name.to_owned());
        }
        let table = self.table();
        let mut same_name = table.users.iter().filter(|user| user.identity.user.as_str() == name);
        match (same_name.next(), same_name.next()) {
            (Some(user), None) => (user.identity.account.as_str().to_owned(), name.to_owned()),
            _ => (String::new(), String::new()),
        }
    }

    /// Returns whether an account of this name has users.
    pub fn has_account(&self, name: &str) -> bool {
        self.table().users.iter().any(|user| user.identity.account.as_str() == name)
    }

    /// Returns the user of this name as it is now.
    pub fn user(&self, account: &AccountName, user: &UserName) -> Option<User> {
        self.table().user(account, user).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;

    fn user(account: &str, name: &str, key: &str, password: Option<&str>) -> User {
        User {
            identity: Identity {
                account: account.parse().unwrap(),
                user: name.parse().unwrap(),
                role: Role::Owner,
            },
            password: password.map(|password| PasswordHash::of(password.as_bytes()).unwrap()),
            keys: vec![AccessKey::new(key, format!("secret of {key}"))],
        }
    }

    fn password(text: &str) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(text.as_bytes().to_vec())
    }

    #[test]
    fn each_access_key_leads_to_its_own_user_and_secret() {
        let users =
            vec![user("a", "one", "k1", None), user("a", "two", "k2", None), user("b", "one", "k3", None)];
        let known = Users::new(users.clone()).unwrap();
        for user in users {
            let (identity, secret) = known.by_access_key(&user.keys[0].id).expect("known");
            assert_eq!((identity, secret), (user.identity, user.keys[0].secret.clone()));
        }
        for id in ["", "k", "k4", "K1", "k11"] {
            assert!(known.by_access_key(id).is_none(), "{id}");
        }
    }

    #[tokio::test]
    async fn a_password_is_good_for_its_own_user_of_its_own_account_only() {
        let users = vec![
            user("a", "one", "k1", Some("first")),
            user("b", "one", "k2", Some("second")),
            user("a", "two", "k3", None),
        ];
        let known = Users::new(users.clone()).unwrap();
        let proven = known.by_password("a", "one", password("first")).await;
        assert_eq!(proven, Some(ProvenUser::of(&users[0])));
        for (account, name, word) in [
            ("a", "one", "second"),
            ("b", "one", "first"),
            ("a", "two", ""),
            ("a", "two", "first"),
            ("a", "three", ""),
            ("", "one", "first"),
            ("a", "one:", "first"),
        ] {
            assert_eq!(
                known.by_password(account, name, password(word)).await,
                None,
                "{account}:{name} {word}"
            );
        }
    }

    #[tokio::test]
    async fn users_who_are_replaced_are_gone_and_a_bad_list_changes_nothing() {
        let known = Users::new(vec![user("a", "one", "k1", Some("first"))]).unwrap();
        let twice = vec![user("a", "two", "k2", None), user("a", "two", "k3", None)];
        assert_eq!(known.replace(twice), Err(UsersError::Twice { first: 1, second: 2 }));
        let shared = vec![user("a", "two", "k2", None), user("a", "three", "k2", None)];
        assert_eq!(known.replace(shared), Err(UsersError::SharedKey(2)));
        assert!(known.by_access_key("k1").is_some());
        known.replace(vec![user("a", "two", "k2", None)]).unwrap();
        assert!(known.by_access_key("k1").is_none() && known.by_access_key("k2").is_some());
        assert_eq!(known.by_password("a", "one", password("first")).await, None);
    }

    #[test]
    fn a_user_is_found_by_id_and_by_a_name_that_is_of_one_account_only() {
        let users =
            vec![user("a", "one", "k1", None), user("b", "one", "k2", None), user("a", "two", "k3", None)];
        let known = Users::new(users.clone()).unwrap();
        for user in &users {
            assert_eq!(known.by_id(&user.identity.id()).as_ref(), Some(&user.identity));
        }
        assert_eq!(known.by_id("a"), None);
        let full = |account, name| known.full_name(account, name);
        assert_eq!(full(None, "two"), ("a".into(), "two".into()));
        assert_eq!(full(None, "one"), (String::new(), String::new()));
        assert_eq!(full(None, "b:one"), ("b".into(), "one".into()));
        assert_eq!(full(Some("b"), "one"), ("b".into(), "one".into()));
        assert_eq!(full(None, "three"), (String::new(), String::new()));
    }

    #[tokio::test]
    async fn a_flood_of_logins_takes_its_turn() {
        let known = Arc::new(Users::new(vec![user("a", "one", "k1", Some("first"))]).unwrap());
        let turns = Arc::clone(&known.logins).acquire_many_owned(logins_at_a_time() as u32).await.unwrap();
        let mut login = Box::pin(known.by_password("a", "one", password("first")));
        assert!(futures::poll!(&mut login).is_pending());
        // All permits are taken: it waits for one, and has started nothing.
        assert_eq!(known.logins.available_permits(), 0);
        drop(turns);
        assert!(login.await.is_some());
    }

    #[test]
    fn secrets_are_not_in_the_debug_output() {
        let user = user("a", "one", "k1", Some("first"));
        let shown = format!("{user:?} {:?}", Users::new(vec![user.clone()]).unwrap());
        assert!(!shown.contains("secret of") && !shown.contains("argon2"), "{shown}");
    }
}
