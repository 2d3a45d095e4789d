//! System calls that touch absent pages.

use lethe_pager::options::{Options, PAGE_BYTES};
use lethe_pager::region::Region;
use lethe_pager::scheme::Scheme;
use lethe_pager::trap::Trap;
use std::io::{Read, Seek, SeekFrom, Write};

const PAGES: usize = 60;

fn region(scheme: Scheme, trap: Trap) -> Region {
    let mut region =
        Region::new(Options { resident: 4, scheme, trap, ..Options::new(PAGES as u64) }).unwrap();
    for (nth, byte) in region.as_mut_slice().iter_mut().enumerate() {
        *byte = (nth / 7) as u8;
    }
    region
}

#[test]
fn the_handler_thread_serves_reads_and_writes_of_a_file_far_larger_than_what_is_resident() {
    for scheme in [Scheme::Plain, Scheme::DetWoOram, Scheme::Eager] {
        let mut region = region(scheme, Trap::HandlerThread);
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
    let mut region = region(Scheme::DetWoOram, Trap::HandlerThread);
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
    let region = region(Scheme::DetWoOram, Trap::InThread);
    let mut file = tempfile::tempfile().unwrap();
    let refused = file.write(&region.as_slice()[..PAGE_BYTES]).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EFAULT));
    for (nth, byte) in region.as_slice().iter().enumerate() {
        assert_eq!(*byte, (nth / 7) as u8);
    }
}
