//! The XML bodies of requests. One strict parser reads them, and compares them with the parts that each document may
//! have. They are passed to s3s in a form that both parsers read in the same way.
//!
//! s3s 0.14.1 skips what it does not know: text in CDATA sections, text outside of values, and elements of other names.
//! A rule whose prefix was skipped is a rule for everything, so nothing may be skipped silently.
//! `docs/reference/s3-xml.md` has the smallest documents that show it.

mod canonical;
#[cfg(test)]
mod fuzz;
mod request;
mod schema;

pub(super) use canonical::canonical;
pub(super) use request::{MAX_XML, has_xml, read};
