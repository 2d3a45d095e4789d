//! Uploads in parts. Each part is a durable object without a name; completing the upload moves no block.

use crate::catalogue::{Change, Completed, Details, Object, ObjectName, Part, UnixMillis, Upload, UploadId};
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::archive;
use crate::objects::checksums::{self, Algorithm, Checksum, Coverage};
use crate::objects::conditions::WriteConditions;
use crate::objects::listing::{self, ListRequest};
use crate::objects::quota;
use crate::objects::random::random_bytes;
use crate::objects::row_bound;
use crate::objects::writer::Written;
use base16ct::lower::encode_string as hex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest part number.
pub const MAX_PART: u16 = 10_000;

/// S3's minimum size of a part, except for the last one.
pub const MIN_PART: u64 = 5 << 20;

/// S3's checksum of an object whose upload requested none.
const DEFAULT_CHECKSUM: (Algorithm, Coverage) = (Algorithm::Crc64Nvme, Coverage::FullObject);

/// A part in a request to complete an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedPart {
    /// The part's number, `1..=10000`.
    pub number: u16,
    /// The ETag that its upload returned, without quotes, if it must be checked.
    pub etag: Option<String>,
    /// The part's checksum in base64, if it must be checked.
    pub checksum: Option<(Algorithm, String)>,
}

/// The properties that a completed object must have; each is checked if present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedObject {
    /// The object's checksum in base64.
    pub checksum: Option<(Algorithm, String)>,
    /// The object's size in bytes.
    pub bytes: Option<u64>,
    /// The minimum size of each of its parts, except for the last one.
    pub min_part: Option<u64>,
}

/// A page of unfinished uploads.
#[derive(Clone, Debug, Default)]
pub struct UploadListing {
    /// The uploads, by key and then by name.
    pub entries: Vec<(UploadId, Upload)>,
    /// The groups of keys, in order.
    pub prefixes: Vec<String>,
    /// The place to continue, if there is more: a key and an upload of it, or a group.
    pub next: Option<(String, Option<UploadId>)>,
}

impl Account {
    /// Begins an upload. Lists of uploads show its initiator, if it is not the account itself. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::MetadataTooLarge`]; [`Error::OverQuota`]; [`Error::Device`].
    pub async fn begin_upload(
        &self,
        container: &str,
        key: &str,
        details: Details,
        checksum: Option<(Algorithm, Coverage)>,
        initiator: Option<String>,
    ) -> Result<UploadId, Error> {
        row_bound::check(&details)?;
        let id = UploadId(random_bytes()?);
        let upload = Box::new(Upload {
            account: self.name.to_string(),
            container: container.to_owned(),
            key: key.to_owned(),
            details,
            checksum,
            started: self.gateway.inner.now(),
            initiator,
            parts: BTreeMap::new(),
        });
        self.change(move |catalogue| {
            quota::check_begun(catalogue, &ObjectName::new(&upload.account, &upload.container, &upload.key))?;
            Ok((vec![Change::SetUpload { id, upload: Some(upload) }], id))
        })
        .await
    }

    /// Returns an upload in its present state. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchUpload`].
    pub fn upload(&self, container: &str, key: &str, id: UploadId) -> Result<Upload, Error> {
        self.gateway.inner.catalogue.read().upload(&self.name, container, key, id).cloned()
    }

    /// Makes written bytes a part of an upload. Replaces a part of the same number.
    ///
    /// # Errors
    /// [`Error::PartNumber`]; [`Error::NoSuchContainer`]; [`Error::NoSuchUpload`]; [`Error::OverQuota`];
    /// [`Error::Device`].
    pub async fn link_part(
        &self,
        container: &str,
        key: &str,
        id: UploadId,
        number: u16,
        written: Written,
    ) -> Result<Arc<Part>, Error> {
        if !(1..=MAX_PART).contains(&number) {
            return Err(Error::PartNumber(number.into()));
        }
        let (object_name, now) = (self.object_name(container, key), self.gateway.inner.now());
        self.change(move |catalogue| {
            let upload =
                catalogue.upload(&object_name.account, &object_name.container, &object_name.key, id)?;
            quota::check_part(catalogue, &object_name, upload, number, written.segment.bytes())?;
            let part = Arc::new(Part {
                segment: written.segment,
                md5: written.digests.md5,
                checksum: written.digests.checksum,
                crc64nvme: Some(written.digests.crc64nvme),
                modified: now,
            });
            let change = Change::SetPart { id, number, part: Some(Arc::clone(&part)) };
            Ok((vec![change], part))
        })
        .await
    }

