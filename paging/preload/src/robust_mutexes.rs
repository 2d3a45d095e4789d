//! Robust mutexes. When a thread that holds one ends, the kernel marks the mutex and wakes a waiter. But the kernel
//! pages nothing in for a thread that ends. So waiters would wait forever for a mutex on an evicted page. So this is
//! done here, as the last work of the thread. The mutexes that the kernel finds afterwards have no owner.

use crate::{last_thread, stacks};
use libc::{c_int, c_long, c_void, pthread_key_t};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of rounds of destructors of a thread's values: PTHREAD_DESTRUCTOR_ITERATIONS.
const ROUNDS: usize = 4;

/// The maximum number of entries of the list that the kernel follows: ROBUST_LIST_LIMIT.
const MAX_ENTRIES: usize = 2048;

/// The lowest bit of an entry's address: the mutex has priority inheritance.
const INHERITS_PRIORITY: usize = 1;

const WAITERS: u32 = 0x8000_0000;
const OWNER_DIED: u32 = 0x4000_0000;
const OWNER: u32 = 0x3fff_ffff;

/// `struct robust_list_head`: the list ends where it begins.
#[repr(C)]
struct Head {
    next: usize,
    futex_offset: c_long,
    pending: usize,
}

static KEY: OnceLock<Option<pthread_key_t>> = OnceLock::new();

/// Registers the work for the end of the calling thread. `false` if the system has no key for it.
pub(crate) fn watch_this_thread() -> bool {
    let made = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the key is written; the function stays as long as the library.
        (unsafe { libc::pthread_key_create(&raw mut key, Some(on_thread_end)) } == 0).then_some(key)
    });
    made.is_some_and(|key| set(key, 1))
}

fn set(key: pthread_key_t, round: usize) -> bool {
    // SAFETY: the key is ours; the value is a number, and never dereferenced.
    unsafe { libc::pthread_setspecific(key, round as *const c_void) == 0 }
}

/// Runs in each round, to be the last one: the program's own destructors may unlock a mutex.
unsafe extern "C" fn on_thread_end(round: *mut c_void) {
    let round = round as usize;
    match KEY.get() {
        Some(Some(key)) if round < ROUNDS && set(*key, round + 1) => {}
        _ => {
            mark_held_mutexes();
            last_thread::on_thread_exit();
            stacks::restore_stack();
        }
    }
}

fn mark_held_mutexes() {
    let (mut head, mut len) = (null_mut::<Head>(), 0_usize);
    // SAFETY: requests the calling thread's own list.
    let refused = unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut len) };
    if refused != 0 || head.is_null() || len != size_of::<Head>() {
        return;
    }
    let mut has_others = false;
    // SAFETY: the C library maintains the list, and only this thread changes it. Each entry is part of a mutex that the
    // thread holds, which is live.
    unsafe {
        let mut entry = (*head).next;
        for _ in 0..MAX_ENTRIES {
            let address = entry & !INHERITS_PRIORITY;
            if address == head as usize {
                break;
            }
            let next = *(address as *const usize);
            has_others |= mark(head, entry);
            entry = next;
        }
        if (*head).pending != 0 {
            has_others |= mark(head, (*head).pending);
        }
        if !has_others {
            (*head).next = head as usize;
            (*head).pending = 0;
        }
    }
}

/// Returns whether the entry is left to the kernel.
///
/// # Safety
/// The entry is one of the list, in a live mutex.
unsafe fn mark(head: *const Head, entry: usize) -> bool {
    // SAFETY: the futex lies at the list's own offset from the entry.
    let futex = unsafe {
        let at = (entry & !INHERITS_PRIORITY).wrapping_add_signed((*head).futex_offset as isize);
        &*(at as *const AtomicU32)
    };
    // SAFETY: the call takes nothing.
    let own = unsafe { libc::gettid() } as u32;
    if entry & INHERITS_PRIORITY != 0 {
        // Only the kernel can pass such a mutex on. At least its page is present now.
        // SAFETY: it is a futex.
        unsafe { futex.as_ptr().read_volatile() };
        return true;
    }
    let dies = |word| (word & OWNER == own).then_some(word & WAITERS | OWNER_DIED);
    if futex.fetch_update(Ordering::SeqCst, Ordering::SeqCst, dies).is_ok_and(|word| word & WAITERS != 0) {
        // Like the kernel, also for private waiters.
        wake(futex, libc::FUTEX_WAKE);
        wake(futex, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG);
    }
    false
}

fn wake(futex: &AtomicU32, how: c_int) {
    // SAFETY: wakes one, and changes nothing.
    unsafe { libc::syscall(libc::SYS_futex, futex.as_ptr(), how, 1) };
}
