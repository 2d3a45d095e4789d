//! Tests of other simulators' formats. The files have the layout of the tools' own.

use super::super::format::{Format, detect};
use super::super::{FileError, Kind, Miss, WrittenFormat, convert, open};
use crate::units::{LINE_BYTES, Line};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

/// A trace that the protobuf library encoded: ReadSharedReq, WritebackDirty, ReadExReq, CleanEvict, and a ReadReq
/// across two lines.
const GEM5_PACKETS: &str = "67656d35250a0e73797374656d2e6d6f6e69746f721880a094a58d1d220c080112086370752e64617461\
    1108e807101918c0808080082040280030011108d00f100718c0818080082040280030021708fafb0110161880a08080082040288002300\
    3388088041208c0b802100a18c0808080082040280030041208d08603100118bc80808008200828003005";

/// An elastic trace of the same library: a computation, a load, a store to the same line, and a store across two lines.
const GEM5_ELASTIC: &str = "67656d35230a1873797374656d2e6370752e74726163654c697374656e65721880a094a58d1d20030d080110\
    0338b442480150c4960217080310011890de6a2004284a38f4034002480150cc96021b080610021890de6a2004284a300338e80740044005\
    480350d296021a0808100218fedd6a2004284a3006300338004007480250d69602";

/// A trace of Ramulator in two lines, as `xz --check=crc32` packs it.
const XZ: &str = "fd377a585a0000016922de360200210116000000742fe5a301001e332032303733343031360a3120323038343634303020323038\
    34313238300a0000cc7dc3310001331feedde5599042990d010000000001595a";

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// A record of ChampSim.
fn instruction(loads: [u64; 4], stores: [u64; 2]) -> [u8; 64] {
    let mut record = [0; 64];
    record[..8].copy_from_slice(&0x40_1a2e_u64.to_le_bytes());
    for (place, address) in
        record[16..].as_chunks_mut::<8>().0.iter_mut().zip(stores.into_iter().chain(loads))
    {
        *place = address.to_le_bytes();
    }
    record
}

/// A file with these bytes.
fn file(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("some.trace");
    fs::write(&path, bytes).unwrap();
    path
}

fn read(bytes: &[u8], format: Option<Format>) -> Result<(Format, Vec<Miss>), FileError> {
    let folder = tempfile::tempdir().unwrap();
    let trace = open(file(&folder, bytes), format)?;
    Ok((trace.format(), trace.collect::<Result<_, _>>()?))
}

fn message(bytes: &[u8], format: Option<Format>) -> String {
    read(bytes, format).unwrap_err().to_string()
}

fn load(instructions: u32, address: u64) -> Miss {
    Miss { instructions, kind: Kind::Load, line: Line(address / LINE_BYTES) }
}

fn store(instructions: u32, address: u64) -> Miss {
    Miss { kind: Kind::Store, ..load(instructions, address) }
}

