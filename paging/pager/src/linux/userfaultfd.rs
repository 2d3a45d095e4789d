//! The calls of userfaultfd(2) that the pager needs. No crate has `UFFDIO_MOVE`; rustix opens the descriptor and makes
//! the ioctl.
#![allow(unsafe_code, reason = "ioctls that move memory; each block says why it is sound")]

use crate::descriptors::OwnDescriptor;
use crate::error::UserfaultfdError;
use crate::eviction::Eviction;
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Updater, ioctl, opcode};
use rustix::mm::UserfaultfdFlags;
use std::ops::Range;

/// The ioctl group of userfaultfd.
const GROUP: u8 = 0xAA;
const API: u64 = 0xAA;

const FEATURE_PAGEFAULT_FLAG_WP: u64 = 1 << 0;
const FEATURE_SIGBUS: u64 = 1 << 7;
const FEATURE_THREAD_ID: u64 = 1 << 8;
const FEATURE_MOVE: u64 = 1 << 16;

const REGISTER_MODE_MISSING: u64 = 1 << 0;
const REGISTER_MODE_WP: u64 = 1 << 1;
const MODE_DONTWAKE: u64 = 1 << 0;
const WRITEPROTECT_MODE_WP: u64 = 1 << 0;

const EVENT_PAGEFAULT: u8 = 0x12;

/// `UFFD_USER_MODE_ONLY`: faults in system calls are not delivered, and no privilege is needed.
const USER_MODE_ONLY: u32 = 1;

/// The maximum number of faults that one read returns.
const MAX_FAULTS_PER_READ: usize = 8;

#[repr(C)]
struct Handshake {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Span {
    start: u64,
    len: u64,
}

#[repr(C)]
struct Register {
    span: Span,
    mode: u64,
    ioctls: u64,
}

/// The argument of both `UFFDIO_COPY` and `UFFDIO_MOVE`.
#[repr(C)]
struct Transfer {
    to: u64,
    from: u64,
    len: u64,
    mode: u64,
    done: i64,
}

#[repr(C)]
struct WriteProtect {
    span: Span,
    mode: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u32,
    padding: u32,
}

/// A fault that waits to be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) address: usize,
    /// The number of the thread that waits.
    pub(crate) thread: u32,
}

/// The delivery of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Threads wait for the reader of the descriptor, also in system calls.
    Messages,
    /// Threads get SIGBUS; a system call fails with EFAULT.
    Sigbus,
}

fn failed(call: &'static str) -> impl Fn(Errno) -> UserfaultfdError {
    move |errno| UserfaultfdError::System { call, errno }
}

/// An open descriptor after the handshake.
#[derive(Debug)]
pub(crate) struct Userfaultfd {
    fd: OwnDescriptor,
    moves: bool,
    protects: bool,
}

impl Userfaultfd {
    pub(crate) fn open(delivery: Delivery, eviction: Eviction) -> Result<Self, UserfaultfdError> {
        let features = handshake(&open(delivery)?, 0)?;
        let need = |bit, what, since| {
            if features & bit == 0 { Err(UserfaultfdError::Lacks { what, since }) } else { Ok(bit) }
        };
        let mut wanted = 0;
        wanted |= match delivery {
            Delivery::Sigbus => need(FEATURE_SIGBUS, "deliver faults as signals", "4.14")?,
            Delivery::Messages => need(FEATURE_THREAD_ID, "say which thread has faulted", "4.14")?,
        };
        let moves = match eviction {
            Eviction::Auto => features & FEATURE_MOVE != 0,
            Eviction::Move => true,
            Eviction::ProtectAndCopy => false,
        };
        wanted |= if moves {
            // Not all processors support write protection.
            need(FEATURE_MOVE, "move pages", "6.8")? | features & FEATURE_PAGEFAULT_FLAG_WP
        } else {
            need(FEATURE_PAGEFAULT_FLAG_WP, "protect pages against writing", "5.7")?
        };
        let fd = open(delivery)?;
        handshake(&fd, wanted)?;
        let fd = OwnDescriptor::new(fd).map_err(failed("fstat"))?;
        Ok(Userfaultfd { fd, moves, protects: wanted & FEATURE_PAGEFAULT_FLAG_WP != 0 })
    }

