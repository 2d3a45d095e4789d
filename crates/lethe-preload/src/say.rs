//! One line for the person who runs the program, without a heap.

/// Writes the parts to standard error, in one call as long as they are short.
pub(crate) fn say(parts: &[&str]) {
    let mut line = [0_u8; 512];
    let mut len = 0;
    for part in ["lethe page: "].iter().chain(parts).chain(&["\n"]) {
        let fits = part.len().min(line.len() - len);
        line[len..len + fits].copy_from_slice(&part.as_bytes()[..fits]);
        len += fits;
    }
    // SAFETY: the bytes are there. Nothing could be done about a failure.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), len) };
}

/// What `errno` is.
pub(crate) fn errno() -> libc::c_int {
    // SAFETY: the pointer is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets `errno`.
pub(crate) fn fail(errno: libc::c_int) {
    // SAFETY: the pointer is this thread's own.
    unsafe { *libc::__errno_location() = errno };
}
