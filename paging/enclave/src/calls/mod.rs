//! The system calls of the program.
//!
//! Each is handled here, passed to the host with checked arguments and an untrusted answer, or refused. For a refused
//! call the program gets `ENOSYS`, and the exit record names the call. A program that waits for another thread is
//! ended. Signals come from the program only, by a call or by an illegal operation, and never from the host.

mod call_error;
mod descriptor_calls;
mod descriptors;
mod handlers;
mod heap;
mod illegal;
mod mappings;
mod queries;
mod refused;
mod signal_calls;
mod signals;
mod streams;

use crate::host::{Host, Mailbox};
use crate::paging::ProgramMemory;
use crate::processor::Processor;
use crate::registers::{ARGUMENT, NUMBER, Registers, STACK_POINTER};
use alloc::boxed::Box;
use alloc::vec::Vec;
use ameles_enclave_boundary::exit::{Ending, Refused};
use call_error::{CallError, CallResult};
use core::ops::Range;
use descriptors::Descriptors;
use heap::Heap;
pub use illegal::Illegal;
use linux_raw_sys::errno::{EINVAL, ENOSYS, ENOTSOCK};
use linux_raw_sys::general::{SI_TKILL, SI_USER};
use rand_chacha::ChaCha20Rng;
use refused::RefusedCalls;
use signals::Signals;
use syscalls::riscv64::Sysno;

/// A running program and its state for system calls.
pub struct Program<P, M> {
    /// The program's memory.
    pub memory: ProgramMemory<P>,
    /// The host.
    pub host: Host<M>,
    /// The number of system calls so far.
    pub system_calls: u64,
    rng: ChaCha20Rng,
    heap: Heap,
    /// The addresses of its image, which is not backed by a file.
    image: Range<u64>,
    /// The absolute path that it gets as its own.
    path: Vec<u8>,
    /// Boxed: the fields that a fault needs are then near the beginning, within reach of an instruction.
    signals: Box<Signals>,
    descriptors: Descriptors,
    refused: RefusedCalls,
}

impl<P: Processor + 'static, M: Mailbox> Program<P, M> {
    /// A program whose image has the given addresses. Its heap begins after them.
    pub fn new(
        memory: ProgramMemory<P>,
        host: Host<M>,
        rng: ChaCha20Rng,
        image: Range<u64>,
        name: &[u8],
    ) -> Self {
        let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        Program {
            memory,
            host,
            system_calls: 0,
            rng,
            heap: Heap::behind(image.end),
            image,
            path: [b"/", file].concat(),
            signals: Box::default(),
            descriptors: Descriptors::default(),
            refused: RefusedCalls::default(),
        }
    }

    /// Handles a call of the program, and enters the handlers of pending signals.
    ///
    /// # Errors
    /// The end of the run.
    pub fn system_call(&mut self, registers: &mut Registers) -> Result<(), Ending> {
        self.system_calls += 1;
        let number = registers.general[NUMBER];
        if number == Sysno::rt_sigreturn as u64 {
            self.sigreturn(registers)?;
        } else {
            registers.general[ARGUMENT] = self.call(number, registers)?;
            registers.pc = registers.pc.wrapping_add(4);
        }
        self.deliver(registers).map_err(|ending| self.explain(ending))
    }

    /// Adds the probable reason to an ending: C libraries that get no memory for themselves continue without it.
    fn explain(&self, mut ending: Ending) -> Ending {
        if let Ending::Signalled { reason, .. } = &mut ending
            && self.memory.space.has_run_out()
        {
            reason.push_str("; the program ran out of memory before: give it more with --untrusted");
        }
        ending
    }

    /// The result of a call, as returned to the program.
    fn call(&mut self, number: u64, registers: &Registers) -> Result<u64, Ending> {
        let arguments = core::array::from_fn(|nth| registers.general[ARGUMENT + nth]);
        let call = usize::try_from(number).ok().and_then(Sysno::new);
        let done = match call {
            Some(Sysno::sigaltstack) => self.sigaltstack(arguments, registers.general[STACK_POINTER]),
            Some(call) => self.dispatch(call, arguments),
            None => Err(CallError::Refused),
        };
        let errno = match done {
            Ok(value) => return Ok(value),
            Err(CallError::End(ending)) => return Err(ending),
            Err(CallError::Errno(errno)) => errno,
            Err(CallError::Refused) => {
                self.refused.note(number, call.map(|call| call.name()));
                ENOSYS
            }
        };
        Ok((-i64::from(errno)) as u64)
    }

    /// The calls that were refused.
    pub fn refused(&self) -> Vec<Refused> {
        self.refused.named()
    }

    fn dispatch(&mut self, call: Sysno, arguments: [u64; 6]) -> CallResult {
        let [a, b, c, d, e, f] = arguments;
        match call {
            Sysno::brk => self.brk(a),
            Sysno::mmap => self.mmap([a, b, c, d, e, f]),
            Sysno::munmap => self.munmap(a, b),
            Sysno::mprotect => self.mprotect(a, b, c),
            Sysno::mremap => self.mremap([a, b, c, d, e]),
            Sysno::madvise => self.madvise(a, b, c),
            Sysno::read => self.read(a, b, c),
            Sysno::readv => self.readv(a, b, c),
            Sysno::write => self.write(a, b, c),
            Sysno::writev => self.writev(a, b, c),
            Sysno::ppoll => self.poll(a, b),
            Sysno::fstat => self.fstat(a, b),
            Sysno::newfstatat => self.fstatat(a, b, c, d),
            Sysno::lseek => self.lseek(a),
            Sysno::ioctl => self.ioctl(a),
            Sysno::fcntl => self.fcntl(a, b, c),
            Sysno::dup => self.dup(a),
            Sysno::dup3 => self.dup3(a, b, c),
            Sysno::close => self.close(a),
            // A shell checks whether its input is a socket.
            Sysno::getpeername | Sysno::getsockname => {
                self.descriptors.stream(a)?;
                Err(CallError::Errno(ENOTSOCK))
            }
            Sysno::readlinkat => self.readlinkat(b, c, d),
            Sysno::rt_sigaction => self.sigaction(a, b, c, d),
            Sysno::rt_sigprocmask => self.sigprocmask(a, b, c, d),
            Sysno::rt_sigpending => self.sigpending(a, b),
            Sysno::kill => self.kill(a, b, SI_USER as i32),
            Sysno::tkill => self.kill(a, b, SI_TKILL),
            Sysno::tgkill if a as i32 <= 0 || b as i32 <= 0 => Err(CallError::Errno(EINVAL)),
            Sysno::tgkill => self.kill(b, c, SI_TKILL),
            Sysno::futex => self.futex(a, b, c, d),
            Sysno::exit | Sysno::exit_group => Err(CallError::End(Ending::Exited(a as u8))),
            Sysno::clock_gettime => self.clock_gettime(a, b),
            Sysno::gettimeofday => self.gettimeofday(a),
            _ => self.query(call, arguments),
        }
    }
}
