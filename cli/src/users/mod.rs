//! The users of a gateway: the file that names them, and the watch over it.

mod error;
pub mod file;
pub mod watch;

pub(crate) use error::MAX_PASSWORD_BYTES;
pub use error::UserError;
