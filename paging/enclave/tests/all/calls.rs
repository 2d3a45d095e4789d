//! The system calls of a program.

use crate::support::{TestMailbox, TestProgram, program, system_call};
use ameles_enclave::access::{Access, Touch};
use ameles_enclave::paging::AccessError;
use ameles_enclave::space::CommitPolicy;
use ameles_enclave_boundary::exit::{Ending, Failure, Refused};
use ameles_enclave_boundary::mailbox::{Answer, Request, Stream};
use proptest::prelude::*;
use syscalls::riscv64::Sysno;

pub(crate) const PAGE: u64 = 4096;
pub(crate) const READ_WRITE: u64 = 3;
pub(crate) const PRIVATE_ANONYMOUS: u64 = 0x22;
/// Memory of the program that the tests use: sixteen pages.
pub(crate) const BUFFER: u64 = 0x20_0000;

const EPERM: i64 = -1;
const EIO: i64 = -5;
pub(crate) const EBADF: i64 = -9;
const EAGAIN: i64 = -11;
pub(crate) const ENOMEM: i64 = -12;
pub(crate) const EFAULT: i64 = -14;
pub(crate) const EINVAL: i64 = -22;
const ENOTTY: i64 = -25;
const ESPIPE: i64 = -29;
const ENOSYS: i64 = -38;
const EPIPE: i64 = -32;
const ETIMEDOUT: i64 = -110;

pub(crate) fn ready(pages: u64, allows_clock: bool) -> (TestProgram, TestMailbox) {
    let (mut program, mailbox) = program(pages, allows_clock);
    let first = BUFFER / PAGE;
    program.memory.space.map(first..first + 16, Access::READ_WRITE, CommitPolicy::Immediate).unwrap();
    (program, mailbox)
}

/// Makes a call that does not end the run.
pub(crate) fn call<const N: usize>(program: &mut TestProgram, call: Sysno, arguments: [u64; N]) -> i64 {
    system_call(program, call as u64, all(arguments)).unwrap() as i64
}

pub(crate) fn ends<const N: usize>(program: &mut TestProgram, call: Sysno, arguments: [u64; N]) -> Ending {
    system_call(program, call as u64, all(arguments)).unwrap_err()
}

fn all<const N: usize>(arguments: [u64; N]) -> [u64; 6] {
    std::array::from_fn(|nth| arguments.get(nth).copied().unwrap_or_default())
}

/// Maps pages at an address of the runtime's choice.
pub(crate) fn map_pages(program: &mut TestProgram, pages: u64) -> u64 {
    call(program, Sysno::mmap, [0, pages * PAGE, READ_WRITE, PRIVATE_ANONYMOUS, u64::MAX, 0]) as u64
}

pub(crate) fn put(program: &mut TestProgram, at: u64, bytes: &[u8]) {
    program.memory.write(at, bytes).unwrap();
}

pub(crate) fn get<const N: usize>(program: &mut TestProgram, at: u64) -> [u8; N] {
    let mut bytes = [0; N];
    program.memory.read(at, &mut bytes).unwrap();
    bytes
}

pub(crate) fn words<const N: usize>(program: &mut TestProgram, at: u64) -> [u64; N] {
    std::array::from_fn(|nth| u64::from_le_bytes(get(program, at + 8 * nth as u64)))
}

