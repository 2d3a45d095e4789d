//! The gateway's promises, in one program: each would link the same libraries again.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod accesses;
mod admin;
mod edge;
mod expiry;
mod failures;
mod groups;
mod histories;
mod http;
mod logs;
mod packing;
mod page;
mod s3;
mod swift;
mod test_server;
mod unversioned_rows;