    /// Makes the concatenated parts the object of the key, and frees the other parts. Touches no block.
    ///
    /// Completing the same parts again returns the same object, as long as it is the current one of its key or an old
    /// version. Clients ask again when they lost the answer.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchUpload`]; [`Error::NoParts`]; [`Error::InvalidPartOrder`];
    /// [`Error::InvalidPart`]; [`Error::PartTooSmall`]; [`Error::WrongChecksum`]; [`Error::WrongSize`]; the errors of
    /// the conditions; [`Error::OverQuota`]; [`Error::Device`]. In this case the upload stays.
    pub async fn complete_upload(
        &self,
        container: &str,
        key: &str,
        id: UploadId,
        named: Vec<NamedPart>,
        expected: ExpectedObject,
        conditions: WriteConditions,
    ) -> Result<Arc<Object>, Error> {
        let (object_name, stamp) = (self.object_name(container, key), self.gateway.inner.stamp()?);
        self.change(move |catalogue| {
            let upload = catalogue.upload(&object_name.account, &object_name.container, &object_name.key, id);
            let container = catalogue.container(&object_name.account, &object_name.container)?;
            if let Err(Error::NoSuchUpload) = upload {
                let is_created = |object: &&Arc<Object>| {
                    !object.has_expired(stamp.now) && was_created_by(object, id, &named)
                };
                let object =
                    container.versions(&object_name.key).find(is_created).ok_or(Error::NoSuchUpload)?;
                return Ok((Vec::new(), Arc::clone(object)));
            }
            let upload = upload?;
            let current = container.object(&object_name.key, stamp.now);
            conditions.check(current.map(|object| &**object))?;
            let object = assemble(id, upload, &named, &expected, stamp.now)?;
            quota::check_completed(catalogue, &object_name, upload, object.bytes())?;
            let mut changes = vec![Change::SetUpload { id, upload: None }];
            let (put, object) = archive::put(catalogue, object_name, object, stamp)?;
            changes.extend(put);
            Ok((changes, object))
        })
        .await
    }

    /// Aborts an upload and frees its parts. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchUpload`]; [`Error::Device`].
    pub async fn abort_upload(&self, container: &str, key: &str, id: UploadId) -> Result<(), Error> {
        let object_name = self.object_name(container, key);
        self.change(move |catalogue| {
            catalogue.upload(&object_name.account, &object_name.container, &object_name.key, id)?;
            Ok((vec![Change::SetUpload { id, upload: None }], ()))
        })
        .await
    }

    /// Lists the unfinished uploads of a container by key, those of one key by their names. Touches no block.
    ///
    /// With `after_id`, the list includes uploads of the key `request.after` that come after that one.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`].
    pub fn list_uploads(
        &self,
        container: &str,
        request: &ListRequest,
        after_id: Option<UploadId>,
    ) -> Result<UploadListing, Error> {
        let catalogue = self.gateway.inner.catalogue.read();
        catalogue.container(&self.name, container)?;
        let mut matching: Vec<(&str, UploadId, &Upload)> = catalogue
            .uploads
            .iter()
            .filter(|(_, upload)| upload.account == *self.name && upload.container == container)
            .filter(|(_, upload)| upload.key.starts_with(&request.prefix))
            .map(|(id, upload)| (&*upload.key, *id, upload))
            .collect();
        matching.sort_unstable_by_key(|&(key, id, _)| (key, id));
        let after = (&*request.after, after_id.unwrap_or(UploadId([u8::MAX; 16])));
        let mut page = UploadListing::default();
        let mut last = None;
        for (key, id, upload) in matching {
            if !request.after.is_empty() && (key, id) <= after {
                continue;
            }
            let group = listing::group(key, request);
            if group.is_some_and(|group| {
                group == request.after || page.prefixes.last().is_some_and(|last| last == group)
            }) {
                continue;
            }
            if page.entries.len() + page.prefixes.len() == request.limit {
                page.next = last;
                break;
            }
            match group {
                Some(group) => {
                    page.prefixes.push(group.to_owned());
                    last = Some((group.to_owned(), None));
                }
                None => {
                    page.entries.push((id, upload.clone()));
                    last = Some((key.to_owned(), Some(id)));
                }
            }
        }
        Ok(page)
    }
}

