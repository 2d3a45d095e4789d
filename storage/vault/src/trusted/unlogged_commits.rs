//! Changes of rows that the journal in the store does not hold yet. They form a stream of commits, and each log object
//! takes the next bytes of it. A commit may be split over several objects, and an object may hold several commits.

use super::row::RowChange;
use bytes::Bytes;
use std::collections::VecDeque;

/// The number of a commit, in the order in which the trusted disk commits them.
pub(crate) type CommitId = u64;

/// Bytes of the stream in one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowBytes {
    /// The number of bytes at the start that continue a commit from earlier objects.
    pub(crate) continued: u32,
    pub(crate) bytes: Vec<u8>,
}

/// The commits that wait, in order.
#[derive(Debug, Default)]
pub(crate) struct UnloggedCommits {
    commits: VecDeque<(CommitId, Bytes)>,
    /// The number of bytes of the first commit that objects already hold.
    begun: usize,
    last: CommitId,
    /// The last commit that the store is known to hold.
    logged: CommitId,
}

impl UnloggedCommits {
    /// The commits that an earlier opening has left on the trusted disk.
    pub(crate) fn of(commits: Vec<(CommitId, Vec<u8>)>) -> Self {
        let last = commits.last().map_or(0, |(id, _)| *id);
        let commits = commits.into_iter().map(|(id, bytes)| (id, Bytes::from(bytes))).collect();
        UnloggedCommits { commits, begun: 0, last, logged: 0 }
    }

    /// The number of the next commit.
    pub(crate) fn next(&self) -> CommitId {
        self.last + 1
    }

    /// Adds a commit with its number, in the order of the trusted disk.
    pub(crate) fn push(&mut self, id: CommitId, commit: Vec<u8>) {
        self.last = id;
        self.commits.push_back((id, commit.into()));
    }

    /// The number of bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.commits.iter().map(|(_, commit)| commit.len()).sum::<usize>() - self.begun
    }

    /// Takes the next bytes of the stream, at most `max`. Returns the last commit that is taken completely, too.
    pub(crate) fn take(&mut self, max: usize) -> (RowBytes, CommitId) {
        let mut taken = RowBytes::default();
        while let Some((_, commit)) = self.commits.front()
            && taken.bytes.len() < max
        {
            let part = (commit.len() - self.begun).min(max - taken.bytes.len());
            if self.begun > 0 {
                taken.continued = part as u32;
            }
            taken.bytes.extend_from_slice(&commit[self.begun..][..part]);
            self.begun += part;
            if self.begun == commit.len() {
                self.commits.pop_front();
                self.begun = 0;
            }
        }
        (taken, self.commits.front().map_or(self.last, |(id, _)| id - 1))
    }

    /// Records that the store is known to hold all commits up to this one.
    pub(crate) fn mark_logged(&mut self, up_to: CommitId) {
        self.logged = self.logged.max(up_to);
    }

    /// The last commit that the store is known to hold.
    pub(crate) fn logged(&self) -> CommitId {
        self.logged
    }
}

/// A commit as encoded in the stream: its length, and its changes.
pub(crate) fn encode(changes: &[RowChange]) -> Vec<u8> {
    let text = borsh::to_vec(changes).expect("a write to memory does not fail");
    borsh::to_vec(&text).expect("a write to memory does not fail")
}

/// A reader of the stream. It may start in the middle of a commit, which it then skips.
#[derive(Debug, Default)]
pub(crate) struct RowStream {
    /// The start of an incomplete commit; `None` until a commit has started.
    begun: Option<Vec<u8>>,
}

impl RowStream {
    /// Reads the bytes of the next object. Returns the commits that end in it. `None` if the bytes are not of a stream.
    pub(crate) fn take(&mut self, RowBytes { continued, bytes }: &RowBytes) -> Option<Vec<Vec<RowChange>>> {
        let own = bytes.get(*continued as usize..)?;
        let joined = match self.begun.take() {
            Some(begun) => [&begun[..], bytes].concat(),
            // The rest of a commit that started before the reader.
            None if own.is_empty() => return Some(Vec::new()),
            None => own.to_vec(),
        };
        let (mut stream, mut commits) = (&joined[..], Vec::new());
        while let Some((length, rest)) = stream.split_first_chunk() {
            let Some(text) = rest.get(..u32::from_le_bytes(*length) as usize) else { break };
            commits.push(borsh::from_slice(text).ok()?);
            stream = &rest[text.len()..];
        }
        self.begun = Some(stream.to_vec());
        Some(commits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn commit(nth: usize, bytes: usize) -> Vec<RowChange> {
        vec![RowChange::put(nth.to_string(), vec![nth as u8; bytes]), RowChange::remove("gone")]
    }

    proptest! {
        #[test]
        fn each_commit_comes_out_whole_and_once_wherever_objects_cut_the_stream_and_a_reader_begins(
            sizes in prop::collection::vec(0usize..60, 0..20), max in 1usize..100, skipped in 0usize..8,
        ) {
            let commits: Vec<_> = sizes.iter().enumerate().map(|(nth, bytes)| commit(nth, *bytes)).collect();
            let mut unlogged = UnloggedCommits::default();
            for changes in &commits {
                unlogged.push(unlogged.next(), encode(changes));
            }
            let (mut objects, mut ends) = (Vec::new(), Vec::new());
            while unlogged.bytes() > 0 {
                let (bytes, end) = unlogged.take(max);
                prop_assert!(bytes.bytes.len() <= max);
                objects.push(bytes);
                ends.push(end as usize);
            }
            let mut stream = RowStream::default();
            let mut read = Vec::new();
            for object in objects.iter().skip(skipped) {
                read.extend(stream.take(object).expect("it is a stream"));
            }
            // Commits that started before the reader are skipped, whether or not they are complete before it.
            let before: usize = if skipped == 0 { 0 } else { ends.get(skipped - 1).copied().unwrap_or(commits.len()) };
            let is_cut = objects.get(skipped).is_some_and(|object| object.continued > 0) && skipped > 0;
            prop_assert_eq!(read, &commits[(before + usize::from(is_cut)).min(commits.len())..]);
        }
    }
}
