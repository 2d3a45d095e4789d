//! The users of a gateway: their file, and the watch that reloads it.

mod error;
pub mod file;
pub mod watch;

pub(crate) use error::MAX_PASSWORD_BYTES;
pub use error::UserError;
