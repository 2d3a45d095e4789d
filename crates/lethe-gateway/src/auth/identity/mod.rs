//! The identities of callers: accounts and their users, S3 keys, passwords and tokens.
//!
//! An account owns containers. A [`Caller`] is a user of an account, in a [`Role`]. [`Users`] knows them all and tells
//! who signed with an S3 access key or knows a password; [`Tokens`] remembers who has logged in. Nothing here reads a
//! file or a socket, and nothing here is ever logged.

mod caller;
mod name;
mod password;
mod tokens;
mod users;

pub use caller::{Caller, Role};
pub use name::{AccountName, MOST_NAME_BYTES, NameError, UserName};
pub use password::{PasswordError, PasswordHash};
pub use tokens::{Issued, Token, Tokens};
pub use users::{AccessKey, Proven, User, Users, UsersError};
