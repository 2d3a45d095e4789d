//! The program for the enclave, checked before a machine starts.

use super::device_tree::MAX_PACKAGE_BYTES;
use super::file::read_file;
use anyhow::{Context, Result, bail, ensure};
use object::elf::{ELFCLASS64, EM_RISCV, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};
use std::path::Path;

/// A static program for 64-bit RISC-V.
#[derive(Clone, Debug)]
pub struct Image(Vec<u8>);

impl Image {
    /// Reads the program.
    ///
    /// # Errors
    /// The file cannot be read, is not a program, is for another processor, or needs a loader.
    pub fn read(file: &Path) -> Result<Self> {
        ensure!(!file.as_os_str().is_empty(), "the name of the program is empty: name a file");
        let name = file.display();
        let bytes = read_file(file, MAX_PACKAGE_BYTES).with_context(|| format!("{name} cannot be read"))?;
        check(&bytes).with_context(|| format!("{name} cannot run in the enclave"))?;
        Ok(Image(bytes))
    }

    /// Returns the bytes of the program.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The advice for a program that cannot run in the enclave.
const ADVICE: &str = "build it with `riscv64-linux-gnu-gcc -static`, or with `cargo build --target \
                   riscv64gc-unknown-linux-gnu` and `-C target-feature=+crt-static`";

fn check(bytes: &[u8]) -> Result<()> {
    if bytes.starts_with(b"#!") {
        bail!("it is a script: name its interpreter, built as a static program for RISC-V");
    }
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => bail!("it is a 32-bit program, and the machine has 64 bits: {ADVICE}"),
        _ => bail!("it is not an ELF program: {ADVICE}"),
    }
    let damaged = "it is a truncated or damaged ELF program";
    let header = FileHeader64::<Endianness>::parse(bytes).context(damaged)?;
    let endian = header.endian().context(damaged)?;
    let machine = header.e_machine(endian);
    if machine != EM_RISCV || header.e_ident().class != ELFCLASS64 {
        bail!("it is not built for RISC-V: {ADVICE}");
    }
    let segments = header.program_headers(endian, bytes).context(damaged)?;
    if segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP) {
        bail!("it is linked dynamically, and the enclave cannot load libraries: {ADVICE}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a program, and one segment.
    fn program(machine: u16, segment: u32) -> Vec<u8> {
        let mut bytes = vec![0; 120];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[16..18].copy_from_slice(&2u16.to_le_bytes());
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[20] = 1;
        bytes[32] = 64;
        bytes[52] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64..68].copy_from_slice(&segment.to_le_bytes());
        bytes
    }

    #[test]
    fn each_invalid_program_is_refused_with_its_reason() {
        check(&program(243, 1)).unwrap();
        for (bytes, reason) in [
            (b"#!/bin/sh\n".to_vec(), "script"),
            (b"hello".to_vec(), "not an ELF program"),
            (Vec::new(), "not an ELF program"),
            (program(62, 1), "not built for RISC-V"),
            (program(243, 3), "dynamically"),
            (program(243, 1)[..80].to_vec(), "truncated"),
        ] {
            let error = check(&bytes).unwrap_err().to_string();
            assert!(error.contains(reason), "{reason}: {error}");
        }
        let mut of_32_bits = program(243, 1);
        of_32_bits[4] = 1;
        assert!(check(&of_32_bits).unwrap_err().to_string().contains("32-bit"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = format!("{:#}", Image::read(Path::new("/nowhere/at-all")).unwrap_err());
        assert!(error.contains("/nowhere/at-all") && error.contains("No such file"), "{error}");
    }
}
