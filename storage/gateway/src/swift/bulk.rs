//! Many objects in one request: bulk delete, and archives that are extracted.
//!
//! Such a request is answered with 200 as soon as it is well-formed. The body has the outcome of each object.

use super::answer::empty;
use super::describe::guess_type;
use super::full_body::read_in_memory_share;
use super::listing::ListingForm;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::target::Target;
use super::{Swift, VerbContext, put};
use crate::auth::rights::Action;
use crate::catalogue::{ContainerSettings, Details};
use crate::error::Error;
use crate::http::parse_budget::ParseBudget;
use crate::http::percent::encode_path;
use crate::objects::conditions::WriteConditions;
use async_compression::tokio::bufread::GzipDecoder;
use axum::body::Body;
use futures::{StreamExt, TryStreamExt};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;
use std::io;
use tokio::io::{AsyncBufRead, AsyncRead};
use tokio_tar::{Archive, EntryType};
use tokio_util::io::{ReaderStream, StreamReader};

/// The largest number of names of a bulk delete.
pub(super) const MAX_DELETES: usize = 10_000;
/// The number of files of an archive that may fail before the rest is skipped.
const MAX_FAILURES: usize = 1000;
/// The largest number of bytes of a list of names.
const MAX_LIST_BYTES: usize = 8 << 20;
/// The number of names that are deleted in one commit.
const DELETE_BATCH: usize = 500;

/// The kind of a bulk request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BulkVerb {
    Delete,
    Extract,
}

impl BulkVerb {
    /// Returns the label of the number of successes in the answer.
    fn count_label(self) -> &'static str {
        match self {
            BulkVerb::Delete => "Number Deleted",
            BulkVerb::Extract => "Number Files Created",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            BulkVerb::Delete => StatusCode::OK,
            BulkVerb::Extract => StatusCode::CREATED,
        }
    }
}

/// The outcome of a bulk request.
#[derive(Debug, Default)]
struct BulkReport {
    /// The number of successes.
    done: u64,
    not_found: u64,
    /// Encoded names with the status of each.
    errors: Vec<(String, StatusCode)>,
    /// The status of the whole request, if it failed.
    failed: Option<(StatusCode, String)>,
}

impl BulkReport {
    fn fail(&mut self, name: &str, refusal: &Refusal) {
        self.errors.push((name.to_owned(), refusal.status()));
    }

    fn answer(self, head: &RequestHead, work: BulkVerb) -> Response<Body> {
        let status = match (&self.failed, self.errors.is_empty()) {
            (Some((status, _)), _) => *status,
            (None, false) => StatusCode::BAD_REQUEST,
            (None, true) => work.status(),
        };
        let text = self.failed.map(|(_, text)| text).unwrap_or_default();
        let errors: Vec<(String, String)> =
            self.errors.into_iter().map(|(name, status)| (name, status.to_string())).collect();
        let form = ListingForm::of(&head.query, &head.headers).unwrap_or(ListingForm::Plain);
        let body = if form == ListingForm::Json {
            let mut fields = json!({
                "Response Status": status.to_string(),
                "Response Body": text,
                work.count_label(): self.done,
                "Errors": errors,
            });
            if work == BulkVerb::Delete
                && let Some(fields) = fields.as_object_mut()
            {
                fields.insert("Number Not Found".into(), self.not_found.into());
            }
            fields.to_string()
        } else {
            let mut lines = format!("{}: {}\n", work.count_label(), self.done);
            if work == BulkVerb::Delete {
                lines += &format!("Number Not Found: {}\n", self.not_found);
            }
            lines += &format!("Response Body: {text}\nResponse Status: {status}\nErrors:\n");
            errors.iter().for_each(|(name, status)| lines += &format!("{name}, {status}\n"));
            lines
        };
        let mut answer = empty(StatusCode::OK);
        let kind = if form == ListingForm::Json { ListingForm::Json } else { ListingForm::Plain };
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind.content_type()));
        *answer.body_mut() = Body::from(body);
        answer
    }
}

