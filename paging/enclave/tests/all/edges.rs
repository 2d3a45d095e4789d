//! System calls with arguments at the edge of what they take answer as Linux does.

use crate::calls::{
    BUFFER, EBADF, EFAULT, EINVAL, ENOMEM, PAGE, PRIVATE_ANONYMOUS, READ_WRITE, call, ends, get, map_pages,
    put, ready, words,
};
use ameles_enclave::access::{Access, Touch};
use ameles_enclave::paging::AccessError;
use ameles_enclave::space::CommitPolicy;
use ameles_enclave_boundary::exit::Ending;
use ameles_enclave_boundary::mailbox::{Answer, Request, Stream};
use syscalls::riscv64::Sysno;

const EMFILE: i64 = -24;
const ERANGE: i64 = -34;
const ESRCH: i64 = -3;
const ENOTSOCK: i64 = -88;
/// A hole in the program's memory.
const HOLE: u64 = 0x30_0000;
const MAY_MOVE: u64 = 1;
const FIXED: u64 = 2;

#[test]
fn what_is_written_and_read_ends_where_the_programs_memory_does() {
    let (mut program, mailbox) = ready(64, false);
    let end = BUFFER + 16 * PAGE;
    put(&mut program, end - 10, b"last bytes");
    assert_eq!(call(&mut program, Sysno::write, [1, end - 10, 100]), 10);
    assert_eq!(mailbox.written(), b"last bytes");
    // What the host hands over would be lost if there were no room for it: no more is asked for than fits.
    mailbox.answer(Answer::Done { bytes: 10 }, b"other text");
    assert_eq!(call(&mut program, Sysno::read, [0, end - 10, 100]), 10);
    assert_eq!(mailbox.0.borrow().asked.last().unwrap().0, Request::Read { max: 10 });
    let asked = mailbox.0.borrow().asked.len();
    let readable = HOLE / PAGE;
    program.memory.space.map(readable..readable + 1, Access::READ, CommitPolicy::Immediate).unwrap();
    for at in [end, HOLE, 0] {
        assert_eq!(call(&mut program, Sysno::read, [0, at, 100]), EFAULT, "{at:#x}");
    }
    for bytes in [u64::MAX, 1 << 63] {
        assert_eq!(call(&mut program, Sysno::read, [0, BUFFER, bytes]), EFAULT);
        assert_eq!(call(&mut program, Sysno::write, [1, BUFFER, bytes]), EFAULT);
    }
    for at in [BUFFER, end, 0] {
        assert_eq!(call(&mut program, Sysno::read, [0, at, 0]), 0);
        assert_eq!(call(&mut program, Sysno::write, [1, at, 0]), 0);
    }
    assert_eq!(mailbox.0.borrow().asked.len(), asked, "the host was not asked");
}

#[test]
fn all_buffers_are_looked_at_before_the_first_is_moved() {
    let (mut program, mailbox) = ready(64, false);
    let buffers = [BUFFER, 4, BUFFER, u64::MAX].map(u64::to_le_bytes).concat();
    put(&mut program, BUFFER + 100, &buffers);
    for (call_, descriptor, other) in [(Sysno::writev, 1, 0), (Sysno::readv, 0, 1)] {
        assert_eq!(call(&mut program, call_, [descriptor, BUFFER + 100, 2]), EINVAL);
        assert_eq!(call(&mut program, call_, [descriptor, HOLE, 1]), EFAULT);
        assert_eq!(call(&mut program, call_, [descriptor, HOLE, 0]), 0);
        for count in [1025, u64::MAX] {
            assert_eq!(call(&mut program, call_, [descriptor, BUFFER + 100, count]), EINVAL);
        }
        assert_eq!(call(&mut program, call_, [other, BUFFER + 100, 0]), EBADF);
    }
    assert!(mailbox.0.borrow().asked.is_empty());
}

