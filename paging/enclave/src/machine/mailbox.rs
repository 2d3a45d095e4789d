//! The mailbox in untrusted memory.

use super::hart::all_retired;
use super::untrusted::{read, read_word, write, write_word};
use crate::host::{Mailbox, lie};
use ameles_enclave_boundary::exit::Ending;
use ameles_enclave_boundary::mailbox::{ANSWER_BYTES, Answer, Request};
use ameles_enclave_boundary::map::{ANSWER_AT, ANSWER_NUMBER_AT, DATA_AT, REQUEST_AT, REQUEST_NUMBER_AT};
use core::sync::atomic::{AtomicU64, Ordering};
use spinning_top::Spinlock;

/// Requests so far. Harts that do a batch's shares call one after the other.
static NUMBER: Spinlock<u64> = Spinlock::new(0);
/// Instructions spent waiting so far.
static WAITED: AtomicU64 = AtomicU64::new(0);

/// The one mailbox.
#[derive(Clone, Copy)]
pub(super) struct HostMailbox;

/// Instructions spent waiting for the host so far.
pub(super) fn waited() -> u64 {
    WAITED.load(Ordering::Relaxed)
}

impl Mailbox for HostMailbox {
    fn call(&mut self, request: Request, data: &[u8], into: &mut [u8]) -> Result<Answer, Ending> {
        let mut number = NUMBER.lock();
        write(DATA_AT, data);
        write(REQUEST_AT, &request.encode());
        *number += 1;
        let begin = all_retired();
        write_word(REQUEST_NUMBER_AT, *number);
        while read_word(ANSWER_NUMBER_AT) != *number {
            core::hint::spin_loop();
        }
        WAITED.store(waited() + all_retired() - begin, Ordering::Relaxed);
        let mut answer = [0; ANSWER_BYTES];
        read(ANSWER_AT, &mut answer);
        let answer = Answer::parse(&answer, &request).map_err(|_| lie())?;
        if let Answer::Done { bytes } = answer
            && !into.is_empty()
        {
            read(DATA_AT, into.get_mut(..bytes as usize).ok_or_else(lie)?);
        }
        Ok(answer)
    }
}
