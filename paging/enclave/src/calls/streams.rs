//! Calls on the standard streams. There are no other files.

use super::Program;
use super::call_error::{CallError, CallResult};
use super::signals::SentSignal;
use crate::access::Touch;
use crate::host::{HostError, Mailbox};
use crate::layout::{PAGE, page_of, top};
use crate::processor::Processor;
use crate::stack::USER;
use alloc::vec;
use alloc::vec::Vec;
use ameles_enclave_boundary::mailbox::Stream;
use linux_raw_sys::errno::{EBADF, EFAULT, EINVAL, ENOTTY, EPIPE, ESPIPE};
use linux_raw_sys::general::{AT_EMPTY_PATH, POLLIN, POLLNVAL, POLLOUT, S_IFIFO, SI_USER, SIGPIPE};

/// The maximum number of bytes that a call moves. A program that wants more calls again.
const MAX_BYTES: u64 = ameles_enclave_boundary::map::MAX_DATA_BYTES as u64;
/// The maximum number of buffers of one call, as in Linux.
const MAX_BUFFERS: u64 = 1024;
/// The maximum number of descriptors of `poll`.
const MAX_POLLED: u64 = 64;
/// The number of bytes of `struct stat`.
const STAT_BYTES: usize = 128;

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    pub(super) fn write(&mut self, descriptor: u64, from: u64, bytes: u64) -> CallResult {
        let stream = self.descriptors.stream(descriptor)?.ok_or(CallError::Errno(EBADF))?;
        self.write_to(stream, from, bytes)
    }

    fn write_to(&mut self, stream: Stream, from: u64, bytes: u64) -> CallResult {
        let bytes = self.accessible_len(from, bytes, Touch::Load)?;
        if bytes == 0 {
            return Ok(0);
        }
        let mut text = vec![0; bytes];
        self.memory.read(from, &mut text)?;
        match self.host.write(stream, &text) {
            Err(HostError::Failed(errno)) if u32::from(errno) == EPIPE => {
                let reason = "it wrote to a stream whose reader has gone";
                self.signals.send(SentSignal::from_self(SIGPIPE.into(), SI_USER as i32, reason));
                Err(CallError::Errno(EPIPE))
            }
            written => Ok(written? as u64),
        }
    }

    pub(super) fn writev(&mut self, descriptor: u64, buffers: u64, count: u64) -> CallResult {
        let stream = self.descriptors.stream(descriptor)?.ok_or(CallError::Errno(EBADF))?;
        self.each_buffer(buffers, count, |program, at, bytes| program.write_to(stream, at, bytes))
    }

    pub(super) fn read(&mut self, descriptor: u64, into: u64, bytes: u64) -> CallResult {
        self.check_reads_input(descriptor)?;
        self.read_to(into, bytes)
    }

    /// Checks that a descriptor reads standard input.
    fn check_reads_input(&self, descriptor: u64) -> Result<(), CallError> {
        match self.descriptors.stream(descriptor)? {
            None => Ok(()),
            Some(_) => Err(CallError::Errno(EBADF)),
        }
    }

    fn read_to(&mut self, into: u64, bytes: u64) -> CallResult {
        // Before the host is called: its data are not sent a second time.
        let bytes = self.accessible_len(into, bytes, Touch::Store)?;
        if bytes == 0 {
            return Ok(0);
        }
        let mut text = vec![0; bytes];
        let read = self.host.read(&mut text)?;
        self.memory.write(into, &text[..read])?;
        Ok(read as u64)
    }

    pub(super) fn readv(&mut self, descriptor: u64, buffers: u64, count: u64) -> CallResult {
        self.check_reads_input(descriptor)?;
        self.each_buffer(buffers, count, Self::read_to)
    }

    /// The bytes of a buffer that are moved at once: all bytes from its beginning that the program may access.
    fn accessible_len(&self, address: u64, bytes: u64, touch: Touch) -> Result<usize, CallError> {
        let outside = CallError::Errno(EFAULT);
        if address.checked_add(bytes).is_none_or(|end| end > top(self.memory.mode())) {
            return Err(outside);
        }
        let wanted = bytes.min(MAX_BYTES);
        let (mut at, end) = (address, address + wanted);
        while at < end {
            let area = self.memory.space.area_of(page_of(at));
            let Some(area) = area.filter(|area| area.access.allows(touch)) else { break };
            at = end.min(area.end * PAGE);
        }
        match at - address {
            0 if wanted > 0 => Err(outside),
            reached => Ok(reached as usize),
        }
    }

    /// Moves buffer after buffer, and stops at the first that is not moved completely.
    fn each_buffer(
        &mut self,
        buffers: u64,
        count: u64,
        mut each: impl FnMut(&mut Self, u64, u64) -> CallResult,
    ) -> CallResult {
        if count > MAX_BUFFERS {
            return Err(CallError::Errno(EINVAL));
        }
        let mut all = Vec::with_capacity(count as usize);
        for nth in 0..count {
            let [at, bytes] = self.words(buffers.wrapping_add(16 * nth))?;
            if i64::try_from(bytes).is_err() {
                return Err(CallError::Errno(EINVAL));
            }
            all.push((at, bytes));
        }
        let mut moved = 0;
        for (at, bytes) in all.into_iter().filter(|(_, bytes)| *bytes > 0) {
            match each(self, at, bytes) {
                Ok(part) => {
                    moved += part;
                    if part < bytes {
                        break;
                    }
                }
                Err(CallError::Errno(_)) if moved > 0 => break,
                Err(stop) => return Err(stop),
            }
        }
        Ok(moved)
    }

    /// Reads words of the program's memory.
    pub(super) fn words<const N: usize>(&mut self, address: u64) -> Result<[u64; N], CallError> {
        let mut words = [0; N];
        for (nth, word) in words.iter_mut().enumerate() {
            let mut bytes = [0; 8];
            self.memory.read(address.wrapping_add(8 * nth as u64), &mut bytes)?;
            *word = u64::from_le_bytes(bytes);
        }
        Ok(words)
    }

    /// Stores words in the program's memory.
    pub(super) fn store(&mut self, address: u64, words: &[u64]) -> Result<(), CallError> {
        for (nth, word) in words.iter().enumerate() {
            self.memory.write(address.wrapping_add(8 * nth as u64), &word.to_le_bytes())?;
        }
        Ok(())
    }

    /// All standard streams are always ready, and the host is not asked: a call that waits may do so at the stream.
    pub(super) fn poll(&mut self, descriptors: u64, count: u64) -> CallResult {
        if count == 0 {
            // Used to sleep.
            return Err(CallError::Refused);
        }
        if count > MAX_POLLED {
            return Err(CallError::Errno(EINVAL));
        }
        let mut ready = 0;
        for nth in 0..count {
            let at = descriptors.checked_add(8 * nth).ok_or(CallError::Errno(EFAULT))?;
            let mut entry = [0; 8];
            self.memory.read(at, &mut entry)?;
            let [a, b, c, d, e, f, ..] = entry;
            let (descriptor, events) = (i32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]));
            let found = match self.descriptors.stream(descriptor as u64) {
                _ if descriptor < 0 => 0,
                Ok(None) => events & POLLIN as u16,
                Ok(Some(_)) => events & POLLOUT as u16,
                Err(_) => POLLNVAL as u16,
            };
            ready += u64::from(found != 0);
            self.memory.write(at + 6, &found.to_le_bytes())?;
        }
        Ok(ready)
    }

    pub(super) fn fstat(&mut self, descriptor: u64, into: u64) -> CallResult {
        // Copies are reported as the same file.
        let number: u64 = match self.descriptors.stream(descriptor)? {
            None => 1,
            Some(Stream::Output) => 2,
            Some(Stream::Error) => 3,
        };
        // Pipes, for every kind of file: a program must not distinguish a terminal from a file.
        let mut stat = [0; STAT_BYTES];
        stat[8..16].copy_from_slice(&number.to_le_bytes());
        stat[16..20].copy_from_slice(&(S_IFIFO | 0o600).to_le_bytes());
        stat[20..24].copy_from_slice(&1u32.to_le_bytes());
        stat[24..28].copy_from_slice(&(USER as u32).to_le_bytes());
        stat[28..32].copy_from_slice(&(USER as u32).to_le_bytes());
        stat[56..60].copy_from_slice(&(PAGE as u32).to_le_bytes());
        self.memory.write(into, &stat)?;
        Ok(0)
    }

    pub(super) fn fstatat(&mut self, folder: u64, path: u64, into: u64, flags: u64) -> CallResult {
        let mut first = [0];
        self.memory.read(path, &mut first)?;
        if first != [0] || flags & u64::from(AT_EMPTY_PATH) == 0 {
            return Err(CallError::Refused);
        }
        self.fstat(folder, into)
    }

    pub(super) fn lseek(&mut self, descriptor: u64) -> CallResult {
        self.descriptors.stream(descriptor)?;
        Err(CallError::Errno(ESPIPE))
    }

    pub(super) fn ioctl(&mut self, descriptor: u64) -> CallResult {
        self.descriptors.stream(descriptor)?;
        Err(CallError::Errno(ENOTTY))
    }

    /// The program's own path is the only link.
    pub(super) fn readlinkat(&mut self, path: u64, into: u64, bytes: u64) -> CallResult {
        const OWN: &[u8] = b"/proc/self/exe\0";
        let mut asked = [0; OWN.len()];
        for (nth, byte) in asked.iter_mut().enumerate() {
            self.memory.read(path.wrapping_add(nth as u64), core::slice::from_mut(byte))?;
            if *byte != OWN[nth] {
                return Err(CallError::Refused);
            }
        }
        let own = self.path.clone();
        let path = &own[..own.len().min(bytes as usize)];
        self.memory.write(into, path)?;
        Ok(path.len() as u64)
    }
}
