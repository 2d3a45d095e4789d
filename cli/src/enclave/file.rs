//! Files that are read whole: the program, the runtime, the program of the host's hart.

use crate::config::size::Size;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Reads a regular file of at most so many bytes.
///
/// # Errors
/// The system's; it is no regular file, which may have no end; it is larger.
pub fn read_file(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    // Before it is opened: that alone waits for a writer if it is a pipe.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("it is larger than {}", Size(max))));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound_and_a_device_not_at_all() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"seven b").unwrap();
        assert_eq!(read_file(file.path(), 7).unwrap(), b"seven b");
        assert!(read_file(file.path(), 6).unwrap_err().to_string().contains("larger than 6"));
        for path in ["/dev/zero", "/"] {
            assert!(
                read_file(Path::new(path), 7).unwrap_err().to_string().contains("no regular file"),
                "{path}"
            );
        }
    }
}
