//! Uploads by a browser's form, which the owner has signed with a key for temporary URLs.

use super::answer::empty;
use super::describe::guess_type;
use super::refusal::{Outcome, Refusal};
use super::signature::Signature;
use super::target::{Target, path_of};
use super::temp_url::KEYS;
use super::{Swift, VerbContext};
use crate::catalogue::{Details, UnixMillis};
use crate::error::Error;
use crate::http::parse_budget::ParseBudget;
use crate::objects::conditions::WriteConditions;
use axum::body::Body;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use multer::{Field, Multipart};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The largest number of bytes of a field that is not a file.
const MAX_FIELD_BYTES: u64 = 8 << 10;
/// The longest time for the fields before the first file: their sender is not known yet.
const FIELDS_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest number of fields that are not files.
const MAX_FIELDS: usize = 50;

fn too_slow() -> Refusal {
    Refusal::new(StatusCode::REQUEST_TIMEOUT, "FormPost: the form fields did not arrive in time")
}

/// Returns whether a request is a form.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("multipart/form-data")
}

/// The parameters of a form, from the fields before the first file.
struct Form {
    redirect: String,
    max_bytes: u64,
    max_files: usize,
    delete_at: Option<UnixMillis>,
}

impl Swift {
    pub(super) async fn form_post(&self, context: &VerbContext<'_>, body: Body) -> Outcome<Response<Body>> {
        context.verb.name("FormPost");
        let kind = context.head.header("content-type").unwrap_or_default();
        let boundary = multer::parse_boundary(kind)
            .map_err(|_| Refusal::bad_request("FormPost: invalid starting boundary"))?;
        let budget = ParseBudget::new();
        let mut parts = Multipart::new(budget.limit_stream(body.into_data_stream()), boundary);
        let deadline = Instant::now() + FIELDS_TIMEOUT;
        let mut fields = BTreeMap::new();
        let mut form = None;
        let mut files = 0;
        loop {
            budget.renew(0);
            let part = match form {
                Some(_) => parts.next_field().await,
                None => timeout_at(deadline, parts.next_field()).await.map_err(|_| too_slow())?,
            };
            let Some(mut part) = part.map_err(unreadable)? else { break };
            if part.file_name().is_none() {
                let name = part.name().unwrap_or_default().to_ascii_lowercase();
                if fields.len() == MAX_FIELDS {
                    return Err(Refusal::bad_request("FormPost: too many fields"));
                }
                let value = match form {
                    Some(_) => text(&mut part).await?,
                    None => timeout_at(deadline, text(&mut part)).await.map_err(|_| too_slow())??,
                };
                fields.insert(name, value);
                continue;
            }
            if form.is_none() {
                form = Some(self.check_form(context, &fields)?);
            }
            let Some(form) = &form else { continue };
            // A file field that was left empty.
            let name = part.file_name().unwrap_or_default().to_owned();
            if name.is_empty() {
                continue;
            }
            files += 1;
            if files > form.max_files {
                return Err(Refusal::bad_request("max_file_count exceeded"));
            }
            budget.remove_limit();
            self.keep_file(context, form, &name, part).await?;
        }
        // A form without files is also checked, so that a foreign client learns nothing else.
        let form = match form {
            Some(form) => form,
            None => self.check_form(context, &fields)?,
        };
        if files == 0 {
            return Ok(answer(&form.redirect, StatusCode::BAD_REQUEST, "no files to process"));
        }
        Ok(answer(&form.redirect, StatusCode::CREATED, ""))
    }

