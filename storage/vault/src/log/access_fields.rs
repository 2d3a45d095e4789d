//! The fields of the accesses in a log object. All of them have one length, whether the access is a read, a write or a
//! dummy.

use crate::engine::record::Call;
use crate::engine::scheme::SchemeParameters;
use ameles_core::types::BlockId;
use bytes::Bytes;

/// The number of bytes of a field without the payload: the kind of the access, and its block.
pub(super) const FIELD_BYTES: usize = 9;

const DUMMY: u8 = 0;
const WRITE: u8 = 1;
const READ: u8 = 2;

/// Appends a field for each call. The field of a dummy is zeros, and so is the payload of a read. Without bytes for a
/// payload, the fields have none.
pub(super) fn access_fields<'a>(
    calls: impl Iterator<Item = &'a Call>,
    payload_bytes: usize,
    text: &mut Vec<u8>,
) {
    for call in calls {
        let end = text.len() + FIELD_BYTES + payload_bytes;
        let (kind, block, payload) = match call {
            Call::Write(block, payload) => (WRITE, block.0, &payload[..]),
            Call::Read(block) => (READ, block.0, [].as_slice()),
            Call::Dummy => (DUMMY, 0, [].as_slice()),
        };
        text.push(kind);
        text.extend_from_slice(&block.to_le_bytes());
        text.extend_from_slice(if payload_bytes == 0 { &[] } else { payload });
        text.resize(end, 0);
    }
}

/// Reads authenticated fields with payloads of this length. `None` if they are not accesses to blocks of this scheme.
pub(super) fn decode_access_fields(
    fields: &[u8],
    payload_bytes: usize,
    scheme: &SchemeParameters,
) -> Option<Vec<Call>> {
    let call = |field: &[u8]| -> Option<Call> {
        let (kind, rest) = field.split_first()?;
        let (block, payload) = rest.split_first_chunk()?;
        let block = BlockId(u64::from_le_bytes(*block));
        match *kind {
            DUMMY => Some(Call::Dummy),
            _ if block.0 >= scheme.capacity() => None,
            WRITE => Some(Call::Write(block, Bytes::copy_from_slice(payload))),
            READ => Some(Call::Read(block)),
            _ => None,
        }
    };
    fields.chunks_exact(FIELD_BYTES + payload_bytes).map(call).collect()
}