#[test]
fn a_text_of_each_simulator_is_detected_and_read() {
    for (text, format, expected) in [
        (
            "0x7f00a1c0 READ 12\n0x7F00B240 WRITE 40\n7f00b280 READ 41\n",
            Format::DramSim3,
            vec![load(0, 0x7f00_a1c0), store(111, 0x7f00_b240), load(3, 0x7f00_b280)],
        ),
        (
            "0x1234ABC0 P_MEM_RD 100\r\n0x40 P_MEM_WR 101\r\n0x80 BOFF 101\r\n0xC0 P_FETCH 102\n",
            Format::DramSim2,
            vec![load(0, 0x1234_abc0), store(3, 0x40), store(0, 0x80), load(3, 0xc0)],
        ),
        ("0x40 IFETCH 1\n0x80 READ 2\n", Format::DramSim2, vec![load(0, 0x40), load(3, 0x80)]),
        (
            "0x40 write\n0x80 write 00ff00ff\n0x40 read\n",
            Format::DramSim2,
            vec![store(0, 0x40), store(0, 0x80), load(0, 0x40)],
        ),
        (
            "3 20734016\n1 20846400 20841280\n6 0x40\n",
            Format::RamulatorCpu,
            vec![load(3, 20_734_016), load(1, 20_846_400), store(0, 20_841_280), load(6, 0x40)],
        ),
        (
            "\n0x12345680 R\n0x4cbd56c0 W\n0x40\n",
            Format::RamulatorMemory,
            vec![load(0, 0x1234_5680), store(0, 0x4cbd_56c0), load(0, 0x40)],
        ),
        (
            "LD 0x100000\nST 1115840\nLD 0x40 8\nST 0x80 2 7 9\n",
            Format::RamulatorLoadStore,
            vec![load(0, 0x10_0000), store(0, 1_115_840), load(0, 0x40), store(0, 0x80)],
        ),
        (
            "r,64,64,1000,3125\n7,w,128,8,0,6250,4198\nr,60,8,9375\n",
            Format::Gem5Text,
            vec![load(0, 64), store(9, 128), load(9, 0), load(0, 64)],
        ),
        (
            "1,35652,1,COMP,8500::\n3,35660,2,LOAD,1748752,4,74,500:,2:\n6,35666,1,STORE,1748752,4,74,0:,3:,4,5\n\
             8,35670,STORE,1748734,4,74,0:,6,3:,7\n",
            Format::Gem5Text,
            vec![load(2, 1_748_752), store(1, 1_748_734)],
        ),
        (
            "12 R 0x7f00a1c0 0x401a2e\n3 W 0x7f00b240\n",
            Format::Usimm,
            vec![load(12, 0x7f00_a1c0), store(3, 0x7f00_b240)],
        ),
    ] {
        let (found, misses) = read(text.as_bytes(), None).unwrap();
        assert_eq!((found, misses), (format, expected.clone()), "{text}");
        let named = read(text.as_bytes(), Some(format.to_string().parse().unwrap())).unwrap();
        assert_eq!(named.1, expected);
    }
}

#[test]
fn every_access_of_champsim_s_instructions_goes_through_a_first_level_cache() {
    let far = 128 << 10;
    let records = [
        instruction([0; 4], [0; 2]),
        instruction([0x7f00_a1c0, 0x7f00_a1f8, 0, 0], [0x7f00_a1c8, 0]),
        instruction([0; 4], [0; 2]),
        // Both of its other lines are in the set of the first one, which leaves dirty.
        instruction([0x7f00_a1c0 + far, 0x7f00_a1c0 + 2 * far, 0, 0], [0; 2]),
    ];
    let (format, misses) = read(&records.concat(), None).unwrap();
    let expected = [
        load(1, 0x7f00_a1c0),
        load(1, 0x7f00_a1c0 + far),
        load(0, 0x7f00_a1c0 + 2 * far),
        store(0, 0x7f00_a1c0),
    ];
    assert_eq!((format, misses), (Format::ChampSim, expected.into()));
}

#[test]
fn gem5_s_own_files_are_read_as_its_scripts_would_print_them() {
    let (format, misses) = read(&hex(GEM5_PACKETS), None).unwrap();
    // 312.5 ticks are a cycle: 3, 6, 103, 128 and 160.
    let expected = [
        load(0, 0x8000_0040),
        store(2, 0x8000_00c0),
        store(96, 0x8000_1000),
        load(56, 0x8000_003c),
        load(0, 0x8000_0040),
    ];
    assert_eq!((format, misses), (Format::Gem5, expected.into()));
    let (format, misses) = read(&hex(GEM5_ELASTIC), None).unwrap();
    // The first store stands for three instructions, and the second store stands for two. One instruction hits.
    assert_eq!((format, misses), (Format::Gem5, vec![load(1, 1_748_752), store(4, 1_748_734)]));
}

#[test]
fn a_compressed_trace_is_read_as_it_was_before_and_the_lab_writes_it_in_its_own_format() {
    let expected = vec![load(3, 20_734_016), load(1, 20_846_400), store(0, 20_841_280)];
    assert_eq!(read(&hex(XZ), None).unwrap(), (Format::RamulatorCpu, expected.clone()));
    let packed = |text: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    };
    // A gzip of two parts, as `cat` makes one of two files.
    let gzip = [packed(b"3 20734016\n1 208"), packed(b"46400 20841280\n")].concat();
    assert_eq!(read(&gzip, None).unwrap(), (Format::RamulatorCpu, expected.clone()));
    assert_eq!(read(&packed(&hex(GEM5_PACKETS)), None).unwrap().1.len(), 5);
    let folder = tempfile::tempdir().unwrap();
    let (from, into) = (file(&folder, &gzip), folder.path().join("own.trace"));
    assert_eq!(convert(&from, &into, WrittenFormat::Packed).unwrap(), 3);
    let own = open(into, None).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(own, expected);
}

