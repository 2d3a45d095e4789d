//! Networks that send more than they should, or less, like a processor that saves bytes.

use crate::network::{Message, Network};
use alloc::vec::Vec;

/// A network that cuts off the zero bytes at the end of each message.
pub struct TrimsMessages<N>(pub N);

impl<N: Network> Network for TrimsMessages<N> {
    type Error = N::Error;

    async fn exchange(&self, messages: &mut [Message]) -> Result<(), N::Error> {
        let lengths: Vec<usize> = messages.iter().map(|message| message.contents.len()).collect();
        for Message { contents, .. } in messages.iter_mut() {
            let end = contents.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            contents.truncate(end);
        }
        self.0.exchange(messages).await?;
        for (message, length) in messages.iter_mut().zip(lengths) {
            message.contents.resize(length, 0);
        }
        Ok(())
    }
}

/// A network that does not send messages that begin without a block: no dummy, and no message of padding alone.
pub struct SkipsDummies<N>(pub N);

impl<N: Network> Network for SkipsDummies<N> {
    type Error = N::Error;

    async fn exchange(&self, messages: &mut [Message]) -> Result<(), N::Error> {
        let says_something = |message: &&Message| message.contents.iter().take(8).any(|byte| *byte != 0);
        let mut said: Vec<Message> = messages.iter().filter(says_something).cloned().collect();
        match &mut said[..] {
            [] => Ok(()),
            said => self.0.exchange(said).await,
        }
    }
}
