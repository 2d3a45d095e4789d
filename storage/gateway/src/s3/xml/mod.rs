//! The XML bodies of requests: read by one strict parser, compared with the parts that each document may have, and
//! handed to s3s in the one form that both read alike.
//!
//! s3s 0.14.1 skips what it does not know: text in CDATA sections, text outside values, and elements of other names.
//! A rule whose prefix was skipped is a rule for everything, so nothing may be skipped in silence.
//! `docs/reference/s3-xml.md` has the smallest documents that show it.

mod canonical;
#[cfg(test)]
mod fuzz;
mod request;
mod schema;

pub(super) use canonical::canonical;
pub(super) use request::{MAX_XML, has_xml, read};