#[test]
fn a_cut_or_foreign_compression_is_one_error_with_what_to_do() {
    for (bytes, why) in [
        (&hex(XZ)[..60], "what xz packed cannot be unpacked"),
        (b"\x1f\x8b\x08\0", "what gzip packed cannot be unpacked"),
        (b"\x28\xb5\x2f\xfd\x04\x58\x59", "it is compressed by zstd: unpack it first with unzstd"),
        (b"BZh91AY", "it is compressed by bzip2: unpack it first with bunzip2"),
    ] {
        assert!(message(bytes, None).contains(why), "{}", message(bytes, None));
    }
}

#[test]
fn what_several_formats_read_differently_is_refused_with_their_names() {
    let ambiguous = b"0x40 write 12\n0x80 read 20\n";
    let error = message(ambiguous, None);
    assert!(
        error.ends_with("may be of several formats: give --trace-format dramsim3 or dramsim2"),
        "{error}"
    );
    let named = |format| read(ambiguous, Some(format)).unwrap().1;
    assert_eq!(named(Format::DramSim3), [store(0, 0x40), load(31, 0x80)]);
    assert_eq!(named(Format::DramSim2), [store(0, 0x40), load(0, 0x80)]);
    let error = message(b"#!/bin/sh\n", None);
    assert!(error.contains("line 1 of the trace: \"#!/bin/sh\" is not the beginning of a trace"), "{error}");
    assert!(
        error.ends_with(
            "packed, usimm, champsim, gem5, gem5-text, dramsim3, dramsim2, ramulator-cpu, ramulator-memory, \
                             ramulator-load-store"
        ),
        "{error}"
    );
    assert!("gem6".parse::<Format>().unwrap_err().starts_with("choose packed, usimm"));
}

#[test]
fn a_wrong_line_of_any_format_is_reported_with_its_number_and_what_to_write() {
    for (format, right, wrong, why) in [
        (Format::DramSim3, "0x40 READ 1", "0x40 RAED 2", "\"RAED\" is not a command: write READ or WRITE"),
        (Format::DramSim3, "0x40 READ 1", "0x40 READ", "is not a request: write for example"),
        (
            Format::DramSim3,
            "0x40 READ 1",
            "0x40 READ -1",
            "\"-1\" is not a cycle: write 0 to 18446744073709551615",
        ),
        (
            Format::DramSim3,
            "0x40 READ 1",
            "0xg READ 1",
            "\"0xg\" is not an address of 64 bits in hexadecimal",
        ),
        (Format::DramSim2, "0x40 write", "0x40 write 0x12", "\"0x12\" is not data in hexadecimal"),
        (Format::RamulatorCpu, "1 64", "1 64 128 3", "is not a request: write for example \"3 20734016\""),
        (
            Format::RamulatorCpu,
            "1 64",
            "4294967296 64",
            "not a number of instructions: write 0 to 4294967295",
        ),
        (Format::RamulatorCpu, "1 64", "1 6e4", "\"6e4\" is not an address of 64 bits: write for example"),
        (Format::RamulatorMemory, "0x40 R", "0x40 X", "is not a request: write for example \"0x12345680 R\""),
        (
            Format::RamulatorMemory,
            "0x40 R",
            "R 0,0,1,2,3",
            "an address vector of Ramulator 2's read-write trace",
        ),
        (
            Format::RamulatorLoadStore,
            "LD 0x40",
            "PF 0x40",
            "is not a request: write for example \"LD 0x100000\"",
        ),
        (Format::Gem5Text, "r,64,64,0,1", "r,64", "is not a packet: write for example"),
        (
            Format::Gem5Text,
            "r,64,64,0,1",
            "u,64,64,0,1",
            "give the file from which decode_packet_trace.py made it",
        ),
        (
            Format::Gem5Text,
            "r,64,64,0,1",
            "r,64,4294967295,0,1",
            "is more than a page, or beyond all addresses",
        ),
        (Format::Gem5Text, "r,64,64,0,1", "x,64,64,0,1", "\"x\" is not a command: write r or w"),
        (Format::Gem5Text, "1,2,1,COMP,8::", "1,2,1,LOAD,8::", "is not a record: write for example"),
        (Format::Gem5Text, "1,2,1,COMP,8::", "1,2,1,JUMP,8::", "is not a record: write for example"),
        (Format::Usimm, "1 R 0x40", "LD 0x40", "is not a miss: write for example"),
    ] {
        let text = format!("{right}\n\n{wrong}\n");
        assert_eq!(detect(text.as_bytes()).unwrap(), format, "{text}");
        let error = message(text.as_bytes(), Some(format));
        assert!(error.contains("some.trace: line 3 of the trace: ") && error.contains(why), "{error}");
    }
    let error = message(&[b"1 R 0x40\n", &[b'7'; 70_000][..]].concat(), None);
    assert!(error.contains("line 2 of the trace: it is longer than 65536 bytes: write"), "{error}");
}

