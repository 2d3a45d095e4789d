//! A processor without state, a mailbox whose answers are set by a test, and programs over them.

use ameles_enclave::calls::Program;
use ameles_enclave::host::{Host, Mailbox};
use ameles_enclave::layout;
use ameles_enclave::paging::{Paging, ProgramMemory};
use ameles_enclave::processor::Processor;
use ameles_enclave::registers::Registers;
use ameles_enclave::start::reserve_trampoline;
use ameles_enclave_boundary::exit::Ending;
use ameles_enclave_boundary::launch::PagingMode;
use ameles_enclave_boundary::mailbox::{Answer, Request};
use ameles_fork_join::Pool;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_path_builder::FaultPathBuilder;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::{AtomicMemory, PageCipher, Workers};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The schemes of the runtime.
pub(crate) const SCHEMES: [Scheme; 7] = Scheme::ALL;

/// Three threads in place of harts.
fn workers() -> &'static dyn Workers {
    static WORKERS: LazyLock<Pool> = LazyLock::new(|| Pool::new(3, Duration::from_micros(50)).unwrap());
    &*WORKERS
}

/// A processor without caches and counters.
pub(crate) struct TestProcessor;

impl Processor for TestProcessor {
    fn flush_translation(_: u64) {}
    fn flush_instructions() {}
    fn retired_instructions() -> u64 {
        0
    }
    fn nanos() -> u64 {
        0
    }
}

/// The requests to a mailbox, and its answers.
#[derive(Default)]
pub(crate) struct MailboxState {
    /// The requests so far, with their data.
    pub(crate) requests: Vec<(Request, Vec<u8>)>,
    /// The answers to come, the last one first, with their data.
    pub(crate) answers: Vec<(Answer, Vec<u8>)>,
}

/// A mailbox. Without a set answer, every request succeeds completely.
#[derive(Clone, Default)]
pub(crate) struct TestMailbox(pub(crate) Rc<RefCell<MailboxState>>);

impl TestMailbox {
    /// The text that was written to any stream.
    pub(crate) fn written(&self) -> Vec<u8> {
        let state = self.0.borrow();
        let of_write = state.requests.iter().filter(|(request, _)| matches!(request, Request::Write { .. }));
        of_write.flat_map(|(_, data)| data.clone()).collect()
    }

    /// Sets the answer to the next request.
    pub(crate) fn answer(&self, answer: Answer, data: &[u8]) {
        self.0.borrow_mut().answers.insert(0, (answer, data.to_vec()));
    }
}

impl Mailbox for TestMailbox {
    fn call(&mut self, request: Request, data: &[u8], into: &mut [u8]) -> Result<Answer, Ending> {
        let mut state = self.0.borrow_mut();
        state.requests.push((request, data.to_vec()));
        let (answer, found) = state.answers.pop().unwrap_or_else(|| {
            let bytes = match request {
                Request::Write { bytes, .. } => bytes,
                _ => 0,
            };
            (Answer::Done { bytes }, Vec::new())
        });
        into[..found.len()].copy_from_slice(&found);
        Ok(answer)
    }
}

/// Memory with this many pages under a scheme, of which seven are resident. A parallel one has three lanes.
pub(crate) fn memory(
    scheme: Scheme,
    pages: u64,
    mode: PagingMode,
) -> (ProgramMemory<TestProcessor>, Arc<AtomicMemory>) {
    let fault_path = FaultPathBuilder {
        scheme,
        pages,
        ratio: 3,
        cipher: PageCipher::ChaCha20HmacSha256,
        resident: 7,
        policy: Policy::Fifo,
        step_pages: None,
        filled: false,
    };
    let untrusted = Arc::new(AtomicMemory::new(fault_path.untrusted_bytes(u64::MAX).unwrap()));
    let paging = Paging {
        fault_path,
        mode,
        kernel: layout::kernel(64 << 20),
        meter: None,
        workers: scheme.is_parallel().then(workers),
    };
    let rng = ChaCha20Rng::seed_from_u64(7);
    (ProgramMemory::new(paging, Arc::clone(&untrusted), rng).unwrap(), untrusted)
}

/// The program of a test.
pub(crate) type TestProgram = Program<TestProcessor, TestMailbox>;

/// A program with this many pages, and one for the return of handlers. Its image is a read-only page at 0x10000.
pub(crate) fn program(pages: u64, allows_clock: bool) -> (TestProgram, TestMailbox) {
    let (mut memory, _) = memory(Scheme::Plain, pages + 1, PagingMode::Sv39);
    reserve_trampoline(&mut memory).unwrap();
    let mailbox = TestMailbox::default();
    let host = Host::new(mailbox.clone(), allows_clock);
    let rng = ChaCha20Rng::seed_from_u64(8);
    (Program::new(memory, host, rng, 0x10000..0x10800, b"./bin/program"), mailbox)
}

/// Makes a system call: returns the value of the program's first register afterwards.
pub(crate) fn system_call(
    program: &mut TestProgram,
    number: u64,
    arguments: [u64; 6],
) -> Result<u64, Ending> {
    let mut registers = Registers::default();
    ask(&mut registers, number, arguments);
    program.system_call(&mut registers).map(|()| registers.general[10])
}

/// Puts a system call into the program's registers.
pub(crate) fn ask(registers: &mut Registers, number: u64, arguments: [u64; 6]) {
    registers.general[10..16].copy_from_slice(&arguments);
    registers.general[17] = number;
}