    fn check_form(&self, context: &VerbContext<'_>, fields: &BTreeMap<String, String>) -> Outcome<Form> {
        let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        let number = |name: &str| {
            let text = field(name);
            text.parse::<u64>().map_err(|_| Refusal::bad_request(format!("FormPost: {name} not an integer")))
        };
        let (expires, max_bytes, max_files) =
            (number("expires")?, number("max_file_size")?, number("max_file_count")?);
        if expires <= context.head.now.seconds() {
            return Err(Refusal::unauthorized("FormPost: Form Expired"));
        }
        let invalid = || Refusal::unauthorized("FormPost: Invalid Signature");
        let path = path_of(context.account.name(), context.container(), context.object());
        let path = if context.target.object.is_none() { path.trim_end_matches('/').to_owned() } else { path };
        // The signed path is that of the form's address.
        let asked_path = context.head.path.as_str();
        let signed = |path: &str| {
            let [redirect, size, count, until] =
                ["redirect", "max_file_size", "max_file_count", "expires"].map(field);
            format!("{path}\n{redirect}\n{size}\n{count}\n{until}")
        };
        let signature = Signature::parse(field("signature")).ok_or_else(invalid)?;
        let of_account = context.account.view();
        let of_container = context.account.container(context.container()).ok();
        let metadata =
            [Some(&of_account.settings.metadata), of_container.as_ref().map(|view| &view.settings.metadata)];
        let mut verifies = false;
        for key in
            metadata.into_iter().flatten().flat_map(|known| KEYS.iter().filter_map(|name| known.get(*name)))
        {
            for path in [path.as_str(), asked_path] {
                verifies |= !key.is_empty() && signature.verifies(key, &signed(path));
            }
        }
        if !verifies {
            return Err(invalid());
        }
        let delete_at = match (field("x_delete_after"), field("x_delete_at")) {
            ("", "") => None,
            ("", _) => Some(number("x_delete_at")?),
            _ => Some(context.head.now.seconds().saturating_add(number("x_delete_after")?)),
        };
        if delete_at.is_some_and(|time| time <= context.head.now.seconds()) {
            return Err(Refusal::bad_request("FormPost: x_delete_at is in the past"));
        }
        Ok(Form {
            redirect: field("redirect").to_owned(),
            max_bytes,
            max_files: usize::try_from(max_files).unwrap_or(usize::MAX),
            delete_at: delete_at.map(|seconds| UnixMillis(seconds.saturating_mul(1000))),
        })
    }

    async fn keep_file(
        &self,
        context: &VerbContext<'_>,
        form: &Form,
        name: &str,
        mut part: Field<'_>,
    ) -> Outcome<()> {
        // The names begin with the form's path.
        let key = format!("{}{name}", context.object());
        let target = Target {
            account: context.account.name().to_owned(),
            container: context.target.container.clone(),
            object: Some(key.clone()),
        };
        target.check_lengths()?;
        let content_type = part.content_type().map(ToString::to_string).unwrap_or_else(|| guess_type(&key));
        context.account.check_put(context.container(), &key, &WriteConditions::default())?;
        context.account.check_room(context.container(), &key, None)?;
        let mut writer = self.gateway.writer(None, None)?;
        let mut bytes = 0;
        while let Some(piece) = part.chunk().await.map_err(unreadable)? {
            bytes += piece.len() as u64;
            if bytes > form.max_bytes {
                return Err(Refusal::too_large("max_file_size exceeded"));
            }
            writer.push(piece).await?;
        }
        let written = writer.finish().await?;
        let details =
            Details { content_type: Some(content_type), delete_at: form.delete_at, ..Details::default() };
        context.account.link(context.container(), &key, written, details, WriteConditions::default()).await?;
        Ok(())
    }
}

async fn text(part: &mut Field<'_>) -> Outcome<String> {
    let mut bytes = Vec::new();
    while let Some(piece) = part.chunk().await.map_err(unreadable)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > MAX_FIELD_BYTES {
            return Err(Refusal::bad_request("FormPost: a field is too long"));
        }
    }
    String::from_utf8(bytes).map_err(|_| Refusal::bad_request("FormPost: a field is not UTF-8"))
}

fn unreadable(error: multer::Error) -> Refusal {
    match error {
        // The connection failed, or the client stopped sending.
        multer::Error::StreamReadFailed(error) => Error::Body(error).into(),
        _ => Refusal::bad_request("FormPost: the form cannot be read"),
    }
}

/// Returns the redirect of the browser, or a message.
fn answer(redirect: &str, status: StatusCode, message: &str) -> Response<Body> {
    if redirect.is_empty() {
        let mut answer = empty(status);
        *answer.body_mut() = Body::from(message.to_owned());
        return answer;
    }
    let separator = if redirect.contains('?') { '&' } else { '?' };
    let message = percent_encoding::utf8_percent_encode(message, percent_encoding::NON_ALPHANUMERIC);
    let place = format!("{redirect}{separator}status={}&message={message}", status.as_u16());
    match HeaderValue::try_from(place) {
        Ok(place) => {
            let mut answer = empty(StatusCode::SEE_OTHER);
            answer.headers_mut().insert(LOCATION, place);
            answer
        }
        Err(_) => Refusal::bad_request("FormPost: the redirect is not an address")
            .into_response(&http::Method::POST),
    }
}
