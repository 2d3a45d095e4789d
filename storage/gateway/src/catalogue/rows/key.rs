//! The keys of rows, and their bytes.

use crate::catalogue::{ObjectName, UploadId};
use crate::objects::packing::FragmentId;

/// The subject of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RowKey {
    Format,
    Account(String),
    Container(String, String),
    Fragment(FragmentId),
    Object(String, String, String),
    Upload(UploadId),
    Part(UploadId, u16),
    Version(String, String, String, u64),
}

impl RowKey {
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            RowKey::Format => vec![b'0'],
            RowKey::Account(name) => [b"1", name.as_bytes()].concat(),
            RowKey::Container(account, name) => [b"2", account.as_bytes(), b"\0", name.as_bytes()].concat(),
            RowKey::Fragment(id) => [b"3", &id.0.to_be_bytes()[..]].concat(),
            RowKey::Object(account, container, key) => {
                [b"4", account.as_bytes(), b"\0", container.as_bytes(), b"\0", key.as_bytes()].concat()
            }
            RowKey::Upload(id) => [b"5", &id.0[..]].concat(),
            RowKey::Part(id, number) => [b"6", &id.0[..], &number.to_be_bytes()].concat(),
            RowKey::Version(account, container, key, order) => {
                let order = (!order).to_be_bytes();
                [b"8", account.as_bytes(), b"\0", container.as_bytes(), b"\0", key.as_bytes(), &order]
                    .concat()
            }
        }
    }

    pub(super) fn parse<'b>(bytes: &'b [u8]) -> Option<RowKey> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let cut = |bytes: &'_ [u8]| bytes.iter().position(|&byte| byte == 0);
        let split = |rest: &'b [u8]| {
            let end = cut(rest)?;
            let (account, rest) = (text(&rest[..end])?, &rest[end + 1..]);
            let end = cut(rest)?;
            Some((account, text(&rest[..end])?, &rest[end + 1..]))
        };
        let (&tag, rest) = bytes.split_first()?;
        Some(match tag {
            b'0' if rest.is_empty() => RowKey::Format,
            b'1' => RowKey::Account(text(rest)?),
            b'2' => {
                let end = cut(rest)?;
                RowKey::Container(text(&rest[..end])?, text(&rest[end + 1..])?)
            }
            b'3' => RowKey::Fragment(FragmentId(u64::from_be_bytes(rest.try_into().ok()?))),
            b'4' => {
                let (account, container, key) = split(rest)?;
                RowKey::Object(account, container, text(key)?)
            }
            b'5' => RowKey::Upload(UploadId(rest.try_into().ok()?)),
            b'6' => {
                let (id, number) = rest.split_first_chunk::<16>()?;
                RowKey::Part(UploadId(*id), u16::from_be_bytes(number.try_into().ok()?))
            }
            b'8' => {
                let (account, container, rest) = split(rest)?;
                let (key, order) = rest.split_last_chunk::<8>()?;
                RowKey::Version(account, container, text(key)?, !u64::from_be_bytes(*order))
            }
            _ => return None,
        })
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            RowKey::Format => "the format",
            RowKey::Account(_) => "an account",
            RowKey::Container(..) => "a container",
            RowKey::Fragment(_) => "the bytes of a small object",
            RowKey::Object(..) => "an object",
            RowKey::Upload(_) => "a multipart upload",
            RowKey::Part(..) => "a part of a multipart upload",
            RowKey::Version(..) => "an old version of an object",
        }
    }

    pub(super) fn object(object_name: &ObjectName) -> Self {
        RowKey::Object(object_name.account.clone(), object_name.container.clone(), object_name.key.clone())
    }

    pub(super) fn version(object_name: &ObjectName, order: u64) -> Self {
        RowKey::Version(
            object_name.account.clone(),
            object_name.container.clone(),
            object_name.key.clone(),
            order,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_as_they_were() {
        let id = UploadId([7; 16]);
        let keys = [
            RowKey::Format,
            RowKey::Account("account".into()),
            RowKey::Container("account".into(), "container".into()),
            RowKey::Fragment(FragmentId(300)),
            RowKey::Object("account".into(), "container".into(), "a\0b".into()),
            RowKey::Upload(id),
            RowKey::Part(id, 10_000),
            RowKey::Version("account".into(), "container".into(), "a\0b".into(), 1 << 40),
        ];
        for key in keys {
            assert_eq!(RowKey::parse(&key.bytes()), Some(key));
        }
    }
}
