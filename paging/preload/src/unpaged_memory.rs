//! The program's memory outside of the region: written pages of private mappings.

use std::ffi::CStr;

/// The file of the calling thread: the first thread may have ended, and then the kernel shows nothing for it.
const MAPPINGS: &CStr = c"/proc/thread-self/smaps";

/// The flag of memory that is in no core dump: the region, and this library's own heap.
const NOT_DUMPED: &[u8] = b"dd";

/// Returns the number of bytes of private memory that were written and belong neither to the region nor to this
/// library. Stacks of the pager's own threads count too, about ten KiB each. `None` if the kernel does not report them.
/// Needs no heap.
pub(crate) fn bytes() -> Option<u64> {
    // SAFETY: the path ends with zero.
    let file = unsafe { libc::open(MAPPINGS.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    let mut sum = Sum::default();
    // A line holds a path at most, and a few words.
    let (mut text, mut buffered) = ([0_u8; 8192], 0);
    loop {
        // SAFETY: the buffer has that much room.
        let read = unsafe { libc::read(file, text[buffered..].as_mut_ptr().cast(), text.len() - buffered) };
        let Ok(read @ 1..) = usize::try_from(read) else { break };
        let end = buffered + read;
        let mut begin = 0;
        while let Some(len) = text[begin..end].iter().position(|byte| *byte == b'\n') {
            sum.line(&text[begin..begin + len]);
            begin += len + 1;
        }
        if begin == 0 && end == text.len() {
            break;
        }
        text.copy_within(begin..end, 0);
        buffered = end - begin;
    }
    // SAFETY: it was opened just now.
    unsafe { libc::close(file) };
    Some(sum.kib << 10)
}

#[derive(Default)]
struct Sum {
    kib: u64,
    /// The bytes of the current mapping.
    here: u64,
}

impl Sum {
    fn line(&mut self, line: &[u8]) {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        match words.next() {
            // Private pages that differ from the file. In swap they are unencrypted as well.
            Some(b"Anonymous:" | b"Swap:") => self.here += words.next().and_then(number).unwrap_or(0),
            // The last line of a mapping.
            Some(b"VmFlags:") => {
                let here = std::mem::take(&mut self.here);
                self.kib += if words.any(|flag| flag == NOT_DUMPED) { 0 } else { here };
            }
            _ => {}
        }
    }
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
