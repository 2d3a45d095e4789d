//! The network between the processors of a scheme, which shows each step of messages and waits with it.

use crate::memory::{Memory, SentMessage};
use ameles_core::network::{Message, Network};
use std::convert::Infallible;
use std::rc::Rc;

/// A network whose steps wait with the operations of a memory, in one line.
pub(crate) struct Wire(pub(crate) Rc<Memory>);

impl Network for Wire {
    type Error = Infallible;

    async fn exchange(&self, messages: &mut [Message]) -> Result<(), Infallible> {
        let sent = |message: &Message| SentMessage {
            from: message.from.0,
            to: message.to.0,
            bytes: message.contents.len(),
        };
        self.0.send(messages.iter().map(sent).collect()).await;
        Ok(())
    }
}
