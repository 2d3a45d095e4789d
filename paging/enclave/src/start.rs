//! The start of a program: loads its image and its stack into pages of the scheme.

use crate::access::Access;
use crate::image::Image;
use crate::layout::{page_of, stack, trampoline};
use crate::paging::{AccessError, ProgramMemory};
use crate::processor::Processor;
use crate::space::{CommitPolicy, OutOfPages};
use crate::stack;
use alloc::vec::Vec;
use ameles_enclave_boundary::exit::{Ending, Failure};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::RngCore;

/// The initial registers of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The address of its first instruction.
    pub entry: u64,
    /// The initial stack pointer.
    pub stack: u64,
}

/// Loads a program into its memory.
///
/// # Errors
/// The end of the run: it does not fit, or a page was forged meanwhile.
pub fn load<P: Processor + 'static>(
    memory: &mut ProgramMemory<P>,
    image: &Image<'_>,
    arguments: &[Vec<u8>],
    environment: &[Vec<u8>],
    rng: &mut ChaCha20Rng,
) -> Result<Start, Ending> {
    for (pages, access) in &image.areas {
        memory.space.map(pages.clone(), *access, CommitPolicy::Immediate).map_err(too_large)?;
    }
    for segment in &image.segments {
        memory.load(segment.start, segment.contents).map_err(ended)?;
    }
    reserve_trampoline(memory).map_err(too_large)?;
    let addresses = stack(memory.mode());
    let pages = page_of(addresses.start)..page_of(addresses.end);
    memory.space.map(pages, Access::READ_WRITE, CommitPolicy::OnTouch).map_err(too_large)?;
    let mut random = [0; 16];
    rng.fill_bytes(&mut random);
    let stack = stack::build(addresses.end, image, arguments, environment, &random);
    memory.write(stack.start, &stack.bytes).map_err(ended)?;
    Ok(Start { entry: image.entry, stack: stack.start })
}

/// Commits the page through which handlers return. It is filled for the first of them; other programs never access it.
///
/// # Errors
/// [`OutOfPages`].
pub fn reserve_trampoline<P: Processor + 'static>(memory: &mut ProgramMemory<P>) -> Result<(), OutOfPages> {
    let addresses = trampoline(memory.mode());
    memory.space.map(
        page_of(addresses.start)..page_of(addresses.end),
        Access::READ_EXECUTE,
        CommitPolicy::Immediate,
    )
}

fn too_large(_: OutOfPages) -> Ending {
    let text = "the program is larger than the memory behind the scheme: it needs more untrusted memory";
    Ending::Failed { kind: Failure::Launch, text: text.into() }
}

fn ended(error: AccessError) -> Ending {
    match error {
        AccessError::End(ending) => ending,
        AccessError::Illegal => Ending::Failed {
            kind: Failure::Launch,
            text: "a segment of the program is not readable, or its arguments exceed the stack".into(),
        },
    }
}
