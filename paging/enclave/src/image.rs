//! The plan for loading a program's file: a static ELF executable for 64-bit RISC-V.

use crate::access::Access;
use crate::layout::{PAGE, POSITION_INDEPENDENT_BASE, is_free_for_programs, page_of};
use alloc::vec::Vec;
use core::ops::Range;
use object::LittleEndian;
use object::elf::{
    EM_RISCV, ET_DYN, ET_EXEC, FileHeader64, PF_R, PF_W, PF_X, PT_INTERP, PT_LOAD, ProgramHeader64,
};
use object::read::elf::{FileHeader, ProgramHeader};

type Elf = FileHeader64<LittleEndian>;
type Header = ProgramHeader64<LittleEndian>;

/// The maximum number of segments of a program. Linkers make only a few.
const MAX_SEGMENTS: usize = 128;

/// A program to be loaded.
#[derive(Debug)]
pub struct Image<'a> {
    /// The segments with contents, in the order of their addresses.
    pub segments: Vec<Segment<'a>>,
    /// The pages of the segments by number, each once, with access rights.
    pub areas: Vec<(Range<u64>, Access)>,
    /// The address of the first instruction.
    pub entry: u64,
    /// The address of the program headers; 0 if they are not loaded.
    pub headers: u64,
    /// The number of program headers.
    pub header_count: u64,
    /// The first address after the image.
    pub end: u64,
}

/// A part of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The segment's address.
    pub start: u64,
    /// The bytes in the file. The rest are zeros.
    pub contents: &'a [u8],
}

/// The reason why a file cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// No ELF file, or one that is cut off.
    #[error("the program is not an ELF executable, or its file is damaged")]
    NotElf,
    /// The program is for another machine.
    #[error("the program is not for 64-bit little-endian RISC-V")]
    Machine,
    /// An object file or a core dump.
    #[error("the ELF file is not an executable")]
    Kind,
    /// A program that needs a dynamic linker.
    #[error("the program is linked dynamically: link it statically (cc -static)")]
    Dynamic,
    /// A forbidden address.
    #[error("the runtime does not allow a program at address {0:#x}")]
    Address(u64),
    /// Overlapping segments, or too many.
    #[error("the program's segments overlap, are out of order, or are too many")]
    Segments,
    /// No segment.
    #[error("the program has nothing to load")]
    Empty,
}

impl<'a> Image<'a> {
    /// Makes the plan. `kernel` are the addresses that are reserved for the runtime.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn plan(file: &'a [u8], kernel: &Range<u64>) -> Result<Self, ImageError> {
        let (elf, headers) = headers(file)?;
        let base = match elf.e_type(LittleEndian) {
            ET_EXEC => 0,
            ET_DYN => POSITION_INDEPENDENT_BASE,
            _ => return Err(ImageError::Kind),
        };
        if headers.iter().any(|header| header.p_type(LittleEndian) == PT_INTERP) {
            return Err(ImageError::Dynamic);
        }
        let mut image = Image {
            segments: Vec::new(),
            areas: Vec::new(),
            entry: elf.e_entry(LittleEndian).wrapping_add(base),
            headers: 0,
            header_count: headers.len() as u64,
            end: 0,
        };
        for header in headers.iter().filter(|header| header.p_type(LittleEndian) == PT_LOAD) {
            image.add(header, file, base, kernel, elf.e_phoff(LittleEndian))?;
        }
        let entry = page_of(image.entry);
        match image.areas.iter().find(|(pages, _)| pages.contains(&entry)) {
            _ if image.areas.is_empty() => Err(ImageError::Empty),
            Some((_, access)) if access.executes() => Ok(image),
            _ => Err(ImageError::Address(image.entry)),
        }
    }

    fn add(
        &mut self,
        header: &Header,
        file: &'a [u8],
        base: u64,
        kernel: &Range<u64>,
        headers_at: u64,
    ) -> Result<(), ImageError> {
        let contents = header.data(LittleEndian, file).map_err(|()| ImageError::NotElf)?;
        let start = header.p_vaddr(LittleEndian).wrapping_add(base);
        let bytes = header.p_memsz(LittleEndian);
        let end = start.checked_add(bytes).ok_or(ImageError::Address(start))?;
        if bytes == 0 {
            return Ok(());
        }
        if (contents.len() as u64) > bytes {
            return Err(ImageError::NotElf);
        }
        let pages = page_of(start)..page_of(end - 1) + 1;
        if !is_free_for_programs(&(pages.start * PAGE..pages.end * PAGE), kernel) {
            return Err(ImageError::Address(start));
        }
        if start < self.end || self.segments.len() == MAX_SEGMENTS {
            return Err(ImageError::Segments);
        }
        self.take(pages, access_of(header));
        let file_range = header.p_offset(LittleEndian)..header.p_offset(LittleEndian) + contents.len() as u64;
        if file_range.contains(&headers_at) {
            self.headers = start + (headers_at - file_range.start);
        }
        self.segments.push(Segment { start, contents });
        self.end = end;
        Ok(())
    }

    /// Adds pages to the areas. A page of two segments has the rights of both.
    fn take(&mut self, mut pages: Range<u64>, access: Access) {
        if let Some((last, of_last)) = self.areas.last_mut()
            && last.end > pages.start
        {
            let both = of_last.and(access);
            last.end -= 1;
            let is_gone = last.is_empty();
            if is_gone {
                self.areas.pop();
            }
            self.areas.push((pages.start..pages.start + 1, both));
            pages.start += 1;
        }
        if !pages.is_empty() {
            self.areas.push((pages, access));
        }
    }
}

/// The file's header and its program headers.
fn headers(file: &[u8]) -> Result<(&Elf, &[Header]), ImageError> {
    let elf = Elf::parse(file).map_err(|_| match file {
        [0x7f, b'E', b'L', b'F', ..] if file.len() >= size_of::<Elf>() => ImageError::Machine,
        _ => ImageError::NotElf,
    })?;
    elf.endian().map_err(|_| ImageError::Machine)?;
    if elf.e_machine(LittleEndian) != EM_RISCV {
        return Err(ImageError::Machine);
    }
    let headers = elf.program_headers(LittleEndian, file).map_err(|_| ImageError::NotElf)?;
    Ok((elf, headers))
}

fn access_of(header: &Header) -> Access {
    let flags = header.p_flags(LittleEndian);
    let bit = |flag, bit| if flags.contains(flag) { bit } else { 0 };
    // As the flags of `mmap` number them.
    Access::of(bit(PF_R, 1) | bit(PF_W, 2) | bit(PF_X, 4)).unwrap_or(Access::NONE)
}
