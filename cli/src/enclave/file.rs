//! Reading whole files: the program, the runtime and the program of the host's hart.

use crate::config::size::Size;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Reads a regular file of at most `max` bytes.
///
/// # Errors
/// The errors of the system; the path is not a regular file; the file is larger.
pub fn read_file(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    // Checked before the open, which would wait for a writer of a pipe.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
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
    fn a_file_is_read_up_to_its_bound_and_a_device_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"seven b").unwrap();
        assert_eq!(read_file(file.path(), 7).unwrap(), b"seven b");
        assert!(read_file(file.path(), 6).unwrap_err().to_string().contains("larger than 6"));
        for path in ["/dev/zero", "/"] {
            assert!(
                read_file(Path::new(path), 7).unwrap_err().to_string().contains("not a regular file"),
                "{path}"
            );
        }
    }
}