#[test]
fn descriptors_are_copied_closed_and_given_again() {
    let (mut program, mailbox) = ready(64, false);
    put(&mut program, BUFFER, b"text");
    assert_eq!(call(&mut program, Sysno::dup, [2]), 3);
    assert_eq!(call(&mut program, Sysno::close, [1]), 0);
    assert_eq!(call(&mut program, Sysno::write, [1, BUFFER, 4]), EBADF);
    assert_eq!(call(&mut program, Sysno::close, [1]), EBADF);
    assert_eq!(call(&mut program, Sysno::dup, [3]), 1, "the lowest that is free");
    assert_eq!(call(&mut program, Sysno::write, [1, BUFFER, 4]), 4);
    assert_eq!(
        mailbox.0.borrow().asked.last().unwrap().0,
        Request::Write { stream: Stream::Error, bytes: 4 }
    );
    assert_eq!(call(&mut program, Sysno::dup3, [0, 10, 0o200_0000]), 10);
    assert_eq!(call(&mut program, Sysno::fcntl, [10, 1]), 1, "it is closed when a program is executed");
    assert_eq!(call(&mut program, Sysno::fcntl, [10, 2, 0]), 0);
    assert_eq!(call(&mut program, Sysno::fcntl, [10, 1]), 0);
    assert_eq!(call(&mut program, Sysno::fcntl, [10, 0, 10]), 11);
    assert_eq!(call(&mut program, Sysno::fcntl, [10, 1030, 255]), 255);
    assert_eq!(call(&mut program, Sysno::fcntl, [255, 1]), 1);
    assert_eq!(call(&mut program, Sysno::read, [255, BUFFER, 4]), 0);
    assert_eq!(call(&mut program, Sysno::write, [255, BUFFER, 4]), EBADF);
    assert_eq!(call(&mut program, Sysno::fstat, [255, BUFFER]), 0);
    let of_copy: [u8; 128] = get(&mut program, BUFFER);
    assert_eq!(call(&mut program, Sysno::fstat, [0, BUFFER]), 0);
    assert_eq!(of_copy, get(&mut program, BUFFER));
    for (arguments, errno) in [
        ([1, 1, 0], EINVAL),
        ([1, 5, 1], EINVAL),
        ([1, 1024, 0], EBADF),
        ([1, u64::MAX, 0], EBADF),
        ([77, 5, 0], EBADF),
    ] {
        assert_eq!(call(&mut program, Sysno::dup3, arguments), errno, "{arguments:?}");
    }
    assert_eq!(call(&mut program, Sysno::dup, [77]), EBADF);
    assert_eq!(call(&mut program, Sysno::getpeername, [0, BUFFER, BUFFER]), ENOTSOCK);
    assert_eq!(call(&mut program, Sysno::getsockname, [77, BUFFER, BUFFER]), EBADF);
    assert_eq!(call(&mut program, Sysno::fcntl, [1, 0, 1024]), EINVAL);
    while call(&mut program, Sysno::dup, [0]) >= 0 {}
    assert_eq!(call(&mut program, Sysno::dup, [0]), EMFILE);
    assert_eq!(program.refused(), []);
}

#[test]
fn memory_is_moved_to_where_the_program_wants_it() {
    let (mut program, _) = ready(64, false);
    let (from, to) = (map_pages(&mut program, 4), map_pages(&mut program, 8));
    for page in 0..4 {
        put(&mut program, from + page * PAGE, &[page as u8 + 1; 8]);
        put(&mut program, to + page * PAGE, &[9; 8]);
    }
    let left = program.memory.space.available();
    // Larger, over memory that is there.
    let mremap = |program: &mut _, arguments: [u64; 5]| call(program, Sysno::mremap, arguments);
    assert_eq!(mremap(&mut program, [from, 4 * PAGE, 6 * PAGE, MAY_MOVE | FIXED, to]) as u64, to);
    for page in 0..6u8 {
        let expected = if page < 4 { page + 1 } else { 0 };
        assert_eq!(get(&mut program, to + u64::from(page) * PAGE), [expected; 8]);
    }
    assert_eq!(program.memory.fault(from, Touch::Load), Err(AccessError::Illegal));
    assert_eq!(program.memory.space.available(), left + 4);
    // Smaller.
    assert_eq!(mremap(&mut program, [to, 6 * PAGE, 2 * PAGE, MAY_MOVE | FIXED, from]) as u64, from);
    assert_eq!((get(&mut program, from), get(&mut program, from + PAGE)), ([1; 8], [2; 8]));
    for hole in [to, to + 2 * PAGE, to + 5 * PAGE, from + 2 * PAGE] {
        assert_eq!(program.memory.fault(hole, Touch::Load), Err(AccessError::Illegal));
    }
    assert_eq!(program.memory.space.available(), left + 8);
    for (arguments, errno) in [
        ([from, 2 * PAGE, 2 * PAGE, FIXED, to], EINVAL),
        ([from, 2 * PAGE, 2 * PAGE, MAY_MOVE | FIXED, to + 1], EINVAL),
        ([from, 2 * PAGE, 2 * PAGE, MAY_MOVE | FIXED, from + PAGE], EINVAL),
        ([from, 2 * PAGE, 2 * PAGE, MAY_MOVE | 4, to], EINVAL),
        ([from, 2 * PAGE, 2 * PAGE, MAY_MOVE | FIXED, 0x8020_0000], ENOMEM),
        ([from + 2 * PAGE, PAGE, PAGE, MAY_MOVE | FIXED, to], EFAULT),
        ([from, 2 * PAGE, 99 * PAGE, MAY_MOVE | FIXED, 1 << 32], ENOMEM),
    ] {
        assert_eq!(mremap(&mut program, arguments), errno, "{arguments:x?}");
        assert_eq!((get(&mut program, from), get(&mut program, from + PAGE)), ([1; 8], [2; 8]));
    }
}

#[test]
fn a_mapping_is_either_private_or_shared() {
    let (mut program, _) = ready(64, false);
    for (kind, is_one) in [(0, false), (1, true), (2, true), (3, false), (4, false), (8, false)] {
        let mapped = call(&mut program, Sysno::mmap, [0, PAGE, READ_WRITE, 0x20 | kind, u64::MAX, 0]);
        assert!(if is_one { mapped > 0 } else { mapped == EINVAL }, "{kind}: {mapped}");
    }
}

