//! Digests of bodies: MD5 for the ETag, and the checksums that S3 clients send along.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crc_fast::CrcAlgorithm;
use md5::Md5;
use minicbor::{Decode, Encode};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A checksum algorithm of S3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Algorithm {
    /// CRC-32 (ISO-HDLC).
    #[n(0)]
    Crc32,
    /// CRC-32C (Castagnoli).
    #[n(1)]
    Crc32c,
    /// CRC-64/NVME.
    #[n(2)]
    Crc64Nvme,
    /// SHA-1.
    #[n(3)]
    Sha1,
    /// SHA-256.
    #[n(4)]
    Sha256,
}

/// The bytes that the checksum of an object in parts covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Coverage {
    /// All bytes of the object.
    #[n(0)]
    FullObject,
    /// The checksums of its parts, concatenated.
    #[n(1)]
    Composite,
}

/// A checksum as S3 writes it: base64, followed by `-N` if it covers the checksums of N parts.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Checksum {
    /// The algorithm.
    #[n(0)]
    pub algorithm: Algorithm,
    /// The bytes that the checksum covers.
    #[n(1)]
    pub coverage: Coverage,
    /// Base64 text.
    #[n(2)]
    pub value: String,
}

impl Checksum {
    pub(crate) fn new(algorithm: Algorithm, coverage: Coverage, bytes: &[u8]) -> Self {
        Checksum { algorithm, coverage, value: BASE64.encode(bytes) }
    }

    /// Returns the checksum's bytes, if its text is valid.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        BASE64.decode(self.value.split('-').next().unwrap_or_default()).ok()
    }

    /// Returns the same checksum without the number of parts.
    pub(crate) fn without_count(&self) -> Self {
        let value = self.value.split('-').next().unwrap_or_default().to_owned();
        Checksum { value, ..self.clone() }
    }

    /// Returns whether this text is the same checksum. S3 allows clients to omit the number of parts.
    pub(crate) fn is(&self, value: &str) -> bool {
        self.value == value || self.value.split_once('-').is_some_and(|(digest, _)| digest == value)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 5] =
        [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64Nvme, Algorithm::Sha1, Algorithm::Sha256];

    /// Returns S3's name of the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Crc32 => "CRC32",
            Algorithm::Crc32c => "CRC32C",
            Algorithm::Crc64Nvme => "CRC64NVME",
            Algorithm::Sha1 => "SHA1",
            Algorithm::Sha256 => "SHA256",
        }
    }

    /// Returns S3's coverage for an upload in parts that requests none.
    pub fn default_coverage(self) -> Coverage {
        match self {
            Algorithm::Crc64Nvme => Coverage::FullObject,
            _ => Coverage::Composite,
        }
    }

    /// Returns the length of a checksum in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Algorithm::Crc32 | Algorithm::Crc32c => 4,
            Algorithm::Crc64Nvme => 8,
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 => 32,
        }
    }

    /// Returns whether the checksums of parts can be combined so.
    pub fn allows(self, coverage: Coverage) -> bool {
        match self {
            Algorithm::Crc32 | Algorithm::Crc32c => true,
            Algorithm::Crc64Nvme => coverage == Coverage::FullObject,
            Algorithm::Sha1 | Algorithm::Sha256 => coverage == Coverage::Composite,
        }
    }

    fn crc(self) -> Option<CrcAlgorithm> {
        match self {
            Algorithm::Crc32 => Some(CrcAlgorithm::Crc32IsoHdlc),
            Algorithm::Crc32c => Some(CrcAlgorithm::Crc32Iscsi),
            Algorithm::Crc64Nvme => Some(CrcAlgorithm::Crc64Nvme),
            Algorithm::Sha1 | Algorithm::Sha256 => None,
        }
    }

    pub(crate) fn crc_bytes(self, crc: u64) -> Vec<u8> {
        let bytes = crc.to_be_bytes();
        match self {
            Algorithm::Crc64Nvme => bytes.to_vec(),
            _ => bytes[4..].to_vec(),
        }
    }
}

