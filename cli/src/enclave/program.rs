//! The program for the enclave: found unfit before a machine is started for it.

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
    /// The file cannot be read, is no program, is for another processor, or needs a loader.
    pub fn read(file: &Path) -> Result<Self> {
        ensure!(!file.as_os_str().is_empty(), "the program's name is empty: name a file");
        let name = file.display();
        let bytes = read_file(file, MAX_PACKAGE_BYTES).with_context(|| format!("{name} cannot be read"))?;
        check(&bytes).with_context(|| format!("{name} cannot run in the enclave"))?;
        Ok(Image(bytes))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The advice to those whose program is none for the enclave.
const HOW: &str = "build it with `riscv64-linux-gnu-gcc -static`, or with `cargo build --target \
                   riscv64gc-unknown-linux-gnu` and `-C target-feature=+crt-static`";

fn check(bytes: &[u8]) -> Result<()> {
    if bytes.starts_with(b"#!") {
        bail!("it is a script: name its interpreter, as a static program for RISC-V");
    }
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => bail!("it is a program for 32 bits, and the machine has 64: {HOW}"),
        _ => bail!("it is no ELF program: {HOW}"),
    }
    let whole = "it is an ELF program that is cut short or damaged";
    let header = FileHeader64::<Endianness>::parse(bytes).context(whole)?;
    let endian = header.endian().context(whole)?;
    let machine = header.e_machine(endian);
    if machine != EM_RISCV || header.e_ident().class != ELFCLASS64 {
        bail!("it is made for another processor than RISC-V: {HOW}");
    }
    let segments = header.program_headers(endian, bytes).context(whole)?;
    if segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP) {
        bail!("it is linked dynamically, and the enclave has no libraries to load: {HOW}");
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
    fn each_unfit_program_is_refused_for_its_own_reason() {
        check(&program(243, 1)).unwrap();
        for (bytes, reason) in [
            (b"#!/bin/sh\n".to_vec(), "script"),
            (b"hello".to_vec(), "no ELF program"),
            (Vec::new(), "no ELF program"),
            (program(62, 1), "another processor"),
            (program(243, 3), "dynamically"),
            (program(243, 1)[..80].to_vec(), "cut short"),
        ] {
            let error = check(&bytes).unwrap_err().to_string();
            assert!(error.contains(reason), "{reason}: {error}");
        }
        let mut of_32_bits = program(243, 1);
        of_32_bits[4] = 1;
        assert!(check(&of_32_bits).unwrap_err().to_string().contains("32 bits"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = format!("{:#}", Image::read(Path::new("/nowhere/at-all")).unwrap_err());
        assert!(error.contains("/nowhere/at-all") && error.contains("No such file"), "{error}");
    }
}
