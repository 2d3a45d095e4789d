//! The enclave's runtime, a program for a machine without an operating system.

use super::file::read_file;
use crate::runtime::checkout::{Checkout, Kind, Part};
use ameles_enclave_boundary::map::RUNTIME_START;
use ameles_enclave_boundary::mark::{MARK, MARK_SECTION};
use anyhow::{Context, Result, bail, ensure};
use object::Endianness;
use object::elf::{EM_RISCV, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use std::path::{Path, PathBuf};

/// The runtime in a checkout.
const PART: Part = Part {
    name: "the enclave's runtime",
    command: "ameles enclave",
    kind: Kind::Program,
    package: "ameles-enclave",
    target: "riscv64gc-unknown-none-elf",
    profile: "enclave",
};

/// The maximum size of a runtime's file, including debug information.
const MAX_BYTES: u64 = 64 << 20;

/// The runtime's file.
#[derive(Clone, Debug)]
pub struct Runtime(PathBuf);

impl Runtime {
    /// Checks and returns a named runtime.
    ///
    /// # Errors
    /// The file cannot be read, or is not a runtime for this program.
    pub fn from_path(path: &Path) -> Result<Self> {
        let found = path.canonicalize()?;
        Runtime::validate(found)
    }

    /// Returns the runtime next to this program, or builds it in a checkout.
    ///
    /// # Errors
    /// There is no runtime and it cannot be built, or it is for another version of this program.
    pub fn find() -> Result<Self> {
        let program = std::env::current_exe()?;
        let sibling = program.with_file_name(PART.package);
        if sibling.is_file() {
            return Runtime::validate(sibling.clone()).with_context(|| format!("{}", sibling.display()));
        }
        let Some(checkout) = Checkout::find()? else {
            bail!(
                "the enclave's runtime is not next to {}, and there is no checkout to build it from: name it with --runtime",
                program.display()
            )
        };
        checkout.build(&PART).map(Runtime)
    }

    /// Checks the file: a machine would hang without a message if it started anything else.
    fn validate(path: PathBuf) -> Result<Self> {
        check(&read_file(&path, MAX_BYTES)?)?;
        Ok(Runtime(path))
    }

    /// Returns the path of the runtime.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

fn check(bytes: &[u8]) -> Result<()> {
    match entry_and_mark(bytes) {
        Ok(Some((RUNTIME_START, mark))) => {
            ensure!(mark == MARK, "it is the enclave's runtime of another version of ameles: rebuild it");
            Ok(())
        }
        _ => bail!("it is not the enclave's runtime"),
    }
}

/// Returns the entry address and the mark of a program, or `None` if it is not a runtime.
fn entry_and_mark(bytes: &[u8]) -> object::read::Result<Option<(u64, &[u8])>> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    if header.e_machine(endian) != EM_RISCV {
        return Ok(None);
    }
    let sections = header.sections(endian, bytes)?;
    let Some((_, section)) = sections.section_by_name(endian, MARK_SECTION.as_bytes()) else {
        return Ok(None);
    };
    Ok(Some((header.e_entry(endian), section.data(endian, bytes)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_runtime_is_distinguished_from_an_older_runtime() {
        for bytes in [&b"hello"[..], b"", &[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0]] {
            assert!(check(bytes).unwrap_err().to_string().contains("not the enclave's runtime"));
        }
        // The test binary is a program for another machine.
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(check(&own).unwrap_err().to_string().contains("not the enclave's runtime"));
        check(&runtime(MARK)).unwrap();
        let mut older = MARK;
        older[MARK.len() - 1] = b'0';
        assert!(check(&runtime(older)).unwrap_err().to_string().contains("another version"));
        let mut elsewhere = runtime(MARK);
        elsewhere[24..32].copy_from_slice(&(RUNTIME_START + 4).to_le_bytes());
        assert!(check(&elsewhere).is_err());
    }

    /// Returns a file with only a header, the mark and the names of sections.
    fn runtime(mark: [u8; MARK.len()]) -> Vec<u8> {
        let names = [b"\0", MARK_SECTION.as_bytes(), b"\0"].concat();
        let mark_at = 64;
        let names_at = mark_at + mark.len();
        let table_at = (names_at + names.len()).next_multiple_of(8);
        let mut bytes = vec![0; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        let mut put = |at: usize, value: u64, length: usize| {
            bytes[at..at + length].copy_from_slice(&value.to_le_bytes()[..length]);
        };
        for (at, value, length) in [
            (16, 2, 2),
            (18, EM_RISCV.0.into(), 2),
            (20, 1, 4),
            (24, RUNTIME_START, 8),
            (40, table_at as u64, 8),
            (52, 64, 2),
            (58, 64, 2),
            (60, 3, 2),
            (62, 2, 2),
        ] {
            put(at, value, length);
        }
        bytes.extend(mark);
        bytes.extend(&names);
        bytes.resize(table_at, 0);
        // Name, kind, place and length: none, the mark, the names.
        for (name, kind, at, length) in
            [(0u32, 0u32, 0, 0), (1, 1, mark_at, mark.len()), (0, 3, names_at, names.len())]
        {
            let mut section = [0; 64];
            section[..4].copy_from_slice(&name.to_le_bytes());
            section[4..8].copy_from_slice(&kind.to_le_bytes());
            section[24..32].copy_from_slice(&(at as u64).to_le_bytes());
            section[32..40].copy_from_slice(&(length as u64).to_le_bytes());
            bytes.extend(section);
        }
        bytes
    }
}
