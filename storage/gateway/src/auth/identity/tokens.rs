//! Tokens: each stands for a login until it expires.

use super::{AccountName, Identity, PasswordHash, ProvenUser, UserName, Users};
use crate::catalogue::UnixMillis;
use base16ct::lower::encode_string as hex;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::Duration;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The default lifetime of a token.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The largest number of tokens of a user. A further token removes the oldest.
const MAX_TOKENS_PER_USER: usize = 1000;

/// A token as a client holds it: 256 random bits in hexadecimal. Wiped when dropped.
pub struct Token(Zeroizing<String>);

impl Token {
    /// Returns the text that the client sends with each request.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The user of a token, and its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    /// The user that logged in.
    pub identity: Identity,
    /// The time of the login.
    pub issued: UnixMillis,
    /// The time at which the token expires.
    pub expires: UnixMillis,
}

/// The tokens of a running gateway. They exist in memory only, each as its SHA-256. A reader of that memory gets no
/// token, and a restart ends them all.
pub struct Tokens {
    lifetime: Duration,
    max: usize,
    live: Mutex<LiveTokens>,
}

#[derive(Default)]
struct LiveTokens {
    /// The tokens by the first half of their hash.
    entries: HashMap<HashHalf, LiveToken>,
    /// The tokens of each user, the oldest first: they expire in this order.
    order: HashMap<UserKey, VecDeque<HashHalf>>,
}

type HashHalf = [u8; 16];
type UserKey = (AccountName, UserName);

fn user_key(identity: &Identity) -> UserKey {
    (identity.account.clone(), identity.user.clone())
}

struct LiveToken {
    rest: HashHalf,
    issued: TokenInfo,
    /// The password at the time of the login: a token becomes invalid when the password changes.
    password: Option<PasswordHash>,
}

impl Default for Tokens {
    fn default() -> Self {
        Tokens::new(LIFETIME, MAX_TOKENS_PER_USER)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(..)")
    }
}

impl Tokens {
    /// Creates an empty set. Each token will be valid for `lifetime`, and a user has at most `max` tokens.
    pub fn new(lifetime: Duration, max: usize) -> Self {
        Tokens { lifetime, max: max.max(1), live: Mutex::default() }
    }

    /// Issues a token for a user that has just been authenticated. `None` if the user no longer exists or has another
    /// password, or if the system gives no random numbers.
    pub fn issue(&self, users: &Users, proven: &ProvenUser, now: UnixMillis) -> Option<(Token, TokenInfo)> {
        let lifetime = u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX);
        self.issue_until(users, proven, now, UnixMillis(now.0.saturating_add(lifetime)))
    }

    /// Exchanges a token for another one with the same expiry. `None` if the first one is invalid.
    pub fn exchange(&self, users: &Users, token: &str, now: UnixMillis) -> Option<(Token, TokenInfo)> {
        let (issued, password) = self.find(users, token, now)?;
        self.issue_until(users, &ProvenUser { identity: issued.identity, password }, now, issued.expires)
    }

    fn issue_until(
        &self,
        users: &Users,
        proven: &ProvenUser,
        now: UnixMillis,
        expires: UnixMillis,
    ) -> Option<(Token, TokenInfo)> {
        let ProvenUser { identity, password } = proven;
        if users.user(&identity.account, &identity.user)?.password != *password {
            return None;
        }
        let mut random = Zeroizing::new([0u8; 32]);
        getrandom::fill(&mut *random).ok()?;
        let token = Token(Zeroizing::new(hex(&*random)));
        let (half, rest) = halves(token.as_str());
        let issued = TokenInfo { identity: identity.clone(), issued: now, expires };
        let mut live = self.live.lock();
        live.make_room(&user_key(identity), self.max, now);
        live.entries.insert(half, LiveToken { rest, issued: issued.clone(), password: password.clone() });
        live.order.entry(user_key(identity)).or_default().push_back(half);
        Some((token, issued))
    }

    /// Returns the user of a token, as `users` has it now. `None` if the token was never issued, has expired or was
    /// revoked, or if the user no longer exists or has another password.
    pub fn look_up(&self, users: &Users, token: &str, now: UnixMillis) -> Option<TokenInfo> {
        self.find(users, token, now).map(|(issued, _)| issued)
    }

    fn find(&self, users: &Users, token: &str, now: UnixMillis) -> Option<(TokenInfo, Option<PasswordHash>)> {
        let (half, rest) = halves(token);
        let (mut issued, password) = {
            let live = self.live.lock();
            // The look-up reveals at most something of the hash, and the hash reveals nothing of the token.
            let entry = live.entries.get(&half)?;
            if !bool::from(entry.rest.ct_eq(&rest)) || entry.issued.expires <= now {
                return None;
            }
            (entry.issued.clone(), entry.password.clone())
        };
        let user = users.user(&issued.identity.account, &issued.identity.user)?;
        if user.password != password {
            return None;
        }
        issued.identity = user.identity;
        Some((issued, password))
    }

    /// Revokes a token. An unknown token has ended already.
    pub fn revoke(&self, token: &str) {
        let (half, _) = halves(token);
        let mut live = self.live.lock();
        if let Some(entry) = live.entries.remove(&half)
            && let Some(order) = live.order.get_mut(&user_key(&entry.issued.identity))
        {
            order.retain(|&other| other != half);
        }
    }
}

