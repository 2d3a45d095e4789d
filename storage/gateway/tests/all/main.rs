//! The gateway's tests in one program: several programs would link the same libraries several times.

#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod accesses_per_verb;
mod admin;
mod edge;
mod expiry;
mod failures;
mod group_commit;
mod histories;
mod http;
mod logs;
mod packing;
mod page;
mod raw;
mod s3;
mod settled_reads;
mod swift;
mod test_server;
mod unversioned_rows;
mod vault;