/// Computes the MD5 of a body, its CRC64NVME, and at most one more checksum.
pub(crate) struct Digests {
    md5: Md5,
    crc64nvme: crc_fast::Digest,
    checksum: Option<(Algorithm, Running)>,
    requested: Option<Algorithm>,
}

/// The digests of a body.
#[derive(Clone, Debug)]
pub(crate) struct Digested {
    pub(crate) md5: [u8; 16],
    /// The CRC64NVME of every body. An object in parts has it if no client requests another checksum.
    pub(crate) crc64nvme: u64,
    /// The requested checksum.
    pub(crate) checksum: Option<Checksum>,
}

enum Running {
    Crc(crc_fast::Digest),
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Digests {
    pub(crate) fn new(algorithm: Option<Algorithm>) -> Self {
        Digests {
            md5: Md5::new(),
            crc64nvme: crc_fast::Digest::new(CrcAlgorithm::Crc64Nvme),
            checksum: algorithm
                .filter(|algorithm| *algorithm != Algorithm::Crc64Nvme)
                .map(|algorithm| (algorithm, Running::new(algorithm))),
            requested: algorithm,
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.md5.update(bytes);
        self.crc64nvme.update(bytes);
        if let Some((_, running)) = &mut self.checksum {
            running.update(bytes);
        }
    }

    pub(crate) fn finish(self) -> Digested {
        let crc64nvme = self.crc64nvme.finalize();
        let checksum = match self.checksum {
            Some((algorithm, running)) => Some((algorithm, running.finish(algorithm))),
            None => self.requested.map(|algorithm| (algorithm, algorithm.crc_bytes(crc64nvme))),
        };
        let checksum =
            checksum.map(|(algorithm, bytes)| Checksum::new(algorithm, Coverage::FullObject, &bytes));
        Digested { md5: self.md5.finalize().into(), crc64nvme, checksum }
    }
}

impl Running {
    fn new(algorithm: Algorithm) -> Self {
        match (algorithm.crc(), algorithm) {
            (Some(crc), _) => Running::Crc(crc_fast::Digest::new(crc)),
            (None, Algorithm::Sha1) => Running::Sha1(Sha1::new()),
            (None, _) => Running::Sha256(Sha256::new()),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Running::Crc(digest) => digest.update(bytes),
            Running::Sha1(digest) => digest.update(bytes),
            Running::Sha256(digest) => digest.update(bytes),
        }
    }

    fn finish(self, algorithm: Algorithm) -> Vec<u8> {
        match self {
            Running::Crc(digest) => algorithm.crc_bytes(digest.finalize()),
            Running::Sha1(digest) => digest.finalize().to_vec(),
            Running::Sha256(digest) => digest.finalize().to_vec(),
        }
    }
}

/// Combines the checksums of parts, each with the part's size, into that of the object. `None` if the algorithm does
/// not allow the coverage.
pub(crate) fn combine(
    algorithm: Algorithm,
    coverage: Coverage,
    parts: &[(Vec<u8>, u64)],
) -> Option<Checksum> {
    if !algorithm.allows(coverage) {
        return None;
    }
    let mut checksum = match coverage {
        Coverage::Composite => {
            let mut running = Running::new(algorithm);
            parts.iter().for_each(|(value, _)| running.update(value));
            Checksum::new(algorithm, coverage, &running.finish(algorithm))
        }
        Coverage::FullObject => {
            let crc = algorithm.crc()?;
            let numbers = parts.iter().map(|(value, bytes)| {
                (value.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)), *bytes)
            });
            let whole = numbers.reduce(|(before, length), (part, bytes)| {
                (crc_fast::checksum_combine(crc, before, part, bytes), length + bytes)
            });
            Checksum::new(algorithm, coverage, &algorithm.crc_bytes(whole?.0))
        }
    };
    if coverage == Coverage::Composite {
        checksum.value += &format!("-{}", parts.len());
    }
    Some(checksum)
}

/// Returns the checksum of one part of an object, from the concatenated checksums of all of them.
pub(crate) fn nth(whole: &Checksum, all: &[u8], index: usize) -> Option<Checksum> {
    let bytes = whole.algorithm.bytes();
    let part = all.get(index.checked_mul(bytes)?..)?.get(..bytes)?;
    Some(Checksum::new(whole.algorithm, whole.coverage, part))
}

