//! The program and the libraries that were loaded with it, as the loader describes them.

use crate::page::PAGE;
use libc::{Elf64_Phdr, Elf64_Sym, c_int, c_void, dl_phdr_info, size_t};
use std::ffi::CStr;
use std::ops::Range;
use std::slice;

/// The number of tags of the dynamic section, elf(5).
const DT_NEEDED: u64 = 1;
const DT_PLTRELSZ: u64 = 2;
const DT_PLTGOT: u64 = 3;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_SONAME: u64 = 14;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

/// The number of bytes of one relocation of a procedure linkage table, and of one of its entries.
const RELOCATION_BYTES: usize = 24;
const ENTRY_BYTES: usize = size_of::<usize>();

/// The number of entries of a procedure linkage table that are reserved for the loader.
const RESERVED_ENTRIES: usize = 3;

/// A program or library. It was loaded with the program, and so is never unloaded.
pub(crate) struct LoadedObject {
    base: usize,
    path: &'static CStr,
    headers: &'static [Elf64_Phdr],
    /// The tags and values of the dynamic section.
    dynamic: &'static [[u64; 2]],
}

/// All objects, the program first.
///
/// # Safety
/// The program has not begun: what was loaded then stays.
pub(crate) unsafe fn all() -> Vec<LoadedObject> {
    let mut found: Vec<LoadedObject> = Vec::new();
    // SAFETY: `note` is called before the call returns, with the vector.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

unsafe extern "C" fn note(info: *mut dl_phdr_info, _: size_t, found: *mut c_void) -> c_int {
    // SAFETY: the loader gives a valid description, whose parts stay as long as the object, and `all` a vector.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<LoadedObject>>()) };
    let base = info.dlpi_addr as usize;
    // SAFETY: there are that many headers; a name ends with zero.
    let (headers, path) = unsafe {
        let path = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
        (slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()), path)
    };
    let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC).map(|header| {
        let at = base.wrapping_add(header.p_vaddr as usize) as *const [u64; 2];
        // SAFETY: the loader has read the section there.
        unsafe { slice::from_raw_parts(at, header.p_memsz as usize / size_of::<[u64; 2]>()) }
    });
    found.push(LoadedObject { base, path, headers, dynamic: dynamic.unwrap_or_default() });
    0
}

impl LoadedObject {
    /// Returns whether an address lies in its code.
    pub(crate) fn has_code_at(&self, address: usize) -> bool {
        self.loads(libc::PF_X).any(|(span, _)| span.contains(&address))
    }

    /// The spans of whole pages that are writable at run time.
    pub(crate) fn variables(&self) -> Vec<Range<usize>> {
        // The loader has made this read-only, as far as it fills whole pages.
        let relro = self.headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO);
        let relro = relro.map(|header| self.span(header));
        let writable = self.loads(libc::PF_W).filter(|(_, rights)| rights & libc::PF_X == 0);
        let whole = writable.map(|(span, _)| {
            let mut whole = span.start & !(PAGE - 1)..span.end.next_multiple_of(PAGE);
            if let Some(relro) = relro.as_ref().filter(|relro| span.contains(&relro.start)) {
                whole.start = whole.start.max(relro.end & !(PAGE - 1));
            }
            whole
        });
        whole.filter(|whole| !whole.is_empty()).collect()
    }

    /// The table of its calls' targets, in whole pages.
    pub(crate) fn linkage_table(&self) -> Range<usize> {
        let Some(at) = self.address(DT_PLTGOT) else { return 0..0 };
        let entries = RESERVED_ENTRIES + self.value(DT_PLTRELSZ).unwrap_or(0) as usize / RELOCATION_BYTES;
        at & !(PAGE - 1)..(at + entries * ENTRY_BYTES).next_multiple_of(PAGE)
    }

    /// The names of the libraries that the object needs.
    pub(crate) fn needed(&self) -> impl Iterator<Item = &'static CStr> {
        let needed =
            self.dynamic.iter().take_while(|[tag, _]| *tag != 0).filter(|[tag, _]| *tag == DT_NEEDED);
        needed.filter_map(|[_, offset]| self.text(*offset as usize))
    }

    /// Returns whether a library name means this one.
    pub(crate) fn is_called(&self, name: &CStr) -> bool {
        let file = self.path.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let own_name = self.value(DT_SONAME).and_then(|offset| self.text(offset as usize));
        own_name == Some(name) || file == name.to_bytes()
    }

    /// The names of its undefined symbols.
    pub(crate) fn imports(&self) -> impl Iterator<Item = &'static CStr> {
        let outside = self.symbols().iter().skip(1).filter(|symbol| symbol.st_shndx == 0);
        outside.filter_map(|symbol| self.text(symbol.st_name as usize))
    }

    fn span(&self, header: &Elf64_Phdr) -> Range<usize> {
        let first = self.base.wrapping_add(header.p_vaddr as usize);
        first..first + header.p_memsz as usize
    }

    /// The loaded spans with these rights.
    fn loads(&self, rights: u32) -> impl Iterator<Item = (Range<usize>, u32)> {
        let loads = self
            .headers
            .iter()
            .filter(move |header| header.p_type == libc::PT_LOAD && header.p_flags & rights == rights);
        loads.map(|header| (self.span(header), header.p_flags))
    }

    fn value(&self, wanted: u64) -> Option<u64> {
        let mut entries = self.dynamic.iter().take_while(|[tag, _]| *tag != 0);
        entries.find_map(|[tag, value]| (*tag == wanted).then_some(*value))
    }

    /// Some loaders write addresses back into the section, and some do not.
    fn address(&self, tag: u64) -> Option<usize> {
        let value = self.value(tag)? as usize;
        Some(if value < self.base { self.base + value } else { value })
    }

    fn text(&self, offset: usize) -> Option<&'static CStr> {
        let texts = self.address(DT_STRTAB)?;
        // SAFETY: the loader has read names there, each of which ends with zero.
        Some(unsafe { CStr::from_ptr((texts + offset) as *const libc::c_char) })
    }

    fn symbols(&self) -> &'static [Elf64_Sym] {
        let Some(at) = self.address(DT_SYMTAB) else { return &[] };
        // SAFETY: the loader looks names up in that table, which has this many entries.
        unsafe { slice::from_raw_parts(at as *const Elf64_Sym, self.symbol_count()) }
    }

    /// The section has no entry for it, but both kinds of hash table do.
    fn symbol_count(&self) -> usize {
        if let Some(at) = self.address(DT_HASH) {
            // SAFETY: the second word of such a table is the number of symbols.
            return unsafe { *(at as *const u32).add(1) } as usize;
        }
        let Some(at) = self.address(DT_GNU_HASH) else { return 0 };
        let at = at as *const u32;
        // SAFETY: the table has a header of four words, and a filter of words of eight bytes. Then it has the first
        // symbol of each bucket, and a word for each symbol from the first indexed one on. The lowest bit of a word
        // ends a bucket.
        unsafe {
            let (buckets, first, filter) = (*at as usize, *at.add(1) as usize, *at.add(2) as usize);
            let firsts = at.add(4 + 2 * filter);
            let chains = firsts.add(buckets);
            let last = slice::from_raw_parts(firsts, buckets).iter().copied().max().unwrap_or(0) as usize;
            if last < first {
                return first;
            }
            let mut last = last;
            while *chains.add(last - first) & 1 == 0 {
                last += 1;
            }
            last + 1
        }
    }
}
