//! This library's own threads, which handle faults. They get memory from the private heap only.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The threads that existed after the region had been made, except the program's first one. A child after `fork` has
/// others.
static OWN: AtomicPtr<Vec<libc::pid_t>> = AtomicPtr::new(std::ptr::null_mut());

/// True while every thread counts as an own thread.
static ALL: AtomicBool = AtomicBool::new(false);

fn own() -> Option<&'static Vec<libc::pid_t>> {
    // SAFETY: it is never freed.
    unsafe { OWN.load(Ordering::Acquire).as_ref() }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Unknown,
    Own,
    Programs,
}

thread_local! {
    // Constant and without a destructor: accessing it never allocates.
    static OWNER_OF_THREAD: Cell<Owner> = const { Cell::new(Owner::Unknown) };
}

/// Threads of the process.
///
/// # Errors
/// If they cannot be listed.
pub(crate) fn list_threads() -> std::io::Result<Vec<libc::pid_t>> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir("/proc/self/task")? {
        threads.extend(entry?.file_name().to_str().and_then(|name| name.parse::<libc::pid_t>().ok()));
    }
    Ok(threads)
}

/// Returns whether a thread is one of this library's own.
pub(crate) fn contains(thread: libc::pid_t) -> bool {
    own().is_some_and(|own| own.contains(&thread))
}

/// Returns whether the program has threads besides the calling one, or that is unknown.
pub(crate) fn has_other_threads() -> bool {
    let own = self::own().map_or(0, Vec::len);
    list_threads().map_or(true, |all| all.len() > own + 1)
}

/// Records all threads but the calling one. The program has started none yet.
///
/// # Errors
/// If they cannot be listed.
pub(crate) fn record() -> std::io::Result<()> {
    let mut own = list_threads()?;
    own.retain(|thread| *thread != thread_id());
    OWN.store(Box::into_raw(Box::new(own)), Ordering::Release);
    Ok(())
}

/// Lets every thread count as one of them, in a child after `fork` that has no others yet, or none any more.
pub(crate) fn treat_all_as_own(all: bool) {
    ALL.store(all, Ordering::SeqCst);
}

/// Returns whether the calling thread is one of this library's own.
pub(crate) fn is_own() -> bool {
    if ALL.load(Ordering::Relaxed) {
        return true;
    }
    let owner = match OWNER_OF_THREAD.get() {
        Owner::Unknown => {
            let own = self::own().is_none_or(|own| own.contains(&thread_id()));
            let owner = if own { Owner::Own } else { Owner::Programs };
            if self::own().is_some() {
                OWNER_OF_THREAD.set(owner);
            }
            owner
        }
        known => known,
    };
    owner == Owner::Own
}

/// The calling thread's number.
pub(crate) fn thread_id() -> libc::pid_t {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
}
