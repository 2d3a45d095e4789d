//! The content of an object: its own bytes, or those of its segments, concatenated.

use crate::catalogue::Object;
use crate::error::Error;
use crate::objects::gateway::Gateway;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use std::ops::Range;
use std::sync::Arc;

/// A piece of an object: bytes that are read in one go.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) object: Arc<Object>,
    /// The bytes within the object.
    pub(super) range: Range<u64>,
}

impl Piece {
    /// Returns a piece with all of an object.
    pub(super) fn whole(object: &Arc<Object>) -> Piece {
        Piece { object: Arc::clone(object), range: 0..object.bytes() }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn is_whole(&self) -> bool {
        self.range == (0..self.object.bytes())
    }
}

/// The content of an object.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) pieces: Vec<Piece>,
    /// The ETag of the content in headers. It has quotes unless it is the ETag of the bytes.
    pub(super) etag: String,
}

impl Content {
    /// Returns an object's own bytes.
    pub(super) fn plain(object: &Arc<Object>) -> Content {
        Content { pieces: vec![Piece::whole(object)], etag: object.etag.clone() }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.pieces.iter().map(Piece::bytes).sum()
    }

    /// Returns the pieces with these bytes of the content.
    pub(super) fn cut(&self, range: &Range<u64>) -> Vec<Piece> {
        cut(&self.pieces, range)
    }
}

pub(super) fn cut(pieces: &[Piece], range: &Range<u64>) -> Vec<Piece> {
    let mut offset = 0;
    let mut found = Vec::new();
    for piece in pieces {
        let (start, end) = (offset, offset + piece.bytes());
        offset = end;
        let (from, to) = (range.start.max(start), range.end.min(end));
        if from < to {
            let range = piece.range.start + (from - start)..piece.range.start + (to - start);
            found.push(Piece { object: Arc::clone(&piece.object), range });
        }
    }
    found
}

/// The pieces for which a reader waits for memory. Without waiting, it gets [`Error::Busy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryWait {
    /// No piece: the reader holds memory already, and would wait for another waiting one.
    Never,
    /// All but the first: an answer that has begun continues to its end.
    AfterTheFirst,
    /// Every piece: for the rest of an answer.
    Always,
}

/// Reads pieces one after the other. A piece starts when the last byte of the previous one has arrived. So as many
/// accesses are in flight as for one object.
pub(super) fn read(
    gateway: &Gateway,
    pieces: Vec<Piece>,
    waiting: MemoryWait,
) -> BoxStream<'static, Result<Bytes, Error>> {
    let gateway = gateway.clone();
    stream::iter(pieces.into_iter().enumerate())
        .then(move |(number, piece)| {
            let gateway = gateway.clone();
            async move {
                // A whole object is read with its padding, also an empty one.
                let range = (!piece.is_whole()).then_some(piece.range);
                let waits =
                    waiting == MemoryWait::Always || waiting == MemoryWait::AfterTheFirst && number > 0;
                match waits {
                    true => gateway.read_on(&piece.object, range).await,
                    false => gateway.read(&piece.object, range).await,
                }
            }
        })
        .try_flatten()
        .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Segment, SegmentPlace};

    fn object(bytes: u64) -> Arc<Object> {
        Arc::new(Object {
            segments: vec![Arc::new(Segment { bytes, place: SegmentPlace::Blocks(vec![]) })],
            ..Object::default()
        })
    }

    #[test]
    fn a_range_across_pieces_is_cut_out_of_each() {
        let pieces = [
            Piece::whole(&object(10)),
            Piece { object: object(10), range: 2..5 },
            Piece::whole(&object(0)),
            Piece::whole(&object(4)),
        ];
        let ranges = |range: Range<u64>| -> Vec<(u64, u64)> {
            cut(&pieces, &range).into_iter().map(|piece| (piece.range.start, piece.range.end)).collect()
        };
        assert_eq!(ranges(0..17), [(0, 10), (2, 5), (0, 4)]);
        assert_eq!(ranges(9..14), [(9, 10), (2, 5), (0, 1)]);
        assert_eq!(ranges(11..12), [(3, 4)]);
        assert_eq!(ranges(16..17), [(3, 4)]);
        assert_eq!(ranges(3..3), []);
    }
}