/// Deletes the objects and containers in the body: one encoded name a line.
pub(super) async fn delete(swift: &Swift, context: &VerbContext<'_>, body: Body) -> Outcome<Response<Body>> {
    swift.check(context.claim, context.account.name(), None, Action::Own)?;
    let text = read_in_memory_share(&swift.gateway, body, MAX_LIST_BYTES).await?;
    let text = std::str::from_utf8(&text)
        .map_err(|_| Refusal::precondition_failed("The list of names is not UTF-8."))?;
    let names = text.lines().map(str::trim).filter(|name| !name.is_empty());
    // One name beyond the limit shows that there are too many.
    let names: Vec<String> = names.take(MAX_DELETES + 1).map(str::to_owned).collect();
    if names.len() > MAX_DELETES {
        return Err(Refusal::too_large(format!("Maximum Bulk Deletes: {MAX_DELETES} per request")));
    }
    delete_all(swift, context, names).await
}

/// Deletes the objects and containers of these encoded names.
pub(super) async fn delete_all(
    swift: &Swift,
    context: &VerbContext<'_>,
    names: Vec<String>,
) -> Outcome<Response<Body>> {
    let mut report = BulkReport::default();
    let mut batch: Vec<(String, String)> = Vec::new();
    let mut batch_container = String::new();
    for name in names {
        let target = match Target::read_within(context.account.name(), &name) {
            Ok(target) => target,
            Err(refusal) => {
                report.fail(&name, &refusal);
                continue;
            }
        };
        let container = target.container.unwrap_or_default();
        if container != batch_container || target.object.is_none() || batch.len() == DELETE_BATCH {
            delete_objects(swift, context, &batch_container, std::mem::take(&mut batch), &mut report).await?;
            batch_container.clone_from(&container);
        }
        match target.object {
            Some(object) => batch.push((name, object)),
            None => delete_container(swift, context, &name, &container, &mut report).await?,
        }
    }
    delete_objects(swift, context, &batch_container, batch, &mut report).await?;
    Ok(report.answer(context.head, BulkVerb::Delete))
}