/// Returns the MD5 of the parts' MD5s, from which S3 makes the ETag of an object in parts.
pub(crate) fn md5_of_md5s(parts: &[[u8; 16]]) -> [u8; 16] {
    let mut md5 = Md5::new();
    parts.iter().for_each(|part| md5.update(part));
    md5.finalize().into()
}

/// Returns the text of a checksum's bytes.
pub(crate) fn text(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Parses 32 hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    let read = base16ct::mixed::decode(text, &mut bytes).ok()?;
    (read.len() == 16).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base16ct::lower::encode_string as hex;

    fn digest(algorithm: Algorithm, bytes: &[u8]) -> Checksum {
        let mut digests = Digests::new(Some(algorithm));
        digests.update(bytes);
        digests.finish().checksum.expect("asked for")
    }

    #[test]
    fn the_check_values_of_the_algorithms_come_out() {
        let hex_of = |algorithm| hex(&BASE64.decode(digest(algorithm, b"123456789").value).expect("base64"));
        assert_eq!(hex_of(Algorithm::Crc32), "cbf43926");
        assert_eq!(hex_of(Algorithm::Crc32c), "e3069283");
        assert_eq!(hex_of(Algorithm::Crc64Nvme), "ae8b14860a799888");
        assert_eq!(hex_of(Algorithm::Sha1), "f7c3bc1d808e04732adf679965ccc34ca7ae3441");
        assert_eq!(
            hex_of(Algorithm::Sha256),
            "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"
        );
        assert_eq!(hex(&Digests::new(None).finish().md5), "d41d8cd98f00b204e9800998ecf8427e");
    }

    #[test]
    fn a_combined_checksum_of_the_full_object_is_the_checksum_of_its_bytes() {
        let body = b"the quick brown fox jumps over the lazy dog";
        for algorithm in Algorithm::ALL.into_iter().filter(|a| a.allows(Coverage::FullObject)) {
            let parts = [&body[..7], &body[7..8], &body[8..]]
                .map(|part| (digest(algorithm, part).bytes().expect("base64"), part.len() as u64));
            let whole = combine(algorithm, Coverage::FullObject, &parts);
            assert_eq!(whole, Some(digest(algorithm, body)));
        }
    }

    #[test]
    fn a_composite_checksum_counts_its_parts_and_is_known_with_and_without_their_number() {
        let part = digest(Algorithm::Sha256, b"a").bytes().expect("base64");
        let parts = [(part.clone(), 1), (part, 1)];
        let whole = combine(Algorithm::Sha256, Coverage::Composite, &parts).expect("combined");
        let (digest, count) = whole.value.split_once('-').expect("a number");
        assert_eq!(count, "2");
        assert!(whole.is(&whole.value) && whole.is(digest));
        assert!(!whole.is(&format!("{digest}-3")) && !whole.is("") && !whole.is(&digest[1..]));
        assert_eq!(combine(Algorithm::Sha256, Coverage::FullObject, &parts), None);
    }

    #[test]
    fn the_crc64nvme_of_every_body_is_the_one_that_would_be_asked_for() {
        for algorithm in Algorithm::ALL {
            let mut digests = Digests::new(Some(algorithm));
            digests.update(b"123456789");
            let digested = digests.finish();
            assert_eq!(format!("{:016x}", digested.crc64nvme), "ae8b14860a799888");
            assert_eq!(digested.checksum.expect("asked for").algorithm, algorithm);
        }
    }

    #[test]
    fn the_checksum_of_a_part_is_cut_out_of_all_of_them() {
        let whole = digest(Algorithm::Crc32, b"123456789");
        let all = [[1, 2, 3, 4], [5, 6, 7, 8]].concat();
        assert_eq!(nth(&whole, &all, 1).and_then(|part| part.bytes()), Some(vec![5, 6, 7, 8]));
        assert_eq!(nth(&whole, &all, 2), None);
        assert_eq!(nth(&whole, &all[..7], 1), None);
        assert_eq!(nth(&whole, &all, usize::MAX), None);
    }
}
