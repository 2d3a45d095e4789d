//! The names of objects: each follows from public numbers alone.

use ameles_core::store::BucketVersion;
use ameles_core::types::{Bucket, Version};

/// The folder of all bucket versions.
pub(super) const BUCKETS: &str = "buckets";

/// The number of buckets whose versions share a folder.
pub(super) const BUCKETS_A_FOLDER: u64 = 1 << 12;
/// The number of levels of folders below the one of all bucket versions.
pub(super) const FOLDER_LEVELS: usize = 2;

/// The folder of all blobs.
pub(super) const BLOBS: &str = "blobs";

/// The name of a bucket version: `buckets/HHHHHHHHHH/MMM/LLL-EEEEEEEE-CCCCCCCCCCCCCCCC`.
///
/// H, M and L are the bucket's number in hex (40, 12 and 12 bits), E the epoch, C the counter. No folder holds more
/// than 4096 buckets or folders below the first 2^24 buckets, and names sort by bucket, then epoch, then counter.
pub fn bucket_version(of: BucketVersion) -> String {
    let number = of.bucket.0;
    format!(
        "{BUCKETS}/{:010x}/{:03x}/{:03x}-{:08x}-{:016x}",
        number >> 24,
        (number >> 12) & 0xfff,
        number & 0xfff,
        of.version.epoch,
        of.version.counter,
    )
}

/// The bucket version of a name, if it is exactly one that [`bucket_version`] makes.
pub(super) fn parse_bucket_version(name: &str) -> Option<BucketVersion> {
    let rest = name.strip_prefix(BUCKETS)?.strip_prefix('/')?;
    let (high, rest) = rest.split_once('/')?;
    let (middle, rest) = rest.split_once('/')?;
    let (low, rest) = rest.split_once('-')?;
    let (epoch, counter) = rest.split_once('-')?;
    let number = hex(high, 10)? << 24 | hex(middle, 3)? << 12 | hex(low, 3)?;
    let version = Version { epoch: u32::try_from(hex(epoch, 8)?).ok()?, counter: hex(counter, 16)? };
    if version.is_never() {
        return None;
    }
    Some(BucketVersion { bucket: Bucket(number), version })
}

fn hex(digits: &str, len: usize) -> Option<u64> {
    let lower = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != len || !digits.bytes().all(lower) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// The object's name of a blob.
pub(super) fn blob(name: &str) -> String {
    format!("{BLOBS}/{name}")
}

/// Returns the name of the blob with this object name.
pub(super) fn parse_blob(name: &str) -> Option<&str> {
    name.strip_prefix(BLOBS)?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(bucket: u64, epoch: u32, counter: u64) -> BucketVersion {
        BucketVersion { bucket: Bucket(bucket), version: Version { epoch, counter } }
    }

    #[test]
    fn a_name_is_fixed_for_all_time() {
        assert_eq!(
            bucket_version(of(0x0102_0304_0506, 0x2a, 0xff)),
            "buckets/0000010203/040/506-0000002a-00000000000000ff"
        );
    }

    proptest! {
        #[test]
        fn every_bucket_version_is_read_back_from_its_name(bucket: u64, epoch: u32, counter in 1u64..) {
            let version = of(bucket, epoch, counter);
            prop_assert_eq!(parse_bucket_version(&bucket_version(version)), Some(version));
        }

        #[test]
        fn names_sort_as_versions_do(one: (u64, u32, u64), other: (u64, u32, u64)) {
            let (one, other) = (of(one.0, one.1, one.2), of(other.0, other.1, other.2));
            prop_assert_eq!(bucket_version(one).cmp(&bucket_version(other)), one.cmp(&other));
        }

        #[test]
        fn what_is_parsed_is_exactly_a_name_that_is_made(name in "buckets/[0-9a-fA-F/+-]{0,50}") {
            if let Some(version) = parse_bucket_version(&name) {
                prop_assert_eq!(bucket_version(version), name);
            }
        }
    }

    #[test]
    fn foreign_names_are_no_bucket_versions() {
        for name in [
            "",
            "buckets",
            "buckets/0000000000/000/000-00000001",
            "buckets/0000000000/000/000-00000001-000000000000000g",
            "buckets/0000000000/000/000-00000001-000000000000000F",
            "buckets/0000000000/000/000-00000001-0000000000000001x",
            "buckets/0000000000/000/000-00000001-0000000000000001/x",
            "buckets/000000000/000/000-00000001-0000000000000001",
            "buckets/+000000000/000/000-00000001-0000000000000001",
            "buckets/0000000000/000/000-00000000-0000000000000000",
            "blobs/0000000000/000/000-00000001-0000000000000001",
        ] {
            assert_eq!(parse_bucket_version(name), None, "{name}");
        }
    }
}
