//! Logins: three versions, with one kind of token.

pub(super) mod catalogue;
pub(super) mod discovery;
pub(super) mod v1;
pub(super) mod v2;
pub(super) mod v3;

use super::Swift;
use super::refusal::{Outcome, Refusal};
use crate::auth::identity::{Token, TokenInfo};
use crate::catalogue::UnixMillis;
use http::StatusCode;
use zeroize::Zeroizing;

/// The account, the user and the password of a login.
pub(super) struct Login {
    pub(super) account: String,
    pub(super) user: String,
    pub(super) password: Zeroizing<Vec<u8>>,
}

/// Returns the answer to every failed login, for any reason.
pub(super) fn refused() -> Refusal {
    Refusal::unauthorized("The account, the user or the password is wrong.")
}

impl Swift {
    /// Logs in with a password.
    ///
    /// # Errors
    /// 401 for any fault.
    pub(super) async fn log_in(&self, login: Login, now: UnixMillis) -> Outcome<(Token, TokenInfo)> {
        let Login { account, user, password } = login;
        let proven = self.users.by_password(&account, &user, password).await.ok_or_else(refused)?;
        self.tokens.issue(&self.users, &proven, now).ok_or_else(no_token)
    }

    /// Exchanges a token for a new one with the same expiry.
    ///
    /// # Errors
    /// 401 if the token is invalid.
    pub(super) fn exchange(&self, token: &str, now: UnixMillis) -> Outcome<(Token, TokenInfo)> {
        self.tokens.look_up(&self.users, token, now).ok_or_else(refused)?;
        self.tokens.exchange(&self.users, token, now).ok_or_else(no_token)
    }
}

fn no_token() -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "No token can be made now.")
}
