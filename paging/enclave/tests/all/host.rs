//! The host's answers: nothing is believed.

use crate::support::TestMailbox;
use ameles_enclave::host::{Host, HostError};
use ameles_enclave_boundary::exit::{Ending, Failure};
use ameles_enclave_boundary::mailbox::{Answer, Clock, Request, Stream};

#[test]
fn time_never_goes_back_whatever_the_host_says() {
    let mailbox = TestMailbox::default();
    let mut host = Host::new(mailbox.clone(), true);
    let said = [(100, 7), (99, 999_999_999), (100, 6), (1 << 33, 0), (5, 0)];
    for (seconds, nanos) in said {
        mailbox.answer(Answer::Time { seconds, nanos }, &[]);
    }
    mailbox.answer(Answer::Time { seconds: 1, nanos: 0 }, &[]);
    let told: Vec<u64> = (0..5).map(|_| host.time(Clock::Realtime).unwrap()).collect();
    assert_eq!(
        told,
        [
            100_000_000_007,
            100_000_000_007,
            100_000_000_007,
            (1 << 33) * 1_000_000_000,
            (1 << 33) * 1_000_000_000
        ]
    );
    assert_eq!(host.clamped_times, 3);
    // Another clock has another past.
    assert_eq!(host.time(Clock::Monotonic), Ok(1_000_000_000));
    assert_eq!((host.clamped_times, host.calls), (3, 6));
}

#[test]
fn an_answer_of_another_kind_ends_the_run() {
    let mailbox = TestMailbox::default();
    let mut host = Host::new(mailbox.clone(), true);
    mailbox.answer(Answer::Time { seconds: 1, nanos: 0 }, &[]);
    let is_lie =
        |error: HostError| matches!(error, HostError::End(Ending::Failed { kind: Failure::Host, .. }));
    assert!(is_lie(host.write(Stream::Output, b"text").unwrap_err()));
    mailbox.answer(Answer::Done { bytes: 0 }, &[]);
    assert!(is_lie(host.time(Clock::Realtime).unwrap_err()));
}

#[test]
fn a_text_that_is_too_long_for_the_mailbox_is_cut() {
    let mailbox = TestMailbox::default();
    let mut host = Host::new(mailbox.clone(), false);
    let max = ameles_enclave_boundary::map::MAX_DATA_BYTES;
    assert_eq!(host.write(Stream::Error, &vec![1; 1 << 20]), Ok(max as usize));
    let asked = &mailbox.0.borrow().asked[0];
    assert_eq!(asked.0, Request::Write { stream: Stream::Error, bytes: max });
    assert_eq!(asked.1.len(), max as usize);
}