#[test]
fn the_heap_grows_and_shrinks_and_what_comes_back_is_empty() {
    let (mut program, _) = ready(64, false);
    let start = call(&mut program, Sysno::brk, [0]) as u64;
    assert_eq!(start, 0x11000);
    assert_eq!(call(&mut program, Sysno::brk, [start + 3 * PAGE + 5]) as u64, start + 3 * PAGE + 5);
    put(&mut program, start, &[7; 3 * PAGE as usize + 5]);
    assert_eq!(call(&mut program, Sysno::brk, [start + 10]) as u64, start + 10);
    assert_eq!(program.memory.fault(start + PAGE, Touch::Load), Err(AccessError::Illegal));
    assert_eq!(call(&mut program, Sysno::brk, [start + 2 * PAGE]) as u64, start + 2 * PAGE);
    assert_eq!(get(&mut program, start + PAGE), [0; 64]);
    // More than there is, across other memory, to the runtime's own, and below its beginning: it stays where it is.
    for address in [start + 60 * PAGE, BUFFER + 1, 0x8000_1000, u64::MAX, start - 1] {
        assert_eq!(call(&mut program, Sysno::brk, [address]) as u64, start + 2 * PAGE, "{address:#x}");
    }
}

#[test]
fn mappings_are_given_protected_moved_and_taken_away() {
    let (mut program, _) = ready(64, false);
    let at = map_pages(&mut program, 4);
    put(&mut program, at, &[5; 4 * PAGE as usize]);
    assert_eq!(call(&mut program, Sysno::mprotect, [at + PAGE, PAGE, 1]), 0);
    assert_eq!(program.memory.fault(at + PAGE, Touch::Store), Err(AccessError::Illegal));
    assert_eq!(program.memory.fault(at, Touch::Store), Ok(()));
    // A guard: nothing may be done there, and it can be given back.
    assert_eq!(call(&mut program, Sysno::mprotect, [at, PAGE, 0]), 0);
    assert_eq!(program.memory.fault(at, Touch::Load), Err(AccessError::Illegal));
    assert_eq!(call(&mut program, Sysno::mprotect, [at, 4 * PAGE, READ_WRITE]), 0);
    // Something lies above it: it moves.
    let above = [at + 4 * PAGE, PAGE, READ_WRITE, PRIVATE_ANONYMOUS | 0x10];
    assert_eq!(call(&mut program, Sysno::mmap, above) as u64, at + 4 * PAGE);
    let other = call(&mut program, Sysno::mremap, [at, 4 * PAGE, 6 * PAGE, 1]) as u64;
    assert_ne!(other, at);
    assert_eq!(program.memory.fault(at, Touch::Load), Err(AccessError::Illegal));
    assert_eq!(get(&mut program, other + 4 * PAGE - 8), [5, 5, 5, 5, 5, 5, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(call(&mut program, Sysno::munmap, [other + PAGE, PAGE]), 0);
    assert_eq!(program.memory.fault(other + PAGE, Touch::Load), Err(AccessError::Illegal));
    assert_eq!(call(&mut program, Sysno::madvise, [other + 2 * PAGE, PAGE, 4]), 0);
    assert_eq!(get(&mut program, other + 2 * PAGE), [0; 8]);
    assert_eq!(get(&mut program, other + 3 * PAGE), [5; 8]);
}

#[test]
fn mappings_that_cannot_be_are_refused() {
    let (mut program, _) = ready(64, false);
    let mut mmap = |arguments: [u64; 4]| call(&mut program, Sysno::mmap, arguments);
    assert_eq!(mmap([0, 49 * PAGE, READ_WRITE, PRIVATE_ANONYMOUS]), ENOMEM, "more than there is");
    assert_eq!(mmap([0, u64::MAX, READ_WRITE, PRIVATE_ANONYMOUS | 0x4000]), ENOMEM);
    assert_eq!(mmap([0, 0, READ_WRITE, PRIVATE_ANONYMOUS]), EINVAL);
    assert_eq!(mmap([0, PAGE, 0x80, PRIVATE_ANONYMOUS]), EINVAL);
    assert_eq!(mmap([0, PAGE, READ_WRITE, 2]), EBADF, "a file");
    // Fixed, where it would be the runtime's memory, or nobody's.
    for address in [0, 0x7fff_f000, 0x8000_0000, 0xC000_0000, 0xffff_f000, 1 << 38, 0xffff_ffff_ffff_f000] {
        let refused = mmap([address, 2 * PAGE, READ_WRITE, PRIVATE_ANONYMOUS | 0x10]);
        assert!([ENOMEM, EINVAL].contains(&refused), "{address:#x}: {refused}");
    }
    assert_eq!(mmap([BUFFER + 1, PAGE, READ_WRITE, PRIVATE_ANONYMOUS | 0x10]), EINVAL);
    assert_eq!(mmap([BUFFER, PAGE, READ_WRITE, PRIVATE_ANONYMOUS | 0x10_0000]), -17, "something is there");
    // Reserved without a right, it counts when it gets one.
    let reserved = mmap([0, 1000 * PAGE, 0, PRIVATE_ANONYMOUS]) as u64;
    assert_eq!(call(&mut program, Sysno::mprotect, [reserved, 49 * PAGE, READ_WRITE]), ENOMEM);
    assert_eq!(call(&mut program, Sysno::mprotect, [reserved, 48 * PAGE, READ_WRITE]), 0);
    assert_eq!(call(&mut program, Sysno::mprotect, [0x8000_0000, PAGE, READ_WRITE]), ENOMEM);
    assert_eq!(call(&mut program, Sysno::munmap, [0x8000_0000, PAGE]), EINVAL);
}

#[test]
fn streams_are_written_and_read_by_the_host_and_nothing_else_is_open() {
    let (mut program, mailbox) = ready(64, false);
    put(&mut program, BUFFER, b"hello, world");
    assert_eq!(call(&mut program, Sysno::write, [1, BUFFER, 7]), 7);
    let buffers = [BUFFER + 7, 3, 0, 0, BUFFER + 10, 2].map(u64::to_le_bytes).concat();
    put(&mut program, BUFFER + 100, &buffers);
    assert_eq!(call(&mut program, Sysno::writev, [2, BUFFER + 100, 3]), 5);
    assert_eq!(mailbox.written(), b"hello, world");
    assert_eq!(mailbox.0.borrow().asked[1].0, Request::Write { stream: Stream::Error, bytes: 3 });
    // A host that writes less: the program is told, and goes on from there.
    mailbox.answer(Answer::Done { bytes: 2 }, &[]);
    assert_eq!(call(&mut program, Sysno::writev, [2, BUFFER + 100, 3]), 2);
    mailbox.answer(Answer::Done { bytes: 4 }, b"line");
    assert_eq!(call(&mut program, Sysno::read, [0, BUFFER + 50, 100]), 4);
    assert_eq!(&get(&mut program, BUFFER + 50), b"line\0");
    mailbox.answer(Answer::Failed { errno: 5 }, &[]);
    assert_eq!(call(&mut program, Sysno::write, [1, BUFFER, 7]), EIO);

    assert_eq!(call(&mut program, Sysno::write, [0, BUFFER, 7]), EBADF);
    assert_eq!(call(&mut program, Sysno::write, [3, BUFFER, 7]), EBADF);
    assert_eq!(call(&mut program, Sysno::read, [1, BUFFER, 7]), EBADF);
    assert_eq!(call(&mut program, Sysno::lseek, [1, 0, 0]), ESPIPE);
    assert_eq!(call(&mut program, Sysno::ioctl, [1, 0x5401, BUFFER]), ENOTTY);
    assert_eq!(call(&mut program, Sysno::fcntl, [1, 3]), 1);
    assert_eq!(call(&mut program, Sysno::close, [9]), EBADF);
    assert_eq!(call(&mut program, Sysno::fstat, [1, BUFFER]), 0);
    let stat: [u8; 128] = get(&mut program, BUFFER);
    assert_eq!(u32::from_le_bytes(stat[16..20].try_into().unwrap()), 0o010_600, "a pipe");
    assert_eq!(program.refused(), [], "all of these are served");
}

#[test]
fn a_write_whose_reader_has_gone_fails_and_sends_a_signal() {
    let (mut program, mailbox) = ready(64, false);
    let gone = |mailbox: &TestMailbox| mailbox.answer(Answer::Failed { errno: 32 }, &[]);
    // Ignored.
    put(&mut program, BUFFER, &[1u64, 0, 0].map(u64::to_le_bytes).concat());
    assert_eq!(call(&mut program, Sysno::rt_sigaction, [13, BUFFER, 0, 8]), 0);
    gone(&mailbox);
    assert_eq!(call(&mut program, Sysno::write, [1, BUFFER, 7]), EPIPE);
    // Left alone. It comes too when a part was written: the second of two buffers is not.
    put(&mut program, BUFFER, &[0; 24]);
    assert_eq!(call(&mut program, Sysno::rt_sigaction, [13, BUFFER, 0, 8]), 0);
    put(&mut program, BUFFER, &[BUFFER, 8, BUFFER, 8].map(u64::to_le_bytes).concat());
    mailbox.answer(Answer::Done { bytes: 8 }, &[]);
    gone(&mailbox);
    let Ending::Signalled { signal: 13, reason } = ends(&mut program, Sysno::writev, [1, BUFFER, 2]) else {
        panic!("it goes on")
    };
    assert!(reason.contains("reader has gone"), "{reason}");
}

#[test]
fn addresses_that_the_program_may_not_touch_are_never_touched_for_it() {
    let (mut program, mailbox) = ready(64, true);
    // The runtime's memory, untrusted memory, a hole, the end of addresses, and what may only be read.
    let first = 0x30_0000 / PAGE;
    program.memory.space.map(first..first + 1, Access::READ, CommitPolicy::Immediate).unwrap();
    for address in [0x8020_0000, 0xC000_0000, 0x1_0000_0000, 0, u64::MAX - 3, 0x30_0000] {
        assert_eq!(call(&mut program, Sysno::fstat, [1, address]), EFAULT, "{address:#x}");
        assert_eq!(call(&mut program, Sysno::getrandom, [address, 16]), EFAULT, "{address:#x}");
        // There, an address of 0 says that it is not wanted.
        if address != 0 {
            assert_eq!(call(&mut program, Sysno::prlimit64, [0, 3, 0, address]), EFAULT, "{address:#x}");
            assert_eq!(call(&mut program, Sysno::rt_sigaction, [10, 0, address, 8]), EFAULT, "{address:#x}");
        }
        mailbox.answer(Answer::Done { bytes: 4 }, b"line");
        assert_eq!(call(&mut program, Sysno::read, [0, address, 4]), EFAULT, "{address:#x}");
    }
    for address in [0x8020_0000, 0xC000_0000, 0x1_0000_0000, 0, u64::MAX - 3] {
        assert_eq!(call(&mut program, Sysno::write, [1, address, 16]), EFAULT, "{address:#x}");
        assert_eq!(call(&mut program, Sysno::writev, [1, address, 1]), EFAULT, "{address:#x}");
    }
    assert_eq!(mailbox.written(), b"", "the host was given nothing");
}

#[test]
fn randomness_is_drawn_inside_and_never_asked_of_the_host() {
    let (mut program, mailbox) = ready(64, true);
    assert_eq!(call(&mut program, Sysno::getrandom, [BUFFER, 5000]), 5000);
    let (first, second): ([u8; 2500], [u8; 2500]) =
        (get(&mut program, BUFFER), get(&mut program, BUFFER + 2500));
    assert_ne!(first, second);
    assert!(first.iter().filter(|byte| **byte == 0).count() < 50);
    assert_eq!(get(&mut program, BUFFER + 5000), [0; 8]);
    assert!(mailbox.0.borrow().asked.is_empty());
}

#[test]
fn the_clock_is_the_hosts_if_it_is_allowed_and_refused_by_name_if_not() {
    let (mut program, mailbox) = ready(64, true);
    mailbox.answer(Answer::Time { seconds: 12, nanos: 34_567 }, &[]);
    assert_eq!(call(&mut program, Sysno::clock_gettime, [0, BUFFER]), 0);
    assert_eq!(words(&mut program, BUFFER), [12, 34_567]);
    mailbox.answer(Answer::Time { seconds: 11, nanos: 0 }, &[]);
    assert_eq!(call(&mut program, Sysno::gettimeofday, [BUFFER, 0]), 0);
    assert_eq!(words(&mut program, BUFFER), [12, 34]);
    assert_eq!(program.host.clamped_times, 1);
    assert_eq!(call(&mut program, Sysno::clock_gettime, [77, BUFFER]), EINVAL);

    let (mut program, mailbox) = ready(64, false);
    assert_eq!(call(&mut program, Sysno::clock_gettime, [1, BUFFER]), ENOSYS);
    assert_eq!(program.refused()[0].name, "clock_gettime");
    assert!(mailbox.0.borrow().asked.is_empty());
}

#[test]
fn calls_that_are_not_served_are_refused_by_name_and_counted() {
    let (mut program, _) = ready(64, false);
    let refused =
        [Sysno::openat, Sysno::clone, Sysno::execve, Sysno::socket, Sysno::io_uring_setup, Sysno::ptrace];
    for (nth, refused) in refused.into_iter().enumerate() {
        for _ in 0..=nth {
            assert_eq!(call(&mut program, refused, [0, 0]), ENOSYS, "{refused}");
        }
    }
    assert_eq!(system_call(&mut program, u64::MAX, [0; 6]), Ok(ENOSYS as u64));
    let named: Vec<Refused> = program.refused();
    let expected: Vec<(String, u64)> = refused
        .into_iter()
        .map(|call| call.to_string())
        .chain(["system call 18446744073709551615".into()])
        .zip([1, 2, 3, 4, 5, 6, 1])
        .collect();
    assert_eq!(named.into_iter().map(|refused| (refused.name, refused.times)).collect::<Vec<_>>(), expected);
}

#[test]
fn a_program_ends_with_its_code_or_by_the_signal_that_it_sends_itself() {
    let (mut program, _) = ready(64, false);
    assert_eq!(ends(&mut program, Sysno::exit_group, [300]), Ending::Exited(44));
    assert_eq!(ends(&mut program, Sysno::exit, [3]), Ending::Exited(3));
    assert!(matches!(ends(&mut program, Sysno::tgkill, [1, 1, 6]), Ending::Signalled { signal: 6, .. }));
    assert_eq!(call(&mut program, Sysno::tgkill, [1, 2, 6]), -3, "another thread");
    assert_eq!(call(&mut program, Sysno::kill, [1, 0]), 0);
    assert_eq!(call(&mut program, Sysno::kill, [1, 17]), 0, "harmless unless handled");
    assert_eq!(call(&mut program, Sysno::kill, [1, 65]), EINVAL);
    // Ignored.
    put(&mut program, BUFFER, &[1u64, 0, 0].map(u64::to_le_bytes).concat());
    assert_eq!(call(&mut program, Sysno::rt_sigaction, [6, BUFFER, BUFFER + 100, 8]), 0);
    assert_eq!(call(&mut program, Sysno::kill, [1, 6]), 0);
    assert_eq!(call(&mut program, Sysno::rt_sigaction, [6, 0, BUFFER + 100, 8]), 0);
    assert_eq!(words(&mut program, BUFFER + 100), [1, 0, 0]);
    // Blocked until it is not.
    put(&mut program, BUFFER, &(1u64 << 9).to_le_bytes());
    assert_eq!(call(&mut program, Sysno::rt_sigprocmask, [0, BUFFER, 0, 8]), 0);
    assert_eq!(call(&mut program, Sysno::kill, [1, 10]), 0);
    let ended = ends(&mut program, Sysno::rt_sigprocmask, [1, BUFFER, 0, 8]);
    assert!(matches!(ended, Ending::Signalled { signal: 10, .. }));
    assert_eq!(call(&mut program, Sysno::rt_sigaction, [9, BUFFER, 0, 8]), EINVAL);
}

#[test]
fn whoever_waits_for_another_thread_is_told_that_there_is_none() {
    let (mut program, _) = ready(64, false);
    put(&mut program, BUFFER, &5u32.to_le_bytes());
    assert_eq!(call(&mut program, Sysno::futex, [BUFFER, 128, 6, 0]), EAGAIN);
    assert_eq!(call(&mut program, Sysno::futex, [BUFFER, 129, 1, 0]), 0);
    assert_eq!(call(&mut program, Sysno::futex, [BUFFER, 128, 5, BUFFER + 8]), ETIMEDOUT);
    let ended = ends(&mut program, Sysno::futex, [BUFFER, 128, 5, 0]);
    assert!(matches!(ended, Ending::Failed { kind: Failure::Refused, .. }));
}

#[test]
fn facts_are_told_without_the_host() {
    let (mut program, mailbox) = ready(64, false);
    assert_eq!(call(&mut program, Sysno::set_tid_address, [BUFFER]), 1);
    assert_eq!(call(&mut program, Sysno::set_robust_list, [BUFFER, 24]), 0);
    assert_eq!(call(&mut program, Sysno::rseq, [BUFFER, 32, 0, 0x53053]), 0);
    assert_eq!(call(&mut program, Sysno::prlimit64, [0, 3, 0, BUFFER]), 0);
    assert_eq!(words(&mut program, BUFFER), [8 << 20, 8 << 20]);
    assert_eq!(call(&mut program, Sysno::prlimit64, [0, 3, BUFFER, 0]), EPERM);
    put(&mut program, BUFFER, b"/proc/self/exe\0");
    let length = call(&mut program, Sysno::readlinkat, [(-100i64) as u64, BUFFER, BUFFER + 64, 100]);
    assert_eq!(length, 8);
    assert_eq!(&get(&mut program, BUFFER + 64), b"/program", "an absolute path, whatever it was started by");
    put(&mut program, BUFFER, b"/etc/passwd\0");
    assert_eq!(call(&mut program, Sysno::readlinkat, [0, BUFFER, BUFFER + 64, 100]), ENOSYS);
    assert_eq!(call(&mut program, Sysno::uname, [BUFFER]), 0);
    assert_eq!(&get(&mut program, BUFFER), b"Linux\0");
    let polled = [0u32.to_le_bytes(), [1, 0, 0, 0], 7u32.to_le_bytes(), [4, 0, 0, 0]].concat();
    put(&mut program, BUFFER, &polled);
    assert_eq!(call(&mut program, Sysno::ppoll, [BUFFER, 2, 0]), 2);
    assert_eq!((get(&mut program, BUFFER + 6), get(&mut program, BUFFER + 14)), ([1, 0], [0x20, 0]));
    assert!(mailbox.0.borrow().asked.is_empty());
}

proptest! {
    /// The program asks for anything, and gets a value, an error, or an end that is not the runtime's fault.
    #[test]
    fn no_arguments_break_the_runtime(
        calls in proptest::collection::vec((0usize..300, proptest::array::uniform6(argument())), 1..80),
    ) {
        let (mut program, _) = ready(64, false);
        for (number, arguments) in calls {
            match system_call(&mut program, number as u64, arguments) {
                Err(Ending::Failed { kind: Failure::Runtime | Failure::Forged, text }) => prop_assert!(false, "{}", text),
                Err(_) => break,
                Ok(_) => {}
            }
        }
    }
}

fn argument() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..40,
        (0u64..64).prop_map(|shift| 1 << shift),
        (0u64..64).prop_map(|shift| (1u64 << shift).wrapping_neg()),
        (0u64..16 * PAGE).prop_map(|offset| BUFFER + offset),
        (0u64..20).prop_map(|page| BUFFER + page * PAGE),
        (0u64..20).prop_map(|page| page * PAGE),
        any::<u64>(),
    ]
}
