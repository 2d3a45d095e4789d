//! Objects over blocks, by account: the operations of all protocols.

pub(crate) mod account;
pub(crate) mod allocate;
pub(crate) mod archive;
pub mod checksums;
pub(crate) mod commit;
pub mod conditions;
pub(crate) mod failed_commit;
pub(crate) mod gateway;
pub(crate) mod group;
pub(crate) mod lifecycle;
pub mod listing;
pub(crate) mod memory;
pub mod multipart;
pub(crate) mod packing;
pub mod padding;
pub(crate) mod quota;
pub(crate) mod random;
pub(crate) mod reader;
pub(crate) mod row_bound;
mod verbs;
pub mod versions;
pub(crate) mod writer;
