//! Tests of the formats of traces.

use super::*;
use crate::units::Line;
use proptest::prelude::*;

mod formats;

fn packed(misses: &[Miss]) -> Vec<u8> {
    let mut bytes = Vec::new();
    packed::write(misses.iter().copied(), &mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<Vec<Miss>, TraceError> {
    packed::read(bytes)?.collect()
}

fn text(text: &str) -> Result<Vec<Miss>, TraceError> {
    text::read(text.as_bytes()).collect()
}

fn misses() -> impl Strategy<Value = Vec<Miss>> {
    let miss = (any::<u32>(), any::<bool>(), 0..=MAX_LINE.0).prop_map(|(instructions, stores, line)| Miss {
        instructions,
        kind: if stores { Kind::Store } else { Kind::Load },
        line: Line(line),
    });
    prop::collection::vec(miss, 0..50)
}

proptest! {
    #[test]
    fn what_was_written_is_read_in_both_formats(misses in misses()) {
        prop_assert_eq!(read(&packed(&misses)).unwrap(), misses.clone());
        let mut written = Vec::new();
        text::write(misses.iter().copied(), &mut written).unwrap();
        prop_assert_eq!(text(std::str::from_utf8(&written).unwrap()).unwrap(), misses);
    }

    #[test]
    fn a_packed_trace_that_was_cut_or_changed_is_refused(misses in misses(), at in any::<prop::sample::Index>()) {
        let whole = packed(&misses);
        let at = at.index(whole.len());
        prop_assert!(read(&whole[..at]).is_err());
        // The last bytes of a gzip are the sum and the length of its content, and its first ones identify it.
        let mut changed = whole.clone();
        changed[at] ^= 0x80;
        if let Ok(found) = read(&changed) {
            prop_assert_eq!(found, misses, "a byte of the head that says nothing");
        }
    }
}

#[test]
fn a_line_of_usimm_is_read_with_its_program_counter_or_without() {
    let line = |instructions, kind, address: u64| Miss { instructions, kind, line: Line(address / 64) };
    let read = text("12 R 0x7f00a1c0 0x401a2e\n\n3 W 7f00b240\n0 R 0x40\n").unwrap();
    let expected =
        [line(12, Kind::Load, 0x7f00_a1c0), line(3, Kind::Store, 0x7f00_b240), line(0, Kind::Load, 0x40)];
    assert_eq!(read, expected);
}

#[test]
fn a_wrong_line_is_reported_with_its_number_and_what_to_write() {
    for (wrong, why) in [
        ("5 X 0x40", "write for example"),
        ("five R 0x40 0x0", "\"five\" is not a number of instructions"),
        ("4294967296 R 0x40 0x0", "not a number of instructions: write 0 to 4294967295"),
        ("5 R 0x4g 0x0", "\"0x4g\" is not an address of 64 bits in hexadecimal: write for example"),
        ("5 W 0x40 0x0", "write for example"),
        ("-1 W 0x40", "not a number of instructions"),
    ] {
        let error = text(&format!("1 W 0x40\n{wrong}\n")).unwrap_err().to_string();
        assert!(error.starts_with("line 2 of the trace") && error.contains(why), "{error}");
    }
}

#[test]
fn a_packed_trace_tells_its_warm_up_and_ends_after_it() {
    let written = |warm_up, misses: &[Miss]| {
        let mut bytes = Vec::new();
        let mut writer = packed::Writer::new(&mut bytes, warm_up).unwrap();
        misses.iter().for_each(|miss| writer.write(*miss).unwrap());
        writer.finish().unwrap();
        bytes
    };
    let miss = |instructions| Miss { instructions, kind: Kind::Load, line: Line(7) };
    let misses = [miss(0), miss(0), miss(3)];
    assert_eq!(packed::read(&written(2, &misses)[..]).unwrap().warm_up(), 2);
    assert_eq!(read(&written(2, &misses)).unwrap(), misses);
    for (warm_up, why) in [
        (3, "record 3 of the packed trace (byte 5 when unpacked): it warms the cache"),
        (4, "record 3"),
        (9, "record 3"),
    ] {
        let error = read(&written(warm_up, &misses)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let error = read(&written(2, &misses[..1])).unwrap_err().to_string();
    assert!(
        error.contains("record 2 of the packed trace (byte 3 when unpacked): it ends within its warm-up"),
        "{error}"
    );
}

#[test]
fn a_fault_of_a_packed_trace_is_reported_with_its_record_and_byte_and_what_to_do() {
    let miss =
        |line: u64| Miss { instructions: 300, kind: Kind::Load, line: Line(line * line * 12345 % 7919) };
    let whole = packed(&(0..20_000).map(miss).collect::<Vec<_>>());
    let said = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 0x55;
    let mut sum = whole.clone();
    sum[whole.len() - 8] ^= 1;
    let head = packed::MAGIC.len();
    for (bytes, place, why) in [
        (&whole[..whole.len() / 2], "record ", "the file ends before it"),
        // Before the sum at the end fails, a record is invalid.
        (&changed, "record ", ""),
        (&sum, "record 20001 of", "cannot be unpacked (corrupt gzip stream"),
        (&whole[..head], "the head of", "the file ends before it"),
        (
            &[packed::MAGIC, &b"no gzip, but a text"[..]].concat(),
            "the head of",
            "cannot be unpacked (invalid",
        ),
    ] {
        let error = said(bytes);
        assert!(error.starts_with(place) && error.contains("the packed trace (byte "), "{error}");
        assert!(
            error.contains(why) && error.ends_with(": copy the trace again, or record it again"),
            "{error}"
        );
    }
    assert!(!said(&changed).starts_with("record 1 "), "{}", said(&changed));
}

#[test]
fn something_else_is_no_packed_trace() {
    for bytes in [&b""[..], b"ameles", b"1 R 0x40 0x0\n2 W 0x80\n"] {
        assert!(matches!(read(bytes), Err(TraceError::Foreign)));
    }
}

#[test]
fn fuzz_packed_trace() {
    bolero::check!().for_each(|bytes: &[u8]| {
        // The bytes are read as they are, and after the magic, so that what follows it is reached: plain, and
        // compressed.
        let mut records = packed::MAGIC.to_vec();
        let mut gzip = flate2::write::GzEncoder::new(&mut records, flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, bytes).unwrap();
        gzip.finish().unwrap();
        for bytes in [bytes, &[packed::MAGIC, bytes].concat(), &records] {
            if let Ok(found) = read(bytes) {
                assert_eq!(read(&packed(&found)).unwrap(), found);
            }
        }
    });
}

#[test]
fn fuzz_text_trace() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let _ = text::read(bytes).collect::<Result<Vec<_>, _>>();
    });
}
