//! Checksums in S3's headers, trailers and fields.

use crate::objects::checksums::{Algorithm, Coverage};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderMap;
use s3s::dto::{ChecksumAlgorithm, ChecksumType, CompletedPart};
use s3s::{S3Error, S3Result, s3_error};

/// The checksum of an object whose put requests none.
pub(super) const DEFAULT: Algorithm = Algorithm::Crc64Nvme;

pub(super) const HEADERS: [(&str, Algorithm); 5] = [
    ("x-amz-checksum-crc32", Algorithm::Crc32),
    ("x-amz-checksum-crc32c", Algorithm::Crc32c),
    ("x-amz-checksum-crc64nvme", Algorithm::Crc64Nvme),
    ("x-amz-checksum-sha1", Algorithm::Sha1),
    ("x-amz-checksum-sha256", Algorithm::Sha256),
];

/// Returns the checksums that a request or a part of one contains.
macro_rules! given {
    ($input:expr) => {{
        let fields = [
            &$input.checksum_crc32,
            &$input.checksum_crc32c,
            &$input.checksum_crc64nvme,
            &$input.checksum_sha1,
            &$input.checksum_sha256,
        ];
        let fields = std::iter::zip($crate::objects::checksums::Algorithm::ALL, fields);
        fields.filter_map(|(algorithm, value)| Some((algorithm, value.clone()?)))
    }};
}
pub(super) use given;