async fn delete_objects(
    swift: &Swift,
    context: &VerbContext<'_>,
    container: &str,
    objects: Vec<(String, String)>,
    report: &mut BulkReport,
) -> Outcome<()> {
    if objects.is_empty() {
        return Ok(());
    }
    if let Err(refusal) = swift.check(context.claim, context.account.name(), Some(container), Action::Write) {
        objects.iter().for_each(|(name, _)| report.fail(name, &refusal));
        return Ok(());
    }
    let (names, keys): (Vec<String>, Vec<String>) = objects.into_iter().unzip();
    let keys = keys.into_iter().map(|key| (key, WriteConditions::default())).collect();
    let outcomes = match context.account.delete(container, keys).await {
        Ok(outcomes) => outcomes,
        Err(Error::NoSuchContainer) => {
            report.not_found += names.len() as u64;
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    for (name, outcome) in names.iter().zip(outcomes) {
        match outcome {
            Ok(true) => report.done += 1,
            Ok(false) => report.not_found += 1,
            Err(error) => report.fail(name, &error.into()),
        }
    }
    Ok(())
}

async fn delete_container(
    swift: &Swift,
    context: &VerbContext<'_>,
    name: &str,
    container: &str,
    report: &mut BulkReport,
) -> Outcome<()> {
    if let Err(refusal) = swift.check(context.claim, context.account.name(), Some(container), Action::Own) {
        report.fail(name, &refusal);
        return Ok(());
    }
    match context.account.delete_container(container).await {
        Ok(()) => report.done += 1,
        Err(Error::NoSuchContainer) => report.not_found += 1,
        Err(error @ Error::Device(_)) => return Err(error.into()),
        Err(error) => report.fail(name, &error.into()),
    }
    Ok(())
}

/// Extracts an archive: each file becomes an object. For an account, the first folder is the container.
pub(super) async fn extract(swift: &Swift, context: &VerbContext<'_>, body: Body) -> Outcome<Response<Body>> {
    swift.check(context.claim, context.account.name(), None, Action::Own)?;
    let bytes = body.into_data_stream().map_err(|error| io::Error::other(Box::new(error)));
    let reader = StreamReader::new(bytes);
    let report = match context.head.query.get("extract-archive") {
        Some("tar") => unpack(swift, context, reader).await?,
        Some("tar.gz") => unpack(swift, context, gunzip(reader)).await?,
        _ => return Err(Refusal::bad_request("Unsupported archive format: tar and tar.gz are known")),
    };
    Ok(report.answer(context.head, BulkVerb::Extract))
}

fn gunzip(reader: impl AsyncBufRead + Unpin + Send + 'static) -> impl AsyncRead + Unpin + Send {
    let mut decoder = GzipDecoder::new(reader);
    decoder.multiple_members(true);
    decoder
}

async fn unpack(
    swift: &Swift,
    context: &VerbContext<'_>,
    reader: impl AsyncRead + Unpin + Send + 'static,
) -> Outcome<BulkReport> {
    let mut report = BulkReport::default();
    let unreadable = || (StatusCode::BAD_REQUEST, "Invalid Tar File".to_owned());
    let budget = ParseBudget::new();
    let mut archive = Archive::new(budget.limit_reader(reader));
    let Ok(mut entries) = archive.entries() else {
        report.failed = Some(unreadable());
        return Ok(report);
    };
    // The bytes of an entry that is not stored are skipped.
    let mut skipped = 0;
    loop {
        budget.renew(skipped);
        let Some(entry) = entries.next().await else { break };
        let Ok(entry) = entry else {
            report.failed = Some(unreadable());
            break;
        };
        let path = entry.path_bytes().map(std::borrow::Cow::into_owned).unwrap_or_default();
        let kind = entry.header().entry_type();
        let size = entry.effective_size();
        skipped = size;
        if !matches!(kind, EntryType::Regular | EntryType::Continuous) {
            continue;
        }
        let name = String::from_utf8_lossy(&path).into_owned();
        budget.remove_limit();
        let outcome = match std::str::from_utf8(&path) {
            Ok(path) => store(swift, context, path, size, entry).await,
            Err(_) => Err(Refusal::precondition_failed("The name is not UTF-8.")),
        };
        match outcome {
            Ok(()) => {
                skipped = 0;
                report.done += 1;
            }
            Err(refusal) => {
                report.fail(&encode_path(&name), &refusal);
                // A failure of the server, such as a full vault, affects all files that follow.
                if refusal.status().is_server_error() || report.errors.len() == MAX_FAILURES {
                    report.failed = Some((refusal.status(), refusal.text().to_owned()));
                    break;
                }
            }
        }
    }
    if report.done == 0 && report.errors.is_empty() && report.failed.is_none() {
        report.failed = Some((StatusCode::BAD_REQUEST, "Invalid Tar File: No Valid Files".into()));
    }
    Ok(report)
}

async fn store(
    swift: &Swift,
    context: &VerbContext<'_>,
    path: &str,
    size: u64,
    bytes: impl AsyncRead + Unpin + Send + 'static,
) -> Outcome<()> {
    let path = path.trim_start_matches("./").trim_start_matches('/');
    let before = [
        context.target.container.as_deref(),
        context.target.object.as_deref().map(|object| object.trim_end_matches('/')),
    ];
    let full: Vec<&str> = before.into_iter().flatten().chain([path]).collect();
    let full = full.join("/");
    let (container, key) = full.split_once('/').filter(|(_, key)| !key.is_empty()).ok_or_else(|| {
        Refusal::bad_request("A file of an archive needs a folder, which names the container.")
    })?;
    let target = Target {
        account: context.account.name().to_owned(),
        container: Some(container.to_owned()),
        object: Some(key.to_owned()),
    };
    target.check_lengths()?;
    if matches!(context.account.container(container), Err(Error::NoSuchContainer)) {
        swift.check(context.claim, context.account.name(), Some(container), Action::Own)?;
        match context.account.create_container(container, ContainerSettings::default()).await {
            Ok(()) | Err(Error::ContainerExists) => {}
            Err(error) => return Err(error.into()),
        }
    }
    swift.check(context.claim, context.account.name(), Some(container), Action::Write)?;
    context.account.check_room(container, key, Some(size))?;
    let body = Body::from_stream(ReaderStream::new(bytes));
    let written = put::receive(context.account, body, Some(size)).await?;
    let details = Details { content_type: Some(guess_type(key)), ..Details::default() };
    context.account.link(container, key, written, details, WriteConditions::default()).await?;
    Ok(())
}
