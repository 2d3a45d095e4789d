//! S3 over loopback, byte by byte: requests are written and signed here, so that they can be wrong.

mod answers;
mod authorization;
mod checksums;
mod cors;
mod described;
mod documents;
mod encryption;
mod forms;
mod keep_alive;
mod lifecycle;
mod lists;
mod payloads;
mod quotas;
mod regions;
pub mod signer;
mod tags;
pub mod test_server;
mod unsupported;
mod version_2;
mod versions;
