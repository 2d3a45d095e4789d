//! The identities of users: accounts, names and roles, S3 keys, passwords and tokens.
//!
//! An account owns containers. An [`Identity`] is a user of an account, in a [`Role`]. [`Users`] knows them all and
//! finds the one that signed with an S3 access key or that knows a password; [`Tokens`] remembers the users that have
//! logged in. Nothing here reads a file or a socket, and nothing here is ever logged.

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
