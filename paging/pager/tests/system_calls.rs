//! System calls that access absent pages, or reference present ones.
#![allow(unsafe_code, reason = "vmsplice(2) is given a page of the region, which lives longer")]

use ameles_pager::eviction::Eviction;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::options::Options;
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use std::io::{PipeWriter, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;

const PAGES: usize = 60;

fn region(scheme: Scheme, fault_handling: FaultHandling) -> Region {
    let mut region =
        Region::new(Options { resident: 4, scheme, fault_handling, ..Options::new(PAGES as u64) }).unwrap();
    for (nth, byte) in region.as_mut_slice().iter_mut().enumerate() {
        *byte = (nth / 7) as u8;
    }
    region
}

#[test]
fn the_handler_thread_serves_reads_and_writes_of_a_file_far_larger_than_what_is_resident() {
    for scheme in [Scheme::Plain, Scheme::DetWoOram, Scheme::Eager] {
        let mut region = region(scheme, FaultHandling::HandlerThread);
        let expected = region.as_slice().to_vec();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(region.as_slice()).unwrap();
        region.as_mut_slice().fill(0);
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_exact(region.as_mut_slice()).unwrap();
        assert!(region.as_slice() == expected);
    }
}

#[test]
fn the_handler_thread_serves_both_ends_of_a_pipe() {
    let mut region = region(Scheme::DetWoOram, FaultHandling::HandlerThread);
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let (from, to) = region.as_mut_slice().split_at_mut(PAGES / 2 * PAGE_BYTES);
    std::thread::scope(|scope| {
        scope.spawn(|| writer.write_all(from).unwrap());
        reader.read_exact(to).unwrap();
    });
    let (from, to) = region.as_slice().split_at(PAGES / 2 * PAGE_BYTES);
    assert!(from == to);
}

#[test]
fn under_the_in_thread_trap_a_system_call_fails_and_harms_nothing() {
    let region = region(Scheme::DetWoOram, FaultHandling::InThread);
    let mut file = tempfile::tempfile().unwrap();
    let refused = file.write(&region.as_slice()[..PAGE_BYTES]).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EFAULT));
    for (nth, byte) in region.as_slice().iter().enumerate() {
        assert_eq!(*byte, (nth / 7) as u8);
    }
}

/// Puts a page into a pipe without copying it.
fn lend(pipe: &PipeWriter, page: &[u8]) {
    let part = libc::iovec { iov_base: page.as_ptr().cast_mut().cast(), iov_len: page.len() };
    // SAFETY: one part, which is there; the call only reads it.
    let lent = unsafe { libc::vmsplice(pipe.as_raw_fd(), &raw const part, 1, 0) };
    assert_eq!(lent, page.len() as isize);
}

#[test]
fn memory_that_the_kernel_still_holds_never_shows_another_page() {
    let second_chance = Policy::SecondChance { unmapped: 2 };
    for fault_handling in FaultHandling::ALL {
        for (policy, eviction) in [
            (Policy::Fifo, Eviction::Auto),
            (second_chance, Eviction::Auto),
            (Policy::Fifo, Eviction::ProtectAndCopy),
        ] {
            let options =
                Options { resident: 4, fault_handling, policy, eviction, ..Options::new(PAGES as u64) };
            let mut region = Region::new(options).unwrap();
            let (mut reader, writer) = std::io::pipe().unwrap();
            for round in 0..40 {
                let lent = round % 8 * PAGE_BYTES..(round % 8 + 1) * PAGE_BYTES;
                region.as_mut_slice()[lent.clone()].fill(b'a');
                lend(&writer, &region.as_slice()[lent]);
                if round % 2 == 1 {
                    let page = round as u64 % 8;
                    region.discard(page..page + 1);
                    region.as_mut_slice()[round % 8 * PAGE_BYTES..][..PAGE_BYTES].fill(b's');
                }
                for page in region.as_mut_slice().chunks_mut(PAGE_BYTES).skip(8 + round % 3 * 40) {
                    page.fill(b's');
                }
                let mut got = [0; PAGE_BYTES];
                reader.read_exact(&mut got).unwrap();
                assert!(
                    got == [b'a'; PAGE_BYTES],
                    "{fault_handling}, {policy:?}, {eviction:?}, round {round}"
                );
            }
        }
    }
}
