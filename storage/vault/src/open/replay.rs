//! The replay of a journal: the engine steps through its inputs, and the announced reads are sent again.

use crate::engine::Engine;
use crate::engine::deferred_store::OperationId;
use crate::engine::record::{Announcement, Effect, Input, Record};
use crate::engine::work::{Work, execute};
use crate::error::VaultError;
use crate::store::VaultStore;
use ameles_core::types::{Slot, Version};
use ameles_seal::sealed::{Sealed, VersionedSlot};
use futures::stream::{self, StreamExt};
use std::collections::BTreeMap;

/// The number of announced reads that a replay keeps in flight.
const READ_AHEAD: usize = 8;

/// A replay of a journal, which may come in parts.
#[derive(Default)]
pub(crate) struct Replay {
    /// The answers of reads whose completion has not been stepped through.
    answers: BTreeMap<OperationId, Vec<u8>>,
}

impl Replay {
    /// Steps the engine through the next records. When this returns, all of their announced reads are answered.
    ///
    /// # Errors
    /// [`VaultError::Damaged`] if the engine causes other requests than the records announce; tampering, and the errors
    /// of the store.
    pub(crate) async fn step<U: VaultStore>(
        &mut self,
        engine: &mut Engine<U>,
        records: Vec<Record>,
    ) -> Result<(), VaultError> {
        let sealed = engine.sealed.clone();
        let answers = &mut self.answers;
        let mut records = records.into_iter().peekable();
        while records.peek().is_some() {
            // The keys of an epoch are known after its record has been stepped through, and a checkpoint numbers
            // operations again. So the records between two of these form a segment.
            let mut segment: Vec<Record> = records.next().into_iter().collect();
            let continues =
                |record: &Record| !matches!(record.input, Input::Epoch(..) | Input::Checkpoint(_));
            while let Some(record) = records.next_if(continues) {
                segment.push(record);
            }
            if let Some(Record { input: Input::Epoch(epoch, _), .. }) = segment.first() {
                sealed.replay_epoch(*epoch)?;
            }
            let announced: Vec<(OperationId, Vec<(Slot, Version)>)> =
                segment.iter().flat_map(announced_reads).collect();
            let mut reads = stream::iter(announced.into_iter().map(|(operation, places)| {
                let sealed = &sealed;
                async move { read_again(sealed, operation, &places).await }
            }))
            .buffered(READ_AHEAD);
            for record in segment {
                let answer = match &record.input {
                    Input::Complete(operation) => {
                        while !answers.contains_key(operation)
                            && let Some(read) = reads.next().await
                        {
                            let (operation, answer) = read?;
                            answers.insert(operation, answer);
                        }
                        // A completed write has no answer.
                        answers.remove(operation).unwrap_or_default()
                    }
                    _ => Vec::new(),
                };
                let step = engine.step(record.input.clone(), answer)?;
                while engine.take_answers().is_some() {}
                if step.record != record {
                    return Err(VaultError::Damaged(
                        "its journal does not follow from its checkpoint".into(),
                    ));
                }
            }
            while let Some(read) = reads.next().await {
                let (operation, answer) = read?;
                answers.insert(operation, answer);
            }
        }
        Ok(())
    }

    /// The answers of reads whose completion was not journalled.
    pub(crate) fn into_answers(self) -> Vec<(OperationId, Vec<u8>)> {
        self.answers.into_iter().collect()
    }
}

fn announced_reads(record: &Record) -> Vec<(OperationId, Vec<(Slot, Version)>)> {
    let read = |announced: &Announcement| match &announced.effect {
        Effect::Read(places) => Some((announced.operation, places.clone())),
        Effect::Write(_) => None,
    };
    record.announced.iter().filter_map(read).collect()
}

async fn read_again<U: VaultStore>(
    sealed: &Sealed<U>,
    operation: OperationId,
    places: &[(Slot, Version)],
) -> Result<(OperationId, Vec<u8>), VaultError> {
    let places: Vec<VersionedSlot> =
        places.iter().map(|(slot, version)| VersionedSlot { slot: *slot, version: *version }).collect();
    let answer = execute(sealed, Work::Read(places, Vec::new())).await?;
    Ok((operation, answer))
}
