//! Digests of bodies: MD5 for the ETag, and the checksums that S3 clients send along.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use borsh::BorshDeserialize;
use crc_fast::CrcAlgorithm;
use md5::Md5;
use minicbor::{Decode, Encode};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// A checksum algorithm of S3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshDeserialize, Encode, Decode)]
#[borsh(use_discriminant = false)]
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

/// What a checksum of an object in parts was computed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshDeserialize, Encode, Decode)]
#[borsh(use_discriminant = false)]
#[cbor(index_only)]
pub enum Coverage {
    /// All bytes of the object.
    #[n(0)]
    FullObject,
    /// The checksums of its parts, one after the other.
    #[n(1)]
    Composite,
}

/// A checksum as S3 writes it: base64, with `-N` after it if it is one of N parts' checksums.
#[derive(Clone, Debug, PartialEq, Eq, BorshDeserialize, Encode, Decode)]
pub struct Checksum {
    /// By which algorithm.
    #[n(0)]
    pub algorithm: Algorithm,
    /// Over what.
    #[n(1)]
    pub coverage: Coverage,
    /// Base64 text.
    #[n(2)]
    pub value: String,
}

impl Algorithm {
    /// The coverage that S3 takes for an upload in parts if none is asked for.
    pub fn default_coverage(self) -> Coverage {
        match self {
            Algorithm::Crc64Nvme => Coverage::FullObject,
            _ => Coverage::Composite,
        }
    }

    /// Bytes of a checksum.
    pub fn bytes(self) -> usize {
        match self {
            Algorithm::Crc32 | Algorithm::Crc32c => 4,
            Algorithm::Crc64Nvme => 8,
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 => 32,
        }
    }

    /// Whether parts' checksums can be combined so.
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

    fn crc_bytes(self, crc: u64) -> Vec<u8> {
        let bytes = crc.to_be_bytes();
        match self {
            Algorithm::Crc64Nvme => bytes.to_vec(),
            _ => bytes[4..].to_vec(),
        }
    }
}

/// Computes the MD5 of a body and at most one checksum beside it.
pub(crate) struct Digests {
    md5: Md5,
    checksum: Option<(Algorithm, Running)>,
}

enum Running {
    Crc(crc_fast::Digest),
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Digests {
    pub(crate) fn new(algorithm: Option<Algorithm>) -> Self {
        Digests { md5: Md5::new(), checksum: algorithm.map(|algorithm| (algorithm, Running::new(algorithm))) }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.md5.update(bytes);
        if let Some((_, running)) = &mut self.checksum {
            running.update(bytes);
        }
    }

    pub(crate) fn finish(self) -> ([u8; 16], Option<Checksum>) {
        let checksum = self.checksum.map(|(algorithm, running)| Checksum {
            algorithm,
            coverage: Coverage::FullObject,
            value: BASE64.encode(running.finish(algorithm)),
        });
        (self.md5.finalize().into(), checksum)
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

/// The checksum of an object from those of its parts, each with the part's bytes. `None` if a part has none of this
/// algorithm, or if the algorithm does not allow the coverage.
pub(crate) fn combine<'a>(
    algorithm: Algorithm,
    coverage: Coverage,
    parts: impl Iterator<Item = (Option<&'a Checksum>, u64)>,
) -> Option<Checksum> {
    if !algorithm.allows(coverage) {
        return None;
    }
    let mut values = Vec::new();
    for (checksum, bytes) in parts {
        let checksum = checksum.filter(|checksum| checksum.algorithm == algorithm)?;
        values.push((BASE64.decode(&checksum.value).ok()?, bytes));
    }
    let value = match coverage {
        Coverage::Composite => {
            let mut running = Running::new(algorithm);
            values.iter().for_each(|(value, _)| running.update(value));
            format!("{}-{}", BASE64.encode(running.finish(algorithm)), values.len())
        }
        Coverage::FullObject => {
            let crc = algorithm.crc()?;
            let mut whole: Option<u64> = None;
            for (value, bytes) in values {
                let part = value.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
                whole = Some(match whole {
                    None => part,
                    Some(before) => crc_fast::checksum_combine(crc, before, part, bytes),
                });
            }
            BASE64.encode(algorithm.crc_bytes(whole?))
        }
    };
    Some(Checksum { algorithm, coverage, value })
}

/// The MD5 of the parts' MD5s: what S3 makes the ETag of an object in parts from.
pub(crate) fn md5_of_md5s<'a>(parts: impl Iterator<Item = &'a [u8; 16]>) -> [u8; 16] {
    let mut md5 = Md5::new();
    parts.for_each(|part| md5.update(part));
    md5.finalize().into()
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Algorithm; 5] =
        [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64Nvme, Algorithm::Sha1, Algorithm::Sha256];

    fn digest(algorithm: Algorithm, bytes: &[u8]) -> Checksum {
        let mut digests = Digests::new(Some(algorithm));
        digests.update(bytes);
        digests.finish().1.expect("asked for")
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
        assert_eq!(hex(&Digests::new(None).finish().0), "d41d8cd98f00b204e9800998ecf8427e");
    }

    #[test]
    fn a_combined_checksum_of_the_full_object_is_the_checksum_of_its_bytes() {
        let body = b"the quick brown fox jumps over the lazy dog";
        for algorithm in ALL.into_iter().filter(|a| a.allows(Coverage::FullObject)) {
            let parts = [&body[..7], &body[7..8], &body[8..]]
                .map(|part| (digest(algorithm, part), part.len() as u64));
            let whole = combine(
                algorithm,
                Coverage::FullObject,
                parts.iter().map(|(sum, bytes)| (Some(sum), *bytes)),
            );
            assert_eq!(whole, Some(digest(algorithm, body)));
        }
    }

    #[test]
    fn a_composite_checksum_counts_its_parts_and_needs_all_of_them() {
        let part = digest(Algorithm::Sha256, b"a");
        let whole =
            combine(Algorithm::Sha256, Coverage::Composite, [(Some(&part), 1), (Some(&part), 1)].into_iter());
        assert!(whole.expect("combined").value.ends_with("-2"));
        let missing = [(Some(&part), 1), (None, 1)];
        assert_eq!(combine(Algorithm::Sha256, Coverage::Composite, missing.into_iter()), None);
    }
}
