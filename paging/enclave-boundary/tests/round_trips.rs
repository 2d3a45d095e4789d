//! The encodings of the boundary: each side reads what the other writes, and no bytes make a parser panic.

use ameles_enclave_boundary::exit::{
    Ending, ExitError, ExitRecord, Failure, Faults, Instructions, Memory, Refused,
};
use ameles_enclave_boundary::launch::{
    AllowedCalls, FaultWindow, Instrumentation, LaunchError, LaunchOptions, MAGIC, Paging, PagingMode,
    SealedStorage, Seed, encode, parse,
};
use ameles_enclave_boundary::mailbox::{
    ANSWER_BYTES, Answer, Clock, REQUEST_BYTES, Request, RequestError, Stream,
};
use ameles_enclave_boundary::map::{
    HOST_BYTES, MAX_DATA_BYTES, MAX_EXIT_BYTES, PAGES_OFFSET, untrusted_bytes,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(1..=u8::MAX, 0..20)
}

prop_compose! {
    fn paging()(
        scheme in ".{0,12}",
        cipher in ".{0,12}",
        (ratio, untrusted_bytes) in any::<(u64, u64)>(),
        (resident, harts) in any::<(u32, u32)>(),
        pages in any::<Option<u64>>(),
        storage in prop_oneof![Just(SealedStorage::Backing), Just(SealedStorage::Intermediary)],
        mode in prop_oneof![Just(PagingMode::Sv39), Just(PagingMode::Sv48)],
        filled in any::<bool>(),
    ) -> Paging {
        Paging { scheme, ratio, resident, cipher, untrusted_bytes, pages, storage, mode, harts, filled }
    }
}

prop_compose! {
    fn launch()(
        paging in paging(),
        (clock, after_fault, meters, sequential_shares) in any::<(bool, bool, bool, bool)>(),
        window in any::<Option<(u64, u64)>>(),
        seed in any::<[u8; 32]>(),
        arguments in vec(text(), 1..5),
        environment in vec(text(), 0..5),
    ) -> LaunchOptions {
        let window = window.map(|(warm_up_faults, faults)| FaultWindow { warm_up_faults, faults });
        let (allowed, instrumentation) = (AllowedCalls { clock }, Instrumentation { after_fault, meters, sequential_shares, window });
        LaunchOptions { paging, allowed, instrumentation, seed: Seed(seed), arguments, environment }
    }
}

fn request() -> impl Strategy<Value = Request> {
    let bytes = || 0..=MAX_DATA_BYTES;
    let stream = prop_oneof![Just(Stream::Output), Just(Stream::Error)];
    prop_oneof![
        (stream, bytes()).prop_map(|(stream, bytes)| Request::Write { stream, bytes }),
        bytes().prop_map(|max| Request::Read { max }),
        prop_oneof![Just(Clock::Realtime), Just(Clock::Monotonic)].prop_map(Request::Clock),
        (any::<u64>(), bytes()).prop_map(|(at, bytes)| Request::Store { at, bytes }),
        (any::<u64>(), bytes()).prop_map(|(at, bytes)| Request::Load { at, bytes }),
        any::<(u64, u64)>().prop_map(|(faults, evictions)| Request::AfterFault { faults, evictions }),
    ]
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        any::<u8>().prop_map(Ending::Exited),
        Just(Ending::WindowEnded),
        (any::<u8>(), ".{0,40}").prop_map(|(signal, reason)| Ending::Signalled { signal, reason }),
        ".{0,40}".prop_map(|text| Ending::Failed { kind: Failure::Forged, text }),
    ]
}

