//! Checksums in the headers, trailers and fields where S3 puts them.

use crate::checksums::{Algorithm, Coverage};
use s3s::dto::{ChecksumAlgorithm, ChecksumType};
use s3s::{S3Result, s3_error};

pub(super) const HEADERS: [(&str, Algorithm); 5] = [
    ("x-amz-checksum-crc32", Algorithm::Crc32),
    ("x-amz-checksum-crc32c", Algorithm::Crc32c),
    ("x-amz-checksum-crc64nvme", Algorithm::Crc64Nvme),
    ("x-amz-checksum-sha1", Algorithm::Sha1),
    ("x-amz-checksum-sha256", Algorithm::Sha256),
];

/// The checksum that a request or a part of one gives, if it gives one.
macro_rules! given {
    ($input:expr) => {{
        use $crate::checksums::Algorithm;
        let fields = [
            (Algorithm::Crc32, &$input.checksum_crc32),
            (Algorithm::Crc32c, &$input.checksum_crc32c),
            (Algorithm::Crc64Nvme, &$input.checksum_crc64nvme),
            (Algorithm::Sha1, &$input.checksum_sha1),
            (Algorithm::Sha256, &$input.checksum_sha256),
        ];
        fields.into_iter().find_map(|(algorithm, value)| value.clone().map(|value| (algorithm, value)))
    }};
}
pub(super) use given;

/// Writes a checksum into the field of its algorithm.
macro_rules! set {
    ($output:expr, $checksum:expr) => {
        if let Some(checksum) = $checksum {
            use $crate::checksums::Algorithm;
            let value = Some(checksum.value.clone());
            match checksum.algorithm {
                Algorithm::Crc32 => $output.checksum_crc32 = value,
                Algorithm::Crc32c => $output.checksum_crc32c = value,
                Algorithm::Crc64Nvme => $output.checksum_crc64nvme = value,
                Algorithm::Sha1 => $output.checksum_sha1 = value,
                Algorithm::Sha256 => $output.checksum_sha256 = value,
            }
        }
    };
}
pub(super) use set;

pub(super) fn algorithm(name: Option<&ChecksumAlgorithm>) -> S3Result<Option<Algorithm>> {
    let Some(name) = name else {
        return Ok(None);
    };
    Ok(Some(match name.as_str().to_ascii_uppercase().as_str() {
        "CRC32" => Algorithm::Crc32,
        "CRC32C" => Algorithm::Crc32c,
        "CRC64NVME" => Algorithm::Crc64Nvme,
        "SHA1" => Algorithm::Sha1,
        "SHA256" => Algorithm::Sha256,
        _ => {
            return Err(s3_error!(
                InvalidRequest,
                "The checksum algorithms are CRC32, CRC32C, CRC64NVME, SHA1 and SHA256."
            ));
        }
    }))
}

pub(super) fn algorithm_name(algorithm: Algorithm) -> ChecksumAlgorithm {
    ChecksumAlgorithm::from_static(match algorithm {
        Algorithm::Crc32 => ChecksumAlgorithm::CRC32,
        Algorithm::Crc32c => ChecksumAlgorithm::CRC32C,
        Algorithm::Crc64Nvme => ChecksumAlgorithm::CRC64NVME,
        Algorithm::Sha1 => ChecksumAlgorithm::SHA1,
        Algorithm::Sha256 => ChecksumAlgorithm::SHA256,
    })
}

pub(super) fn coverage_name(coverage: Coverage) -> ChecksumType {
    ChecksumType::from_static(match coverage {
        Coverage::Composite => ChecksumType::COMPOSITE,
        Coverage::FullObject => ChecksumType::FULL_OBJECT,
    })
}

pub(super) fn coverage(algorithm: Algorithm, name: Option<&ChecksumType>) -> S3Result<Coverage> {
    let coverage = match name.map(ChecksumType::as_str) {
        None => algorithm.default_coverage(),
        Some(ChecksumType::COMPOSITE) => Coverage::Composite,
        Some(ChecksumType::FULL_OBJECT) => Coverage::FullObject,
        Some(_) => {
            return Err(s3_error!(InvalidRequest, "The checksum types are COMPOSITE and FULL_OBJECT."));
        }
    };
    if algorithm.allows(coverage) {
        Ok(coverage)
    } else {
        Err(s3_error!(
            InvalidRequest,
            "SHA1 and SHA256 allow the checksum type COMPOSITE only, CRC64NVME allows FULL_OBJECT only."
        ))
    }
}
