//! S3 for the gateway: [`s3s`] parses requests; this module checks their signatures and implements the verbs.
//!
//! Signatures of version 4 may be in the header, in the URL, in a form, and on each chunk of a body. Signatures of
//! version 2 may be in URLs and forms. All are compared in constant time. Each verb needs a right in a bucket or an
//! object. The owner has all rights, and access control lists give rights to others. A verb that is not listed is for
//! the owner only. Requests with unsupported features are refused, not ignored.

mod absent_features;
mod access;
mod acl;
mod attributes;
mod body;
mod buckets;
mod checksums;
mod conversions;
mod copy;
mod cors;
mod delete;
mod encryption;
mod error_messages;
mod errors;
mod form;
mod get;
mod header_compat;
mod keep_alive;
mod lifecycle;
mod listing;
mod multipart;
mod ownership;
mod principal;
mod put;
mod refusal;
mod region;
mod retryable;
mod server;
mod settings;
mod status;
mod tagging;
mod unsupported;
mod verbs;
mod verified_service;
mod version_2;
mod version_4;
mod versions;
mod xml;
mod xml_text;

pub use region::is_region;
pub use server::S3Server;
