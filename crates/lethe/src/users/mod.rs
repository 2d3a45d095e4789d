//! The users of a gateway: the file that names them, and the watch over it.

pub mod file;
pub mod watch;