    /// Closes the descriptor in a child after `fork`: it belongs to the parent's memory.
    pub(crate) fn close(&self) {
        self.fd.close();
    }

    /// Returns whether pages are moved; otherwise they are write-protected.
    pub(crate) fn moves(&self) -> bool {
        self.moves
    }

    /// Returns whether stores to pages can be made to fault.
    pub(crate) fn protects(&self) -> bool {
        self.protects
    }

    /// Delivers the faults of absent pages from now on.
    pub(crate) fn register(&self, start: usize, len: usize) -> Result<(), UserfaultfdError> {
        let mode = REGISTER_MODE_MISSING | if self.protects { REGISTER_MODE_WP } else { 0 };
        let mut argument = Register { span: Span { start: start as u64, len: len as u64 }, mode, ioctls: 0 };
        // SAFETY: `UFFDIO_REGISTER` reads and writes a `uffdio_register`, which `Register` is.
        unsafe { self.ioctl::<{ opcode::read_write::<Register>(GROUP, 0) }, _>(&mut argument) }
            .map_err(failed("UFFDIO_REGISTER"))
    }

    /// Copies a page to an absent one.
    ///
    /// # Safety
    /// Only the faulting threads use the absent page, which belongs to the caller; `from` is readable memory.
    pub(crate) unsafe fn copy(
        &self,
        to: usize,
        from: *const u8,
        len: usize,
        wake: bool,
    ) -> Result<(), Errno> {
        let mut argument = transfer(to, from as usize, len, wake);
        // SAFETY: a `uffdio_copy`; the caller promises that the memory may be written.
        unsafe { self.ioctl::<{ opcode::read_write::<Transfer>(GROUP, 3) }, _>(&mut argument) }
    }

    /// Moves a page to an absent one.
    ///
    /// # Safety
    /// As [`copy`](Self::copy); the page moved belongs to the caller, and threads that access it meanwhile can wait.
    pub(crate) unsafe fn move_page(
        &self,
        to: usize,
        from: usize,
        len: usize,
        wake: bool,
    ) -> Result<(), Errno> {
        let mut argument = transfer(to, from, len, wake);
        // SAFETY: a `uffdio_move`; the caller promises that both places may be changed.
        unsafe { self.ioctl::<{ opcode::read_write::<Transfer>(GROUP, 5) }, _>(&mut argument) }
    }

    /// Makes every store to a page fault.
    pub(crate) fn protect(&self, start: usize, len: usize) -> Result<(), Errno> {
        let span = Span { start: start as u64, len: len as u64 };
        let mut argument = WriteProtect { span, mode: WRITEPROTECT_MODE_WP };
        // SAFETY: a `uffdio_writeprotect`; it changes no contents.
        unsafe { self.ioctl::<{ opcode::read_write::<WriteProtect>(GROUP, 6) }, _>(&mut argument) }
    }

    /// Wakes threads that wait for these pages, so that they fault again.
    pub(crate) fn wake(&self, start: usize, len: usize) -> Result<(), Errno> {
        let mut span = Span { start: start as u64, len: len as u64 };
        // SAFETY: a `uffdio_range`; it changes nothing.
        unsafe { self.ioctl::<{ opcode::read::<Span>(GROUP, 2) }, _>(&mut span) }
    }

    /// Makes [`faults`](Self::faults) wait for one, or return at once, as it does first.
    pub(crate) fn wait_for_faults(&self, waits: bool) -> Result<(), Errno> {
        rustix::fs::fcntl_setfl(&self.fd, if waits { OFlags::empty() } else { OFlags::NONBLOCK })
    }