/// Returns whether the object was completed from this upload with these parts.
fn was_created_by(object: &Object, id: UploadId, named: &[NamedPart]) -> bool {
    let same = object.completed.as_ref().is_some_and(|completed| completed.upload == id);
    let md5s: Option<Vec<[u8; 16]>> =
        named.iter().map(|part| checksums::from_hex(part.etag.as_deref()?)).collect();
    same && md5s.is_some_and(|md5s| object.etag == etag_of_parts(&md5s))
}

fn etag_of_parts(md5s: &[[u8; 16]]) -> String {
    format!("{}-{}", hex(&checksums::md5_of_md5s(md5s)), md5s.len())
}

fn assemble(
    id: UploadId,
    upload: &Upload,
    named: &[NamedPart],
    expected: &ExpectedObject,
    now: UnixMillis,
) -> Result<Object, Error> {
    let Some(last) = named.last() else { return Err(Error::NoParts) };
    if !named.windows(2).all(|pair| pair[0].number < pair[1].number) {
        return Err(Error::InvalidPartOrder);
    }
    let mut parts = Vec::with_capacity(named.len());
    for name in named {
        parts.push(upload.parts.get(&name.number).ok_or(Error::InvalidPart(name.number))?);
        check_named(parts[parts.len() - 1], name)?;
    }
    if let Some(min) = expected.min_part {
        let sizes = named.iter().zip(&parts).map(|(name, part)| (name.number, part.segment.bytes()));
        for (number, bytes) in sizes.filter(|(number, _)| *number != last.number) {
            if bytes < min {
                return Err(Error::PartTooSmall { number, bytes, min });
            }
        }
    }
    let (algorithm, coverage) = upload.checksum.unwrap_or(DEFAULT_CHECKSUM);
    let sums: Option<Vec<(Vec<u8>, u64)>> =
        parts.iter().map(|part| Some((part.checksum_bytes(algorithm)?, part.segment.bytes()))).collect();
    let checksum: Option<Checksum> =
        sums.as_ref().and_then(|sums| checksums::combine(algorithm, coverage, sums));
    if let Some((algorithm, value)) = &expected.checksum {
        let actual = checksum.as_ref().filter(|checksum| checksum.algorithm == *algorithm);
        if actual.is_none_or(|actual| !actual.is(value)) {
            return Err(Error::WrongChecksum { algorithm: *algorithm, part: None });
        }
    }
    let got = parts.iter().map(|part| part.segment.bytes()).sum();
    if let Some(declared) = expected.bytes
        && declared != got
    {
        return Err(Error::WrongSize { declared, got });
    }
    let md5s: Vec<[u8; 16]> = parts.iter().map(|part| part.md5).collect();
    // If the checksums cannot be combined, those of the parts are of no use either: without an algorithm nobody can
    // read them.
    let sums = sums.filter(|_| checksum.is_some()).unwrap_or_default();
    Ok(Object {
        details: upload.details.clone(),
        etag: etag_of_parts(&md5s),
        checksum,
        modified: now,
        segments: parts.iter().map(|part| Arc::clone(&part.segment)).collect(),
        completed: Some(Arc::new(Completed {
            upload: id,
            checksums: sums.into_iter().flat_map(|(sum, _)| sum).collect(),
        })),
        ..Object::default()
    })
}

/// Checks a part against its entry in the completion.
fn check_named(part: &Part, name: &NamedPart) -> Result<(), Error> {
    if name.etag.as_ref().is_some_and(|etag| *etag != hex(&part.md5)) {
        return Err(Error::InvalidPart(name.number));
    }
    let Some((algorithm, value)) = &name.checksum else { return Ok(()) };
    match part.checksum_bytes(*algorithm) {
        // The part has no checksum of this algorithm.
        None => Err(Error::WrongChecksum { algorithm: *algorithm, part: Some(name.number) }),
        Some(bytes) if checksums::text(&bytes) != *value => Err(Error::InvalidPart(name.number)),
        Some(_) => Ok(()),
    }
}