prop_compose! {
    fn record()(
        ending in ending(),
        counts in any::<[u64; 26]>(),
        refused in vec((".{0,8}", any::<(u64, u64)>()), 0..5),
    ) -> ExitRecord {
        let [a, b, c, d, total, faults, ciphers, copies, frames, writes, reads, idle, calls,
             hidden, shared, longest, handing_over,
             pages, max_held_pages, resident, untrusted_bytes, trusted_bytes,
             system_calls, host_calls, clamped_times, nanos] = counts;
        ExitRecord {
            ending,
            faults: Faults { faults: a, evictions: b, idle_steps: c, loading: d },
            instructions: Instructions {
                total, faults, ciphers, copies, frames, writes, reads, idle, system_calls: calls, hidden, shared,
                longest, handing_over,
            },
            nanos,
            memory: Memory { pages, max_held_pages, resident, untrusted_bytes, trusted_bytes },
            system_calls,
            host_calls,
            clamped_times,
            refused: refused.into_iter().map(|(name, (number, times))| Refused { name, number, times }).collect(),
        }
    }
}

proptest! {
    #[test]
    fn a_package_reads_as_it_was_written_whatever_lies_behind_it(
        launch in launch(), image in vec(any::<u8>(), 0..200), behind in vec(any::<u8>(), 0..50),
    ) {
        let package = [encode(&launch, &image).unwrap(), behind].concat();
        prop_assert_eq!(parse(&package), Ok((launch, &image[..])));
    }

    #[test]
    fn a_package_that_was_cut_is_refused(launch in launch(), image in vec(any::<u8>(), 1..50), cut in 0.0..1.0) {
        let package = encode(&launch, &image).unwrap();
        let length = (package.len() as f64 * cut) as usize;
        let refused = parse(&package[..length]);
        prop_assert!(matches!(refused, Err(LaunchError::Short { needed, found }) if found < needed), "{:?}", refused);
    }

    #[test]
    fn a_request_reads_as_it_was_written(request in request()) {
        prop_assert_eq!(Request::parse(&request.encode()), Ok(request));
    }

    #[test]
    fn an_answer_to_a_request_reads_as_it_was_written(
        request in request(), share in 0.0..=1.0, errno in 1u16..=4095, seconds in 0u64..1 << 33,
        nanos in 0u32..1_000_000_000,
    ) {
        let failed = Answer::Failed { errno };
        prop_assert_eq!(Answer::parse(&failed.encode(), &request), Ok(failed));
        let done = match request {
            Request::Clock(_) => Answer::Time { seconds, nanos },
            Request::Write { bytes, .. } | Request::Read { max: bytes } => {
                Answer::Done { bytes: (f64::from(bytes) * share) as u32 }
            }
            Request::Store { bytes, .. } | Request::Load { bytes, .. } => Answer::Done { bytes },
            Request::AfterFault { .. } => Answer::Done { bytes: 0 },
        };
        prop_assert_eq!(Answer::parse(&done.encode(), &request), Ok(done));
    }

    #[test]
    fn a_record_reads_as_it_was_written(record in record()) {
        prop_assert_eq!(ExitRecord::parse(&record.encode()), Ok(record));
    }
}

#[test]
fn a_host_that_claims_more_bytes_than_were_asked_for_is_caught() {
    let read = Request::Read { max: 7 };
    let load = Request::Load { at: 0, bytes: 7 };
    let lies = [
        (Answer::Done { bytes: 8 }, read),
        (Answer::Done { bytes: 8 }, load),
        (Answer::Done { bytes: 6 }, load),
        (Answer::Done { bytes: 1 }, Request::AfterFault { faults: 9, evictions: 9 }),
        (Answer::Done { bytes: 0 }, Request::Clock(Clock::Realtime)),
        (Answer::Time { seconds: 1, nanos: 0 }, read),
        (Answer::Time { seconds: 1 << 33, nanos: 0 }, Request::Clock(Clock::Realtime)),
        (Answer::Time { seconds: 1, nanos: 1_000_000_000 }, Request::Clock(Clock::Monotonic)),
        (Answer::Failed { errno: 0 }, read),
        (Answer::Failed { errno: 4096 }, read),
    ];
    for (answer, request) in lies {
        assert!(Answer::parse(&answer.encode(), &request).is_err(), "{answer:?} to {request:?}");
    }
}

