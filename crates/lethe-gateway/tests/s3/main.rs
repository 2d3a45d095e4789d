//! S3 to the letter, over loopback: requests are written and signed here, byte by byte, so that they can be wrong.

mod authorization;
mod forms;
mod lists;
mod quotas;
mod server;
mod signer;
