//! The plan for loading a file.

use ameles_enclave::access::Access;
use ameles_enclave::image::{Image, ImageError, Segment};
use ameles_enclave::layout::kernel;

const HEADERS_AT: usize = 64;
const HEADER_BYTES: usize = 56;

/// A segment of a test's file: kind, rights, address, bytes in memory, contents.
type Part<'a> = (u32, u32, u64, u64, &'a [u8]);

/// An ELF file.
fn elf(kind: u16, machine: u16, entry: u64, parts: &[Part<'_>]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(kind.to_le_bytes());
    file.extend(machine.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    file.extend(entry.to_le_bytes());
    file.extend((HEADERS_AT as u64).to_le_bytes());
    file.extend(0u64.to_le_bytes());
    file.extend(0u32.to_le_bytes());
    file.extend([64u16, HEADER_BYTES as u16, parts.len() as u16, 64, 0, 0].map(u16::to_le_bytes).concat());
    let mut at = HEADERS_AT + parts.len() * HEADER_BYTES;
    let mut contents = Vec::new();
    for (kind, rights, address, bytes, content) in parts {
        file.extend(kind.to_le_bytes());
        file.extend(rights.to_le_bytes());
        let words = [at as u64, *address, *address, content.len() as u64, *bytes, 0x1000];
        file.extend(words.map(u64::to_le_bytes).concat());
        contents.extend_from_slice(content);
        at += content.len();
    }
    file.extend(contents);
    file
}

const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
const READ_EXECUTE: u32 = 5;
const READ_WRITE: u32 = 6;
const EXECUTABLE: u16 = 2;
const ANYWHERE: u16 = 3;
const RISCV: u16 = 243;

fn plan(file: &[u8]) -> Result<Image<'_>, ImageError> {
    Image::plan(file, &kernel(64 << 20))
}

const TEXT: Part<'_> = (LOAD, READ_EXECUTE, 0x10000, 4, b"text");

#[test]
fn a_static_program_becomes_its_segments_with_their_rights() {
    let data: Part<'_> = (LOAD, READ_WRITE, 0x20ff0, 0x2000, b"data");
    let file = elf(EXECUTABLE, RISCV, 0x10002, &[TEXT, data]);
    let image = plan(&file).unwrap();
    let segments =
        [Segment { start: 0x10000, contents: b"text" }, Segment { start: 0x20ff0, contents: b"data" }];
    assert_eq!(image.segments, segments);
    let execute = Access::of(5).unwrap();
    assert_eq!(image.areas, [(0x10..0x11, execute), (0x20..0x23, Access::READ_WRITE)]);
    assert_eq!((image.entry, image.end, image.header_count), (0x10002, 0x22ff0, 2));
}

#[test]
fn a_page_that_two_segments_share_has_the_rights_of_both() {
    let data: Part<'_> = (LOAD, READ_WRITE, 0x10800, 0x1000, b"data");
    let file = elf(EXECUTABLE, RISCV, 0x10000, &[TEXT, data]);
    let both = Access::of(7).unwrap();
    assert_eq!(plan(&file).unwrap().areas, [(0x10..0x11, both), (0x11..0x12, Access::READ_WRITE)]);
}

#[test]
fn a_program_that_lies_anywhere_is_put_somewhere() {
    let text: Part<'_> = (LOAD, READ_EXECUTE, 0, 4, b"text");
    let image_of = elf(ANYWHERE, RISCV, 2, &[text]);
    assert_eq!(plan(&image_of).unwrap().entry, 0x10002);
}

#[test]
fn files_that_cannot_be_run_are_refused_each_with_its_reason() {
    let of = |kind, machine, entry, parts: &[Part<'_>]| plan(&elf(kind, machine, entry, parts)).unwrap_err();
    let interpreter: Part<'_> = (INTERPRETER, 4, 0, 0, b"/lib/ld.so");
    assert_eq!(plan(b"#!/bin/sh\n").unwrap_err(), ImageError::NotElf);
    assert_eq!(of(EXECUTABLE, 62, 0x10000, &[TEXT]), ImageError::Machine);
    assert_eq!(of(1, RISCV, 0x10000, &[TEXT]), ImageError::Kind);
    assert_eq!(of(ANYWHERE, RISCV, 0, &[interpreter, TEXT]), ImageError::Dynamic);
    assert_eq!(of(EXECUTABLE, RISCV, 0x10000, &[]), ImageError::Empty);
    // At the runtime's own addresses, at zero, across the end of addresses.
    for address in [0x8000_0000, 0x7fff_f000, 0, 0xfff, u64::MAX - 2] {
        let part: Part<'_> = (LOAD, READ_EXECUTE, address, 0x2000, b"text");
        assert_eq!(of(EXECUTABLE, RISCV, address, &[part]), ImageError::Address(address));
    }
    // The entry point is not executable.
    let data: Part<'_> = (LOAD, READ_WRITE, 0x20000, 4, b"data");
    assert_eq!(of(EXECUTABLE, RISCV, 0x20000, &[TEXT, data]), ImageError::Address(0x20000));
    assert_eq!(of(EXECUTABLE, RISCV, 0x30000, &[TEXT, data]), ImageError::Address(0x30000));
    assert_eq!(of(EXECUTABLE, RISCV, 0x10000, &[data, TEXT]), ImageError::Segments);
    let longer: Part<'_> = (LOAD, READ_EXECUTE, 0x10000, 3, b"text");
    assert_eq!(of(EXECUTABLE, RISCV, 0x10000, &[longer]), ImageError::NotElf);
}

#[test]
fn fuzz_image_plan() {
    let good = elf(EXECUTABLE, RISCV, 0x10000, &[TEXT, (LOAD, READ_WRITE, 0x20000, 0x2000, b"data")]);
    bolero::check!().for_each(move |bytes: &[u8]| {
        let _ = plan(bytes);
        // A valid file with changed bytes.
        let mut bent = good.clone();
        for change in bytes.chunks_exact(2) {
            let at = usize::from(change[0]) % bent.len();
            bent[at] = change[1];
        }
        if let Ok(image) = plan(&bent) {
            for (pages, _) in &image.areas {
                assert!(!pages.is_empty() && pages.start >= 1 && pages.end <= 0x8_0000);
            }
            assert!(image.areas.is_sorted_by(|(a, _), (b, _)| a.end <= b.start));
        }
    });
}
