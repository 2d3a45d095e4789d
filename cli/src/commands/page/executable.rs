//! Checks before a program starts that a library can be preloaded into it. A program without the library would run
//! unpaged.

use anyhow::{Result, bail};
use object::elf::{FileHeader32, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The bytes at the beginning of a file that hold its headers.
const HEAD_BYTES: u64 = 1 << 16;

/// The number of nested interpreters that the system follows.
const MAX_INTERPRETERS: usize = 4;

/// Refuses a program that would run unpaged. If that cannot be determined, the program is started.
///
/// # Errors
/// The program is linked statically, built for another processor, gets privileges, or is a script whose interpreter is
/// one of these or `env`.
pub(super) fn check(program: &OsStr, library: &Path) -> Result<()> {
    let Some(mut file) = find(program) else { return Ok(()) };
    for _ in 0..MAX_INTERPRETERS {
        let Some(head) = head(&file) else { return Ok(()) };
        let name = file.display();
        let Some(interpreter) = interpreter(&head) else {
            return check_binary(&file, &head, library);
        };
        if interpreter.file_name() == Some(OsStr::new("env")) {
            bail!(
                "{name} is a script that env starts, so env would be paged instead: put the interpreter before it, or name \
                 its program"
            );
        }
        file = interpreter;
    }
    Ok(())
}

/// Returns the file that the system would run.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let is_executable = |file: &PathBuf| {
        file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(is_executable)
}

fn head(file: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Returns the interpreter that a script names.
fn interpreter(script: &[u8]) -> Option<PathBuf> {
    let line = script.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let path = line.split(|byte| byte.is_ascii_whitespace()).next()?;
    Some(OsStr::from_bytes(path).into())
}

/// The properties that a library must share with the program that it is loaded into.
#[derive(PartialEq, Eq)]
struct Processor {
    kind: FileKind,
    machine: object::elf::Machine,
}

struct Binary {
    processor: Processor,
    /// True if the program has a loader, which preloads the library.
    is_dynamic: bool,
}

fn check_binary(file: &Path, head: &[u8], library: &Path) -> Result<()> {
    let Some(program) = binary(head) else { return Ok(()) };
    let name = file.display();
    if self::head(library)
        .and_then(|library| binary(&library))
        .is_some_and(|of| of.processor != program.processor)
    {
        bail!("{name} cannot be paged: it is built for another processor or word size than the library");
    }
    if !program.is_dynamic {
        bail!("{name} cannot be paged: it is linked statically, so no library can be preloaded into it");
    }
    if has_privileges(file) {
        bail!(
            "{name} cannot be paged: it gets privileges when it starts (setuid, setgid or capabilities), so the system \
             preloads nothing into it; run a copy of it, or run this command as its owner"
        );
    }
    Ok(())
}

fn binary(head: &[u8]) -> Option<Binary> {
    let kind = FileKind::parse(head).ok()?;
    match kind {
        FileKind::Elf64 => elf::<FileHeader64<Endianness>>(kind, head),
        FileKind::Elf32 => elf::<FileHeader32<Endianness>>(kind, head),
        _ => None,
    }
}

fn elf<H: FileHeader<Endian = Endianness>>(kind: FileKind, head: &[u8]) -> Option<Binary> {
    let header = H::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, head).ok()?;
    let is_dynamic = segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP);
    Some(Binary { processor: Processor { kind, machine: header.e_machine(endian) }, is_dynamic })
}

fn has_privileges(file: &Path) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    let mode = metadata.permissions().mode();
    let user = rustix::process::geteuid();
    let is_other_user = mode & 0o4000 != 0 && metadata.uid() != user.as_raw();
    let is_other_group = mode & 0o2000 != 0 && metadata.gid() != rustix::process::getegid().as_raw();
    let has_capabilities = rustix::fs::getxattr(file, "security.capability", &mut [0; 64]).is_ok();
    is_other_user || is_other_group || (has_capabilities && !user.is_root())
}
