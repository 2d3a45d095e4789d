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
    Object(ObjectName),
    Upload(UploadId),
    Part(UploadId, u16),
    /// A version that is not the current object of its key, by its order.
    Version(ObjectName, u64),
}

impl RowKey {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let with_name = |tag: &[u8], ObjectName { account, container, key }: &ObjectName, order: &[u8]| {
            [tag, account.as_bytes(), b"\0", container.as_bytes(), b"\0", key.as_bytes(), order].concat()
        };
        match self {
            RowKey::Format => vec![b'0'],
            RowKey::Account(name) => [b"1", name.as_bytes()].concat(),
            RowKey::Container(account, name) => [b"2", account.as_bytes(), b"\0", name.as_bytes()].concat(),
            RowKey::Fragment(id) => [b"3", &id.0.to_be_bytes()[..]].concat(),
            RowKey::Object(name) => with_name(b"4", name, b""),
            RowKey::Upload(id) => [b"5", &id.0[..]].concat(),
            RowKey::Part(id, number) => [b"6", &id.0[..], &number.to_be_bytes()].concat(),
            RowKey::Version(name, order) => with_name(b"8", name, &(!order).to_be_bytes()),
        }
    }

    pub(super) fn parse<'b>(bytes: &'b [u8]) -> Option<RowKey> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let cut = |bytes: &'b [u8]| {
            let end = bytes.iter().position(|&byte| byte == 0)?;
            Some((text(&bytes[..end])?, &bytes[end + 1..]))
        };
        let name = |rest: &'b [u8], order_bytes: usize| {
            let (account, rest) = cut(rest)?;
            let (container, rest) = cut(rest)?;
            let (key, order) = rest.split_at(rest.len().checked_sub(order_bytes)?);
            Some((ObjectName { account, container, key: text(key)? }, order))
        };
        let (&tag, rest) = bytes.split_first()?;
        Some(match tag {
            b'0' if rest.is_empty() => RowKey::Format,
            b'1' => RowKey::Account(text(rest)?),
            b'2' => {
                let (account, container) = cut(rest)?;
                RowKey::Container(account, text(container)?)
            }
            b'3' => RowKey::Fragment(FragmentId(u64::from_be_bytes(rest.try_into().ok()?))),
            b'4' => RowKey::Object(name(rest, 0)?.0),
            b'5' => RowKey::Upload(UploadId(rest.try_into().ok()?)),
            b'6' => {
                let (id, number) = rest.split_first_chunk::<16>()?;
                RowKey::Part(UploadId(*id), u16::from_be_bytes(number.try_into().ok()?))
            }
            b'8' => {
                let (name, order) = name(rest, 8)?;
                RowKey::Version(name, !u64::from_be_bytes(order.try_into().ok()?))
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
            RowKey::Object(ObjectName::new("account", "container", "a\0b")),
            RowKey::Upload(id),
            RowKey::Part(id, 10_000),
            RowKey::Version(ObjectName::new("account", "container", "a\0b"), 1 << 40),
        ];
        for key in keys {
            assert_eq!(RowKey::parse(&key.bytes()), Some(key));
        }
    }
}
