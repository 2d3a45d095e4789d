//! The identities of users: accounts, names and roles, S3 keys, passwords and tokens.
//!
//! An account owns containers. An [`Identity`] is a user of an account, in a [`Role`]. [`Users`] finds a user by an S3
//! access key or a password. [`Tokens`] remembers the users that have logged in. This module reads no file and no
//! socket, and logs nothing.

mod name;
mod password;
mod tokens;
mod user;
mod users;

pub use name::{AccountName, MAX_NAME_BYTES, NameError, UserName};
pub use password::{PasswordError, PasswordHash};
pub use tokens::{Token, TokenInfo, Tokens};
pub use user::{AccessKey, Identity, Role, User};
pub use users::{ProvenUser, Users, UsersError};
