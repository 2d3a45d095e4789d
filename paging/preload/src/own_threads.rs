//! The threads that are this library's own: those that serve faults. They get memory from the private heap only.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The numbers of the threads that were there when the region had been made, the program's first one left out. A child
/// after `fork` has others.
static OWN: AtomicPtr<Vec<libc::pid_t>> = AtomicPtr::new(std::ptr::null_mut());

/// True while every thread there is counts as one of them.
static ALL: AtomicBool = AtomicBool::new(false);

fn own() -> Option<&'static Vec<libc::pid_t>> {
    // SAFETY: what was put there stays.
    unsafe { OWN.load(Ordering::Acquire).as_ref() }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Unknown,
    Own,
    Programs,
}

thread_local! {
    // Constant and without a destructor: looking at it never allocates.
    static WHOSE: Cell<Whose> = const { Cell::new(Whose::Unknown) };
}

/// Threads of the process.
///
/// # Errors
/// If they cannot be listed.
pub(crate) fn listed() -> std::io::Result<Vec<libc::pid_t>> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir("/proc/self/task")? {
        threads.extend(entry?.file_name().to_str().and_then(|name| name.parse::<libc::pid_t>().ok()));
    }
    Ok(threads)
}

/// Tells whether this is one of them.
pub(crate) fn are(thread: libc::pid_t) -> bool {
    own().is_some_and(|own| own.contains(&thread))
}

/// Tells whether the program has threads beside the calling one, or that cannot be said.
pub(crate) fn are_others() -> bool {
    let own = self::own().map_or(0, Vec::len);
    listed().map_or(true, |all| all.len() > own + 1)
}

/// Remembers all threads but the calling one. The program has started none yet.
///
/// # Errors
/// If they cannot be listed.
pub(crate) fn remember() -> std::io::Result<()> {
    let mut own = listed()?;
    own.retain(|thread| *thread != number());
    OWN.store(Box::into_raw(Box::new(own)), Ordering::Release);
    Ok(())
}

/// Lets every thread count as one of them, in a child after `fork` that has no other yet, or no more.
pub(crate) fn all_are_own(all: bool) {
    ALL.store(all, Ordering::SeqCst);
}

/// Tells whether the calling thread is one of them.
pub(crate) fn is_own() -> bool {
    if ALL.load(Ordering::Relaxed) {
        return true;
    }
    let whose = match WHOSE.get() {
        Whose::Unknown => {
            let own = self::own().is_none_or(|own| own.contains(&number()));
            let whose = if own { Whose::Own } else { Whose::Programs };
            if self::own().is_some() {
                WHOSE.set(whose);
            }
            whose
        }
        known => known,
    };
    whose == Whose::Own
}

/// The calling thread's number.
pub(crate) fn number() -> libc::pid_t {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
}
