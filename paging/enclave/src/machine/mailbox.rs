//! The mailbox in untrusted memory.

use super::instruction_counts::{all_retired_instructions, count_wait_since};
use super::untrusted::{read, read_word, write, write_word};
use crate::host::{Mailbox, dishonest_host};
use ameles_enclave_boundary::exit::Ending;
use ameles_enclave_boundary::mailbox::{ANSWER_BYTES, Answer, Request};
use ameles_enclave_boundary::map::{
    ANSWER_NUMBER_OFFSET, ANSWER_OFFSET, DATA_OFFSET, REQUEST_NUMBER_OFFSET, REQUEST_OFFSET,
};
use spinning_top::Spinlock;

/// The number of requests so far. Harts that run shares of a batch call one after the other.
static NUMBER: Spinlock<u64> = Spinlock::new(0);

/// The only mailbox.
#[derive(Clone, Copy)]
pub(super) struct HostMailbox;

impl Mailbox for HostMailbox {
    fn call(&mut self, request: Request, data: &[u8], into: &mut [u8]) -> Result<Answer, Ending> {
        let mut number = NUMBER.lock();
        write(DATA_OFFSET, data);
        write(REQUEST_OFFSET, &request.encode());
        *number += 1;
        let begin = all_retired_instructions();
        write_word(REQUEST_NUMBER_OFFSET, *number);
        while read_word(ANSWER_NUMBER_OFFSET) != *number {
            core::hint::spin_loop();
        }
        count_wait_since(begin);
        let mut answer = [0; ANSWER_BYTES];
        read(ANSWER_OFFSET, &mut answer);
        let answer = Answer::parse(&answer, &request).map_err(|_| dishonest_host())?;
        if let Answer::Done { bytes } = answer
            && !into.is_empty()
        {
            read(DATA_OFFSET, into.get_mut(..bytes as usize).ok_or_else(dishonest_host)?);
        }
        Ok(answer)
    }
}
