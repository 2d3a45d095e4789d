//! Which threads are this library's own: those that serve faults. They get memory from the private heap only.

use std::cell::Cell;
use std::sync::OnceLock;

/// The numbers of the threads that were there when the region had been made, the program's first one left out.
static OWN: OnceLock<Vec<libc::pid_t>> = OnceLock::new();

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
pub(crate) fn count() -> std::io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

/// Remembers all threads but the calling one. The program has started none yet.
///
/// # Errors
/// If they cannot be listed.
pub(crate) fn remember() -> std::io::Result<()> {
    let caller = number();
    let mut own = Vec::new();
    for entry in std::fs::read_dir("/proc/self/task")? {
        if let Some(thread) = entry?.file_name().to_str().and_then(|name| name.parse().ok())
            && thread != caller
        {
            own.push(thread);
        }
    }
    let _ = OWN.set(own);
    Ok(())
}

/// Whether the calling thread is one of them.
pub(crate) fn is_own() -> bool {
    let whose = match WHOSE.get() {
        Whose::Unknown => {
            let own = OWN.get().is_none_or(|own| own.contains(&number()));
            let whose = if own { Whose::Own } else { Whose::Programs };
            if OWN.get().is_some() {
                WHOSE.set(whose);
            }
            whose
        }
        known => known,
    };
    whose == Whose::Own
}

fn number() -> libc::pid_t {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
}