/// Writes a checksum into the field of its algorithm.
macro_rules! set {
    ($output:expr, $checksum:expr) => {
        if let Some(checksum) = $checksum {
            use $crate::objects::checksums::Algorithm;
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

/// Checks the checksum headers before the body is read.
///
/// # Errors
/// `InvalidRequest`: more than one checksum, a malformed one, one of an unknown algorithm, or an algorithm without a
/// checksum.
pub(super) fn check_headers(headers: &HeaderMap) -> S3Result<()> {
    let trailers = headers.get("x-amz-trailer").map(|names| names.to_str().unwrap_or_default());
    let trailers: Vec<String> = trailers
        .into_iter()
        .flat_map(|names| names.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    if trailers.iter().any(|name| HEADERS.iter().all(|(known, _)| known != name)) {
        return Err(s3_error!(
            InvalidRequest,
            "The value specified in the x-amz-trailer header is not supported"
        ));
    }
    let values =
        HEADERS.iter().filter_map(|(name, algorithm)| Some((*name, *algorithm, headers.get(*name)?)));
    let values: Vec<_> = values.collect();
    if values.len() + trailers.len() > 1 {
        return Err(several());
    }
    for &(_, algorithm, value) in &values {
        check_value("header", algorithm, value.as_bytes())?;
    }
    check_named(headers, &values, &trailers)
}

/// Checks the checksum of the object in a completion. A checksum of parts may have their number after it.
///
/// # Errors
/// `InvalidRequest`: more than one checksum, or a malformed one.
pub(super) fn check_final(headers: &HeaderMap) -> S3Result<()> {
    let mut values =
        HEADERS.iter().filter_map(|(name, algorithm)| Some((*algorithm, headers.get(*name)?.as_bytes())));
    let Some((algorithm, value)) = values.next() else { return Ok(()) };
    if values.next().is_some() {
        return Err(several());
    }
    let digest = match value.iter().position(|&byte| byte == b'-') {
        Some(index) if is_number(&value[index + 1..]) => &value[..index],
        _ => value,
    };
    check_value("header", algorithm, digest)
}

fn is_number(digits: &[u8]) -> bool {
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Checks the checksums of a part in a completion.
///
/// # Errors
/// `InvalidArgument`: more than one, or a malformed one.
pub(super) fn check_of_part(part: &CompletedPart) -> S3Result<()> {
    let mut given = given!(part);
    let is_right = match (given.next(), given.next()) {
        (None, _) => true,
        (Some((algorithm, value)), None) => is_checksum(algorithm, value.as_bytes()),
        (Some(_), Some(_)) => false,
    };
    if is_right {
        return Ok(());
    }
    Err(s3_error!(InvalidArgument, "Invalid Base64 or multiple checksums present in request"))
}

fn several() -> S3Error {
    s3_error!(
        InvalidRequest,
        "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
    )
}

/// Checks that the requested algorithm is that of the checksum in the request.
fn check_named(
    headers: &HeaderMap,
    values: &[(&str, Algorithm, &http::HeaderValue)],
    trailers: &[String],
) -> S3Result<()> {
    let Some(requested) = headers.get("x-amz-sdk-checksum-algorithm") else { return Ok(()) };
    let requested =
        algorithm(requested.to_str().ok().map(|name| ChecksumAlgorithm::from(name.to_owned())).as_ref())?;
    let given = values.iter().map(|(_, algorithm, _)| *algorithm);
    let given =
        given.chain(trailers.iter().filter_map(|name| {
            HEADERS.iter().find(|(known, _)| known == name).map(|(_, algorithm)| *algorithm)
        }));
    match given.last() {
        None => Err(s3_error!(
            InvalidRequest,
            "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers \
             were found."
        )),
        Some(given) if Some(given) != requested => {
            Err(s3_error!(InvalidRequest, "Value for x-amz-sdk-checksum-algorithm header is invalid."))
        }
        Some(_) => Ok(()),
    }
}

/// Checks that a value is the text of a checksum of this algorithm.
pub(super) fn check_value(place: &str, algorithm: Algorithm, value: &[u8]) -> S3Result<()> {
    if is_checksum(algorithm, value) {
        return Ok(());
    }
    let name = HEADERS.iter().find(|(_, known)| *known == algorithm).map_or("", |(name, _)| name);
    Err(s3_error!(InvalidRequest, "Value for {name} {place} is invalid."))
}

fn is_checksum(algorithm: Algorithm, text: &[u8]) -> bool {
    BASE64.decode(text).is_ok_and(|bytes| bytes.len() == algorithm.bytes())
}

/// Returns the error for a part whose checksum has another algorithm than its upload.
pub(super) fn other_algorithm(expected: Algorithm, actual: Algorithm) -> S3Error {
    let [expected, actual] = [expected, actual].map(|algorithm| algorithm.to_string().to_ascii_lowercase());
    s3_error!(
        InvalidRequest,
        "Checksum Type mismatch occurred, expected checksum Type: {expected}, actual checksum Type: {actual}"
    )
}

/// Returns the error for a checksum that does not match the body, the object, or the part of this number.
pub(super) fn bad_digest(algorithm: Algorithm, part: Option<u16>) -> S3Error {
    match part {
        None => s3_error!(BadDigest, "The {algorithm} you specified did not match the calculated checksum."),
        Some(part) => {
            let name = algorithm.to_string().to_ascii_lowercase();
            s3_error!(BadDigest, "The {name} you specified for part {part} did not match what we received.")
        }
    }
}

pub(super) fn algorithm(name: Option<&ChecksumAlgorithm>) -> S3Result<Option<Algorithm>> {
    let Some(name) = name else { return Ok(None) };
    let known = Algorithm::ALL.into_iter().find(|known| name.as_str().eq_ignore_ascii_case(known.name()));
    known.map(Some).ok_or_else(|| {
        s3_error!(InvalidRequest, "The checksum algorithms are CRC32, CRC32C, CRC64NVME, SHA1 and SHA256.")
    })
}

pub(super) fn algorithm_name(algorithm: Algorithm) -> ChecksumAlgorithm {
    ChecksumAlgorithm::from_static(algorithm.name())
}

pub(super) fn coverage_name(coverage: Coverage) -> ChecksumType {
    ChecksumType::from_static(match coverage {
        Coverage::Composite => ChecksumType::COMPOSITE,
        Coverage::FullObject => ChecksumType::FULL_OBJECT,
    })
}

pub(super) fn coverage(algorithm: Algorithm, name: Option<&ChecksumType>) -> S3Result<Coverage> {
    let coverage = parse_coverage(name)?.unwrap_or_else(|| algorithm.default_coverage());
    if algorithm.allows(coverage) {
        Ok(coverage)
    } else {
        let (name, algorithm) = (coverage_name(coverage), algorithm.to_string().to_ascii_lowercase());
        Err(s3_error!(
            InvalidRequest,
            "The {} checksum type cannot be used with the {algorithm} checksum algorithm.",
            name.as_str()
        ))
    }
}

/// Parses the name of a checksum type.
///
/// # Errors
/// `InvalidRequest`: the name is unknown.
pub(super) fn parse_coverage(name: Option<&ChecksumType>) -> S3Result<Option<Coverage>> {
    match name.map(|name| name.as_str().to_ascii_uppercase()).as_deref() {
        None => Ok(None),
        Some(ChecksumType::COMPOSITE) => Ok(Some(Coverage::Composite)),
        Some(ChecksumType::FULL_OBJECT) => Ok(Some(Coverage::FullObject)),
        Some(_) => Err(s3_error!(InvalidRequest, "Value for x-amz-checksum-type header is invalid.")),
    }
}
