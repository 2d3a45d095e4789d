//! Uploads in parts. Each part is a durable object of its own without a name; completing moves no block.

use crate::account::Account;
use crate::archive;
use crate::catalogue::{Change, Details, Moment, Object, ObjectName, Part, Upload, UploadId};
use crate::checksums::{self, Algorithm, Checksum, Coverage, hex};
use crate::conditions::WriteConditions;
use crate::device::{Device, DeviceError};
use crate::error::Error;
use crate::listing::{self, ListRequest};
use crate::quota;
use crate::writer::Written;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest number of a part.
pub const MAX_PART: u16 = 10_000;

/// S3's least bytes of a part, the last one apart.
pub const LEAST_PART: u64 = 5 << 20;

/// A part as the one who completes an upload names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedPart {
    /// Its number, `1..=10000`.
    pub number: u16,
    /// The ETag that its upload returned, without quotes, if it is to be checked.
    pub etag: Option<String>,
    /// Its checksum in base64, if it is to be checked.
    pub checksum: Option<(Algorithm, String)>,
}

/// The object that a completion is expected to give; each is checked if it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Its checksum in base64.
    pub checksum: Option<(Algorithm, String)>,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// The least bytes of each of its parts, the last one apart.
    pub least_part: Option<u64>,
}

/// A page of unfinished uploads.
#[derive(Clone, Debug, Default)]
pub struct UploadListing {
    /// Uploads, by key and then by name.
    pub entries: Vec<(UploadId, Upload)>,
    /// Groups of keys, in order.
    pub prefixes: Vec<String>,
    /// Where to go on, if there is more: a key and an upload of it, or a group.
    pub next: Option<(String, Option<UploadId>)>,
}

impl<D: Device> Account<D> {
    /// Begins an upload. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::OverQuota`]; [`Error::Device`].
    pub async fn begin_upload(
        &self,
        container: &str,
        key: &str,
        details: Details,
        checksum: Option<(Algorithm, Coverage)>,
    ) -> Result<UploadId, Error> {
        let mut id = [0; 16];
        getrandom::fill(&mut id)
            .map_err(|error| DeviceError::Unavailable(format!("the system gave no randomness: {error}")))?;
        let id = UploadId(id);
        let upload = Box::new(Upload {
            account: self.name.to_string(),
            container: container.to_owned(),
            key: key.to_owned(),
            details,
            checksum,
            started: self.gateway.inner.now(),
            parts: BTreeMap::new(),
        });
        self.gateway
            .inner
            .change(move |catalogue| {
                quota::check_begun(
                    catalogue,
                    &ObjectName::new(&upload.account, &upload.container, &upload.key),
                )?;
                Ok((vec![Change::AddUpload { id, upload }], id))
            })
            .await
    }

    /// The upload of this name as it stands. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchUpload`].
    pub fn upload(&self, container: &str, key: &str, id: UploadId) -> Result<Upload, Error> {
        self.gateway.inner.catalogue.read().upload(&self.name, container, key, id).cloned()
    }