    /// The waiting faults; none if none waits, unless it is to wait for one.
    pub(crate) fn faults(&self) -> Result<PendingFaults, Errno> {
        const BYTES: usize = MAX_FAULTS_PER_READ * size_of::<Message>();
        let mut messages = [Message::default(); MAX_FAULTS_PER_READ];
        // SAFETY: the messages are plain integers without padding, so they may be filled as bytes.
        let bytes = unsafe { std::slice::from_raw_parts_mut(messages.as_mut_ptr().cast::<u8>(), BYTES) };
        let read = match retry_on_intr(|| rustix::io::read(&self.fd, &mut *bytes)) {
            Err(Errno::AGAIN) => 0,
            other => other?,
        };
        Ok(PendingFaults { messages, remaining: 0..read / size_of::<Message>() })
    }

    /// # Safety
    /// The opcode takes a pointer to a `T`, and its effect on memory is sound.
    unsafe fn ioctl<const OPCODE: rustix::ioctl::Opcode, T>(&self, argument: &mut T) -> Result<(), Errno> {
        // SAFETY: the caller promises it.
        unsafe { ioctl(&self.fd, Updater::<OPCODE, T>::new(argument)) }
    }
}

impl AsFd for Userfaultfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Faults that wait to be handled.
pub(crate) struct PendingFaults {
    messages: [Message; MAX_FAULTS_PER_READ],
    remaining: Range<usize>,
}

impl Iterator for PendingFaults {
    type Item = Fault;

    fn next(&mut self) -> Option<Fault> {
        let message = self.messages[self.remaining.next()?];
        if message.event == EVENT_PAGEFAULT {
            Some(Fault { address: message.address as usize, thread: message.thread })
        } else {
            self.next()
        }
    }
}

fn transfer(to: usize, from: usize, len: usize, wake: bool) -> Transfer {
    let mode = if wake { 0 } else { MODE_DONTWAKE };
    Transfer { to: to as u64, from: from as u64, len: len as u64, mode, done: 0 }
}

/// Opens a new descriptor. With signals, faults in system calls are not delivered, so it needs no privilege.
fn open(delivery: Delivery) -> Result<OwnedFd, UserfaultfdError> {
    let mut flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
    if delivery == Delivery::Sigbus {
        flags |= UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY);
    }
    // SAFETY: a new descriptor has no effect before memory is registered.
    match unsafe { rustix::mm::userfaultfd(flags) } {
        Err(Errno::PERM) => open_device(),
        Err(Errno::NOSYS) => Err(UserfaultfdError::Missing),
        other => other.map_err(failed("userfaultfd")),
    }
}

/// The device gives descriptors to every process that may open it.
fn open_device() -> Result<OwnedFd, UserfaultfdError> {
    const NEW: rustix::ioctl::Opcode = opcode::none(GROUP, 0);
    let flags = (OFlags::CLOEXEC | OFlags::NONBLOCK).bits();
    let device = rustix::fs::open("/dev/userfaultfd", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|_| UserfaultfdError::NotAllowed)?;
    // The descriptor is the ioctl's return value, which rustix's patterns discard.
    // SAFETY: `USERFAULTFD_IOC_NEW` takes flags and returns a new descriptor.
    let fd = unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&device), NEW as _, flags) };
    if fd < 0 {
        return Err(UserfaultfdError::NotAllowed);
    }
    // SAFETY: it is new, and there is no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Negotiates features, and returns those that there are.
fn handshake(fd: &OwnedFd, features: u64) -> Result<u64, UserfaultfdError> {
    let mut argument = Handshake { api: API, features, ioctls: 0 };
    // SAFETY: `UFFDIO_API` reads and writes a `uffdio_api`, which `Handshake` is.
    unsafe { ioctl(fd, Updater::<{ opcode::read_write::<Handshake>(GROUP, 0x3F) }, _>::new(&mut argument)) }
        .map_err(failed("UFFDIO_API"))?;
    Ok(argument.features)
}
