//! Writes lines to standard error without a heap.

/// Writes the parts to standard error, in one call if they are short.
pub(crate) fn write_line(parts: &[&str]) {
    let mut line = [0_u8; 512];
    let mut len = 0;
    for part in ["ameles page: "].iter().chain(parts).chain(&["\n"]) {
        let fits = part.len().min(line.len() - len);
        line[len..len + fits].copy_from_slice(&part.as_bytes()[..fits]);
        len += fits;
    }
    // SAFETY: the bytes are valid. There is no way to handle a failure.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), len) };
}

/// A number of bytes in MiB, or in KiB if it is less than one.
pub(crate) fn format_size(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{} KiB", bytes.div_ceil(1 << 10)) } else { format!("{} MiB", bytes >> 20) }
}
