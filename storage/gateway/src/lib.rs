//! Objects and names over an oblivious block device, and servers that speak to clients of object stores.
//!
//! The [`Gateway`] stores the bytes of objects in the blocks of a [`Device`]. It stores the catalogue of names, sizes
//! and metadata in the device's rows. [`s3`] and [`swift`] speak to clients, [`http`] serves them, and [`http::admin`]
//! answers `/healthz` and `/metrics`.
//!
//! # Accesses per verb
//!
//! `P` is the padded size of an object in blocks: [`Padding::blocks`] of its bytes. For an object uploaded in parts it
//! is the sum over the parts. The adversary who watches the store sees the number of accesses and their times, in
//! batches of at most [`DeviceShape::max_batch`]. It does not see whether they read or write.
//!
//! | verb | accesses |
//! |---|---|
//! | put an object, upload a part; old versions kept or not | `P` |
//! | get an object, or a version of one | `P` |
//! | get a range | the blocks that the range touches, rounded up to their class; at most `P` |
//! | copy an object (also onto itself, also only to change metadata) | `P` of the source + `P` of the copy |
//! | upload a part by copying | those of a get of the source's range + `P` of the part |
//! | get that returns 304, 404, 412 or 416 | 0 |
//! | head, list, delete one or many, by a delete marker or a version permanently; list versions | 0 |
//! | begin, complete, abort, list uploads in parts; list parts | 0 |
//! | create, delete, list containers | 0 |
//! | apply lifecycle rules ([`Lifecycle`]) | 0 |
//!
//! Without padding `P` is the size divided by the size of a block, rounded up; an empty object takes 0. An object or
//! part of at most half a block then shares a block with others: a get takes 1 and a put 0. (If changes of rows go to the
//! store, these are objects of at most twice [`DeviceShape::row_bytes_per_access`].) For each half block of such
//! bytes that clients have written, 2 more accesses follow, whether the bytes were kept or not. With padding, an empty
//! object takes the smallest class, and padding blocks take capacity like others.
//!
//! | fact | hidden | visible |
//! |---|---|---|
//! | names, number of objects, metadata, listings | yes: rows only | |
//! | which object is accessed, and whether it is read or written | yes: every access looks the same | |
//! | an object's size | within its class | its class, each time it is read or written |
//! | a range's place | yes | its length within its class |
//! | when, and how fast, a client sends or receives the bytes | | unless the device paces its accesses |
//! | that a client disconnected half-way | | fewer accesses than the table says |
//! | that a put was refused or failed after its body was sent | | no less than a put that succeeds |

mod any_device;
pub mod auth;
pub mod catalogue;
pub mod device;
mod error;
mod fair_share;
pub mod http;
pub mod objects;
pub mod page;
pub mod s3;
mod serving;
pub mod swift;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use any_device::AnyDevice;
pub use device::{Device, DeviceError, DeviceShape, Flow};
pub use error::{Error, OpenError};
pub use http::admission::Admission;
pub use http::answer_check::AnswerCheck;
pub use http::body_timeout::{BodyError, RequestBody};
pub use http::tls::{Tls, TlsError};
pub use objects::account::{Account, FIRST_ACCOUNT};
pub use objects::gateway::{Gateway, Options, Usage};
pub use objects::lifecycle::Lifecycle;
pub use objects::packing::PackedUsage;
pub use objects::padding::Padding;
pub use objects::reader::Reader;
pub use objects::writer::{Writer, Written};
pub use serving::{serve_s3, serve_swift};