#[test]
fn a_request_about_more_data_than_there_is_room_for_is_refused() {
    let write = Request::Write { stream: Stream::Error, bytes: MAX_DATA_BYTES + 1 };
    assert_eq!(Request::parse(&write.encode()), Err(RequestError::Length(MAX_DATA_BYTES + 1)));
}

#[test]
fn arguments_that_c_cannot_read_are_refused_on_both_sides() {
    let paging = Paging {
        scheme: "plain".into(),
        ratio: 3,
        resident: 15,
        cipher: "aes-256-gcm".into(),
        untrusted_bytes: 0,
        pages: None,
        storage: SealedStorage::Backing,
        mode: PagingMode::Sv39,
        filled: false,
        harts: 1,
    };
    let of = |arguments: Vec<Vec<u8>>| LaunchOptions {
        paging: paging.clone(),
        allowed: AllowedCalls::default(),
        instrumentation: Instrumentation::default(),
        seed: Seed([7; 32]),
        arguments,
        environment: Vec::new(),
    };
    for arguments in [vec![], vec![b"a\0b".to_vec()]] {
        assert_eq!(encode(&of(arguments), b""), Err(LaunchError::Arguments));
    }
    // `encode` would not have produced its zero.
    let mut package = encode(&of(vec![b"program".to_vec()]), b"").unwrap();
    let at = package.windows(7).position(|window| window == b"program").unwrap();
    package[at] = 0;
    assert_eq!(parse(&package), Err(LaunchError::Arguments));
    let long = of(vec![vec![b'a'; 1 << 20]]);
    assert!(matches!(encode(&long, b""), Err(LaunchError::TooLong { .. })));
}

#[test]
fn a_seed_is_never_printed() {
    assert_eq!(format!("{:?}", Seed([0x5a; 32])), "Seed(…)");
}

#[test]
fn a_record_with_endless_texts_still_fits_its_place() {
    let mut record = ExitRecord::of(Ending::Failed { kind: Failure::Runtime, text: "é".repeat(1 << 20) });
    let refused = Refused { name: "ß".repeat(1000), number: u64::MAX, times: u64::MAX };
    record.refused = vec![refused; 5000];
    let bytes = record.encode();
    assert!(bytes.len() as u64 <= MAX_EXIT_BYTES);
    assert_eq!(ExitRecord::parse(&bytes).unwrap().refused.len(), 1024);
    assert_eq!(ExitRecord::parse(&[9]), Err(ExitError::Format(9)));
}

#[test]
fn untrusted_memory_has_room_for_the_pages_and_the_mailbox() {
    assert!(
        untrusted_bytes(64 << 20)
            .is_some_and(|bytes| bytes >= (64 << 20) + PAGES_OFFSET + HOST_BYTES && bytes % (2 << 20) == 0)
    );
    assert_eq!(untrusted_bytes(u64::MAX), None);
}

#[test]
fn fuzz_parsers_of_the_boundary() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let _ = parse(bytes);
        let _ = parse(&[&MAGIC, bytes].concat());
        let options = bytes.len() as u32;
        let framed = [&MAGIC[..], &options.to_le_bytes(), &[0; 8], bytes].concat();
        let _ = parse(&framed);
        let _ = ExitRecord::parse(bytes);
        let _ = ExitRecord::parse(&[&[1], bytes].concat());
        let mut request = [0; REQUEST_BYTES];
        let length = bytes.len().min(REQUEST_BYTES);
        request[..length].copy_from_slice(&bytes[..length]);
        if let Ok(parsed) = Request::parse(&request) {
            let mut answer = [0; ANSWER_BYTES];
            let rest = &bytes[length..];
            answer[..rest.len().min(ANSWER_BYTES)].copy_from_slice(&rest[..rest.len().min(ANSWER_BYTES)]);
            let _ = Answer::parse(&answer, &parsed);
        }
    });
}