#[test]
fn a_wrong_record_of_a_binary_trace_is_reported_with_its_number_and_byte_and_what_to_do() {
    let one = instruction([0x40, 0, 0, 0], [0; 2]);
    let mut wrong_flag = one;
    wrong_flag[9] = 2;
    let packets = hex(GEM5_PACKETS);
    let (first, second) = (4 + 38, 4 + 38 + 18);
    let changed = |at: usize, byte: u8| {
        let mut packets = packets.clone();
        packets[at] = byte;
        packets
    };
    for (format, bytes, place, why) in [
        (
            Format::ChampSim,
            [one, wrong_flag].concat(),
            "record 2 of the ChampSim trace (byte 64)",
            "a flag of its branch is 2",
        ),
        (
            Format::ChampSim,
            [&one[..], &one[..9]].concat(),
            "record 2 of the ChampSim trace (byte 64)",
            "it has 9 bytes in place of 64",
        ),
        (
            Format::Gem5,
            b"gem4".to_vec(),
            "the head of the gem5 trace (byte 0)",
            "does not begin with \"gem5\"",
        ),
        (Format::Gem5, b"gem5".to_vec(), "the head", "it is missing"),
        (Format::Gem5, b"gem5\x02\x18\0".to_vec(), "the head", "it has no number of ticks in a second"),
        (
            Format::Gem5,
            packets[..second - 1].to_vec(),
            "record 1 of the gem5 trace (byte 42)",
            "the file ends before it",
        ),
        (
            Format::Gem5,
            changed(first + 5, 2),
            "record 1 of",
            "its command 2 is not a read or write of memory",
        ),
        (Format::Gem5, changed(second, 0xff), "record 2 of the gem5 trace (byte 60)", ""),
        (
            Format::Gem5,
            changed(second + 1, 7),
            "record 2 of the gem5 trace (byte 60)",
            "it is not a message of protobuf",
        ),
        (Format::Gem5, changed(second + 1, 0x78), "record 2 of", "it has no tick, command or address"),
    ] {
        let error = message(&bytes, Some(format));
        assert!(error.contains(place) && error.contains(why), "{error}");
        assert!(
            error.ends_with(": copy the trace again, or give the right format by --trace-format"),
            "{error}"
        );
    }
    let error = message(&wrong_flag, None);
    assert!(error.contains("byte 1 is not text, and the file does not begin as a binary trace"), "{error}");
}

#[test]
fn fuzz_trace_of_any_format() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let headers = [&b""[..], b"gem5", &hex(GEM5_PACKETS)[..42], &hex(GEM5_ELASTIC)[..40], &hex(XZ)[..24]];
        for header in headers {
            let whole = [header, bytes].concat();
            for format in [
                None,
                Some(Format::Usimm),
                Some(Format::ChampSim),
                Some(Format::Gem5),
                Some(Format::Gem5Text),
                Some(Format::DramSim3),
                Some(Format::DramSim2),
                Some(Format::RamulatorCpu),
                Some(Format::RamulatorMemory),
                Some(Format::RamulatorLoadStore),
            ] {
                if let Ok((_, contents)) =
                    super::super::file::read_as(Box::new(std::io::Cursor::new(whole.clone())), format)
                {
                    let count = contents.misses.filter(|miss| miss.is_ok()).count();
                    // A line or record has at most a page of misses, each from a byte at least.
                    assert!(count <= 64 * whole.len());
                }
            }
        }
    });
}