impl LiveTokens {
    /// Removes the expired tokens of a user, and the oldest of the others until one more fits.
    fn make_room(&mut self, user_key: &UserKey, max: usize, now: UnixMillis) {
        let Some(order) = self.order.get_mut(user_key) else { return };
        order.retain(|half| {
            let is_good = self.entries.get(half).is_some_and(|entry| entry.issued.expires > now);
            if !is_good {
                self.entries.remove(half);
            }
            is_good
        });
        while order.len() >= max
            && let Some(oldest) = order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

fn halves(token: &str) -> (HashHalf, HashHalf) {
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let (mut half, mut rest) = ([0; 16], [0; 16]);
    half.copy_from_slice(&hash[..16]);
    rest.copy_from_slice(&hash[16..]);
    (half, rest)
}

#[cfg(test)]
mod tests {
    use super::super::{AccessKey, PasswordHash, Role, User, UserName};
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_000_000);

    fn later(milliseconds: u64) -> UnixMillis {
        UnixMillis(NOW.0 + milliseconds)
    }

    fn user(account: &str, password: &str) -> User {
        let identity =
            Identity { account: account.parse().unwrap(), user: UserName::first(), role: Role::Owner };
        let keys = vec![AccessKey::new(account, "s")];
        User { identity, password: Some(PasswordHash::of(password.as_bytes()).unwrap()), keys }
    }

    /// The tokens of these users.
    struct Fixture {
        users: Users,
        tokens: Tokens,
    }

    impl Fixture {
        fn new(users: &[&User]) -> Self {
            let users = Users::new(users.iter().map(|&user| user.clone()).collect()).unwrap();
            Fixture { users, tokens: Tokens::new(Duration::from_millis(100), 3) }
        }

        fn issue(&self, user: &User) -> Option<Token> {
            Some(self.tokens.issue(&self.users, &ProvenUser::of(user), NOW)?.0)
        }

        fn look_up(&self, token: &str, now: UnixMillis) -> Option<Identity> {
            Some(self.tokens.look_up(&self.users, token, now)?.identity)
        }
    }

    #[test]
    fn a_token_stands_for_its_user_until_it_expires() {
        let (ann, bob) = (user("ann", "x"), user("bob", "y"));
        let fixture = Fixture::new(&[&ann, &bob]);
        let first = fixture.issue(&ann).unwrap();
        let (second, issued) = fixture.tokens.issue(&fixture.users, &ProvenUser::of(&bob), NOW).unwrap();
        assert_eq!(issued.expires, later(100));
        assert_eq!(fixture.look_up(first.as_str(), later(99)), Some(ann.identity));
        assert_eq!(fixture.look_up(second.as_str(), later(99)), Some(bob.identity));
        assert_eq!(fixture.look_up(first.as_str(), later(100)), None);
    }

    #[test]
    fn a_token_is_256_random_bits_and_a_changed_one_is_none() {
        let ann = user("ann", "x");
        let fixture = Fixture::new(&[&ann]);
        let (token, other) = (fixture.issue(&ann).unwrap(), fixture.issue(&ann).unwrap());
        assert_eq!(token.as_str().len(), 64);
        assert_ne!(token.as_str(), other.as_str());
        for index in 0..64 {
            let mut changed = token.as_str().to_owned();
            let digit = if &changed[index..=index] == "0" { "1" } else { "0" };
            changed.replace_range(index..=index, digit);
            assert_eq!(fixture.look_up(&changed, NOW), None);
        }
        assert_eq!(fixture.look_up("", NOW), None);
    }

    #[test]
    fn a_revoked_token_is_none_and_the_others_stay() {
        let ann = user("ann", "x");
        let fixture = Fixture::new(&[&ann]);
        let (first, second) = (fixture.issue(&ann).unwrap(), fixture.issue(&ann).unwrap());
        fixture.tokens.revoke(first.as_str());
        fixture.tokens.revoke("never issued");
        assert_eq!(fixture.look_up(first.as_str(), NOW), None);
        assert!(fixture.look_up(second.as_str(), NOW).is_some());
    }

    #[test]
    fn a_user_has_a_bounded_number_of_tokens_and_takes_none_from_others() {
        let (ann, mut bob) = (user("ann", "x"), user("ann", "y"));
        bob.identity.user = "bob".parse().unwrap();
        bob.keys.clear();
        let fixture = Fixture::new(&[&ann, &bob]);
        let of_bob = fixture.issue(&bob).unwrap();
        let all: Vec<Token> = (0..10).map(|_| fixture.issue(&ann).unwrap()).collect();
        let good = |token: &Token| fixture.look_up(token.as_str(), NOW).is_some();
        assert_eq!(all.iter().map(good).collect::<Vec<_>>(), [vec![false; 7], vec![true; 3]].concat());
        assert!(good(&of_bob));
        assert_eq!(fixture.tokens.live.lock().entries.len(), 4);
        // Expired tokens take no memory once the user logs in again.
        fixture.tokens.issue(&fixture.users, &ProvenUser::of(&ann), later(500)).unwrap();
        assert_eq!(fixture.tokens.live.lock().entries.len(), 2);
    }

    #[test]
    fn a_token_does_not_outlive_its_user_or_the_password_and_follows_the_role() {
        let ann = user("ann", "x");
        let fixture = Fixture::new(&[&ann]);
        let token = fixture.issue(&ann).unwrap();
        let role = || fixture.look_up(token.as_str(), NOW).map(|identity| identity.role);
        let mut demoted = ann.clone();
        demoted.identity.role = Role::Member;
        for (users, expected) in [
            (vec![demoted], Some(Role::Member)),
            (vec![user("ann", "another")], None),
            (vec![ann.clone()], Some(Role::Owner)),
            (vec![], None),
        ] {
            fixture.users.replace(users).unwrap();
            assert_eq!(role(), expected);
        }
        assert!(fixture.issue(&ann).is_none());
    }

    #[test]
    fn a_password_that_was_changed_during_its_check_gives_no_token() {
        let (old, new) = (user("ann", "x"), user("ann", "another"));
        let fixture = Fixture::new(&[&old]);
        let token = fixture.issue(&old).unwrap();
        let exchange = || fixture.tokens.exchange(&fixture.users, token.as_str(), NOW);
        assert!(exchange().is_some());
        fixture.users.replace(vec![new.clone()]).unwrap();
        assert!(fixture.issue(&old).is_none());
        assert!(exchange().is_none());
        assert!(fixture.issue(&new).is_some());
    }

    #[test]
    fn the_token_itself_is_not_held() {
        let ann = user("ann", "x");
        let fixture = Fixture::new(&[&ann]);
        let token = fixture.issue(&ann).unwrap();
        let live = fixture.tokens.live.lock();
        let kept: Vec<u8> =
            live.entries.iter().flat_map(|(half, entry)| [*half, entry.rest].concat()).collect();
        assert_eq!(hex(&kept).len(), 64);
        assert_ne!(hex(&kept), token.as_str());
    }
}