#[test]
fn randomness_has_the_flags_that_linux_knows() {
    let (mut program, _) = ready(64, false);
    for flags in [0, 1, 2, 3, 4, 5] {
        assert_eq!(call(&mut program, Sysno::getrandom, [BUFFER, 16, flags]), 16);
    }
    for flags in [6, 7, 8, 0x8000_0000] {
        assert_eq!(call(&mut program, Sysno::getrandom, [BUFFER, 16, flags]), EINVAL);
    }
    assert!(call(&mut program, Sysno::getrandom, [BUFFER + 15 * PAGE, 2 * PAGE, 0]) > 0, "a part of it");
}

#[test]
fn a_process_is_alone_in_its_group_its_session_and_its_folder() {
    let (mut program, mailbox) = ready(64, false);
    for asked in [Sysno::getpgid, Sysno::getsid] {
        assert_eq!([0, 1, 2].map(|process| call(&mut program, asked, [process])), [1, 1, ESRCH]);
    }
    assert_eq!(call(&mut program, Sysno::getcwd, [BUFFER, 100]), 2);
    assert_eq!(&get(&mut program, BUFFER), b"/\0");
    assert_eq!(call(&mut program, Sysno::getcwd, [BUFFER, 1]), ERANGE);
    assert_eq!(call(&mut program, Sysno::getcwd, [HOLE, 100]), EFAULT);
    assert!(mailbox.0.borrow().asked.is_empty());
    assert_eq!(program.refused(), []);
}

#[test]
fn signals_that_wait_are_told() {
    let (mut program, _) = ready(64, false);
    put(&mut program, BUFFER, &(1u64 << 9 | 1 << 11).to_le_bytes());
    assert_eq!(call(&mut program, Sysno::rt_sigprocmask, [0, BUFFER, 0, 8]), 0);
    assert_eq!(call(&mut program, Sysno::kill, [1, 10]), 0);
    assert_eq!(call(&mut program, Sysno::rt_sigpending, [BUFFER, 8]), 0);
    assert_eq!(words(&mut program, BUFFER), [1 << 9]);
    assert_eq!(call(&mut program, Sysno::rt_sigpending, [BUFFER, 9]), EINVAL);
    assert_eq!(call(&mut program, Sysno::rt_sigpending, [HOLE, 8]), EFAULT);
}

#[test]
fn a_program_that_ends_by_a_signal_after_it_had_no_memory_is_said_to() {
    let (mut program, _) = ready(64, false);
    let reason = |ending| match ending {
        Ending::Signalled { signal: 6, reason } => reason,
        other => panic!("{other:?}"),
    };
    let before = reason(ends(&mut program, Sysno::tgkill, [1, 1, 6]));
    assert_eq!(call(&mut program, Sysno::mmap, [0, 99 * PAGE, READ_WRITE, PRIVATE_ANONYMOUS]), ENOMEM);
    let after = reason(ends(&mut program, Sysno::tgkill, [1, 1, 6]));
    assert!(
        !before.contains("memory") && after.starts_with(&before) && after.contains("out of memory"),
        "{after}"
    );
}

#[test]
fn what_is_done_to_memory_with_a_hole_is_done_before_it_or_on_both_sides() {
    let (mut program, _) = ready(64, false);
    let at = map_pages(&mut program, 4);
    put(&mut program, at, &[5; 4 * PAGE as usize]);
    assert_eq!(call(&mut program, Sysno::munmap, [at + PAGE, PAGE]), 0);
    assert_eq!(call(&mut program, Sysno::mprotect, [at, 4 * PAGE, 1]), ENOMEM);
    assert_eq!(program.memory.fault(at, Touch::Store), Err(AccessError::Illegal));
    assert_eq!(program.memory.fault(at + 2 * PAGE, Touch::Store), Ok(()));
    assert_eq!(call(&mut program, Sysno::mprotect, [at + PAGE, 3 * PAGE, 1]), ENOMEM);
    assert_eq!(program.memory.fault(at + 2 * PAGE, Touch::Store), Ok(()));
    assert_eq!(call(&mut program, Sysno::mprotect, [at, PAGE, READ_WRITE]), 0);
    assert_eq!(call(&mut program, Sysno::madvise, [at, 3 * PAGE, 4]), ENOMEM);
    assert_eq!(get(&mut program, at), [0; 8]);
    assert_eq!(get(&mut program, at + 2 * PAGE), [0; 8]);
    assert_eq!(get(&mut program, at + 3 * PAGE), [5; 8]);
    for advice in [0, 3, 4] {
        assert_eq!(call(&mut program, Sysno::madvise, [at + PAGE, PAGE, advice]), ENOMEM);
    }
    assert_eq!(call(&mut program, Sysno::mprotect, [at, u64::MAX, 1]), ENOMEM);
}
