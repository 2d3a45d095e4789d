//! A stack for work of the application's threads under the fault path's lock.
//!
//! Their own stacks may be paged, such as the stack of a coroutine or of a green thread. An access to it would then
//! wait for a fault that waits for the lock. Work under the lock, with its inputs and outputs, is therefore in memory
//! that is not paged.
#![allow(unsafe_code, reason = "changes the stack; each block says why it is sound")]

use crate::page::PAGE_BYTES;
use crate::private::PrivateMapping;
use libc::{c_uint, ucontext_t};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The size of the stack, far more than any work there needs. Pages that are not accessed take no memory.
const STACK_BYTES: usize = 1 << 20;

pub(crate) struct OwnStack {
    /// The mapping: a guard page, then the stack.
    memory: PrivateMapping,
    /// The lock of the stack.
    contexts: Mutex<Box<Contexts>>,
}

/// The contexts of the caller and of the stack.
struct Contexts {
    caller: MaybeUninit<ucontext_t>,
    begin: MaybeUninit<ucontext_t>,
    erased_task: ErasedTask,
}

/// A closure with its type erased.
#[derive(Clone, Copy)]
struct ErasedTask {
    data: *mut (),
    run: unsafe fn(*mut ()),
}

// SAFETY: the pointers are dereferenced only during `OwnStack::run`, on the thread that set them.
unsafe impl Send for Contexts {}

impl OwnStack {
    pub(crate) fn new() -> Result<Self, Errno> {
        let erased_task = ErasedTask { data: std::ptr::null_mut(), run: no_task };
        let contexts = Contexts { caller: MaybeUninit::zeroed(), begin: MaybeUninit::zeroed(), erased_task };
        let memory = PrivateMapping::new(PAGE_BYTES, STACK_BYTES, PAGE_BYTES)?;
        Ok(OwnStack { memory, contexts: Mutex::new(Box::new(contexts)) })
    }

    /// Returns the addresses of the stack.
    pub(crate) fn addresses(&self) -> Range<usize> {
        let begin = self.memory.second() as usize;
        begin..begin + self.memory.second_bytes()
    }

    /// Makes a stack that children after `fork` have too.
    pub(crate) fn inherited() -> Result<Self, Errno> {
        let stack = OwnStack::new()?;
        stack.memory.share_with_children()?;
        Ok(stack)
    }

    /// Runs `act` on this stack. The caller blocks all signals; `act` borrows nothing on the caller's stack.
    pub(crate) fn run<R, A: FnOnce() -> R>(&self, act: A) -> R {
        // A panic there is passed on when the stack is free again.
        let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut task = Box::new(Task { act: Some(act), outcome: None });
        contexts.erased_task = ErasedTask { data: (&raw mut *task).cast(), run: Task::<R, A>::run };
        let switch_at: *mut Contexts = &raw mut **contexts;
        // SAFETY: the stack is ours as long as we hold the lock, and the contexts stay where they are. `enter` returns,
        // and then the caller's context continues here; it never unwinds. The halves of the address are two arguments,
        // as `makecontext` takes no others.
        unsafe {
            let (caller, begin) = ((*switch_at).caller.as_mut_ptr(), (*switch_at).begin.as_mut_ptr());
            let got = libc::getcontext(begin);
            assert_eq!(got, 0, "this thread's context");
            (*begin).uc_stack.ss_sp = self.memory.second().cast();
            (*begin).uc_stack.ss_size = self.memory.second_bytes();
            (*begin).uc_link = caller;
            let enter: extern "C" fn() = std::mem::transmute(enter as extern "C" fn(c_uint, c_uint));
            let address = switch_at as usize as u64;
            libc::makecontext(begin, enter, 2, (address >> 32) as c_uint, address as c_uint);
            let swapped = libc::swapcontext(caller, begin);
            assert_eq!(swapped, 0, "another stack");
        }
        drop(contexts);
        match task.outcome.expect("it was run") {
            Ok(outcome) => outcome,
            Err(panic) => resume_unwind(panic),
        }
    }
}

extern "C" fn enter(high: c_uint, low: c_uint) {
    let contexts = (u64::from(high) << 32 | u64::from(low)) as usize as *const Contexts;
    // SAFETY: `OwnStack::run` has given its address, and waits.
    unsafe {
        let ErasedTask { data, run } = (*contexts).erased_task;
        run(data);
    }
}

unsafe fn no_task(_: *mut ()) {}

struct Task<R, A> {
    act: Option<A>,
    outcome: Option<thread::Result<R>>,
}

impl<R, A: FnOnce() -> R> Task<R, A> {
    /// # Safety
    /// A task without other references.
    unsafe fn run(task: *mut ()) {
        // SAFETY: the caller promises it.
        let task = unsafe { &mut *task.cast::<Self>() };
        task.outcome = task.act.take().map(|act| catch_unwind(AssertUnwindSafe(act)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_there_lies_there_and_answers_and_panics_come_back() {
        let stack = OwnStack::new().unwrap();
        let all = stack.addresses();
        for round in 0..3 {
            let here = stack.run(move || {
                let local = round;
                (&raw const local) as usize
            });
            assert!(all.contains(&here));
            let panicked = catch_unwind(AssertUnwindSafe(|| stack.run(|| panic!("there"))));
            assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"there"));
        }
        thread::scope(|scope| {
            for thread in 0..4_usize {
                let stack = &stack;
                scope.spawn(move || {
                    for round in 0..500 {
                        assert_eq!(stack.run(move || thread * round), thread * round);
                    }
                });
            }
        });
    }
}