    /// Makes what was written a part of an upload, in place of the part of this number if there is one.
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
        let (at, now) = (self.at(container, key), self.gateway.inner.now());
        self.gateway
            .inner
            .change(move |catalogue| {
                let upload = catalogue.upload(&at.account, &at.container, &at.key, id)?;
                quota::check_part(catalogue, &at, upload, number, written.segment.bytes())?;
                let part = Arc::new(Part {
                    segment: written.segment,
                    md5: written.md5,
                    checksum: written.checksum,
                    modified: now,
                });
                let change = Change::PutPart { id, number, part: Arc::clone(&part) };
                Ok((vec![change], part))
            })
            .await
    }

    /// Makes the key stand for the parts named, one after the other, and frees the others. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchUpload`]; [`Error::NoParts`]; [`Error::InvalidPartOrder`];
    /// [`Error::InvalidPart`]; [`Error::PartTooSmall`]; [`Error::BadDigest`]; [`Error::WrongLength`]; those of the
    /// conditions; [`Error::OverQuota`]; [`Error::Device`]. The upload stands then.
    pub async fn complete_upload(
        &self,
        container: &str,
        key: &str,
        id: UploadId,
        named: Vec<NamedPart>,
        expected: Expected,
        conditions: WriteConditions,
    ) -> Result<Arc<Object>, Error> {
        let (at, now) = (self.at(container, key), self.gateway.inner.now());
        self.gateway
            .inner
            .change(move |catalogue| {
                let upload = catalogue.upload(&at.account, &at.container, &at.key, id)?;
                let current = catalogue.container(&at.account, &at.container)?.object(&at.key, now);
                conditions.check(current.map(|object| &**object))?;
                let object = Arc::new(assemble(upload, &named, &expected, now)?);
                quota::check_completed(catalogue, &at, upload, object.bytes())?;
                let mut changes = vec![Change::DropUpload { id }];
                changes.extend(archive::put(catalogue, at, Arc::clone(&object), now)?);
                Ok((changes, object))
            })
            .await
    }

    /// Ends an upload and frees its parts. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchUpload`]; [`Error::Device`].
    pub async fn abort_upload(&self, container: &str, key: &str, id: UploadId) -> Result<(), Error> {
        let at = self.at(container, key);
        self.gateway
            .inner
            .change(move |catalogue| {
                catalogue.upload(&at.account, &at.container, &at.key, id)?;
                Ok((vec![Change::DropUpload { id }], ()))
            })
            .await
    }

    /// Lists the unfinished uploads of a container by key, those of one key by their names. Touches no block.
    ///
    /// With `after_id`, uploads of the key `request.after` that come after that one are listed too.
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
        let mut ours: Vec<(&str, UploadId, &Upload)> = catalogue
            .uploads
            .iter()
            .filter(|(_, upload)| upload.account == *self.name && upload.container == container)
            .filter(|(_, upload)| upload.key.starts_with(&request.prefix))
            .map(|(id, upload)| (&*upload.key, *id, upload))
            .collect();
        ours.sort_unstable_by_key(|&(key, id, _)| (key, id));
        let after = (&*request.after, after_id.unwrap_or(UploadId([u8::MAX; 16])));
        let mut page = UploadListing::default();
        let mut last = None;
        for (key, id, upload) in ours {
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

fn assemble(upload: &Upload, named: &[NamedPart], expected: &Expected, now: Moment) -> Result<Object, Error> {
    let Some(last) = named.last() else { return Err(Error::NoParts) };
    if !named.windows(2).all(|pair| pair[0].number < pair[1].number) {
        return Err(Error::InvalidPartOrder);
    }
    let mut parts = Vec::with_capacity(named.len());
    for name in named {
        let part = upload.parts.get(&name.number);
        let part = part.filter(|part| fits(part, name)).ok_or(Error::InvalidPart(name.number))?;
        parts.push(part);
    }
    if let Some(least) = expected.least_part {
        let sizes = named.iter().zip(&parts).map(|(name, part)| (name.number, part.segment.bytes()));
        for (number, bytes) in sizes.filter(|(number, _)| *number != last.number) {
            if bytes < least {
                return Err(Error::PartTooSmall { number, bytes, least });
            }
        }
    }
    let etag = checksums::md5_of_md5s(parts.iter().map(|part| &part.md5));
    let combine = |algorithm, coverage| {
        let parts = parts.iter();
        let sums = parts.map(|part| (part.checksum.as_ref(), part.segment.bytes()));
        checksums::combine(algorithm, coverage, sums)
    };
    let checksum: Option<Checksum> =
        upload.checksum.and_then(|(algorithm, coverage)| combine(algorithm, coverage));
    if let Some((algorithm, value)) = &expected.checksum {
        let actual = checksum.as_ref().filter(|checksum| checksum.algorithm == *algorithm);
        if actual.is_none_or(|actual| actual.value != *value) {
            return Err(Error::BadDigest("checksum"));
        }
    }
    let got = parts.iter().map(|part| part.segment.bytes()).sum();
    if let Some(declared) = expected.bytes
        && declared != got
    {
        return Err(Error::WrongLength { declared, got });
    }
    Ok(Object {
        details: upload.details.clone(),
        etag: format!("{}-{}", hex(&etag), parts.len()),
        checksum,
        modified: now,
        segments: parts.iter().map(|part| Arc::clone(&part.segment)).collect(),
    })
}

fn fits(part: &Part, name: &NamedPart) -> bool {
    let etag = name.etag.as_ref();
    let checksum = name.checksum.as_ref();
    etag.is_none_or(|etag| *etag == hex(&part.md5))
        && checksum.is_none_or(|(algorithm, value)| {
            part.checksum.as_ref().is_some_and(|sum| sum.algorithm == *algorithm && sum.value == *value)
        })
}
