//! The fields of a form before its file.

use crate::http::parse_budget::ParseBudget;
use crate::s3::error_messages::MALFORMED_POST;
use crate::s3::retryable::body_not_read;
use bytes::Bytes;
use futures::Stream;
use multer::{Field, Multipart};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use std::time::Duration;

/// The largest number of bytes of all fields before the file, names and values together, as in S3.
const MAX_BYTES: usize = 20 << 10;
/// The largest number of fields.
const MAX_FIELDS: usize = 200;

/// The fields of a form in their order, with names in lower case.
pub(super) struct Fields {
    fields: Vec<(String, String)>,
    file_name: String,
}

impl Fields {
    /// Returns the value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Returns the key of the object: `${filename}` stands for the file's name at the client.
    pub(super) fn key(&self) -> S3Result<String> {
        let key = self.get("key").unwrap_or_default().replace("${filename}", &self.file_name);
        if key.is_empty() {
            return Err(s3_error!(InvalidArgument, "Bucket POST must contain a field named 'key'."));
        }
        if !s3s::path::check_key(&key) {
            return Err(s3_error!(KeyTooLongError));
        }
        Ok(key)
    }

    #[cfg(test)]
    pub(super) fn of(fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Fields { fields: fields.collect(), file_name: String::new() }
    }

    #[cfg(test)]
    pub(super) fn with_file_name(self, file_name: &str) -> Self {
        Fields { file_name: file_name.to_owned(), ..self }
    }
}

/// Returns the error for a form that cannot be read.
pub(super) fn malformed() -> S3Error {
    S3Error::with_message(S3ErrorCode::MalformedPOSTRequest, MALFORMED_POST)
}

/// The longest time for a form up to its file: its sender is not known yet.
const FIELDS_TIMEOUT: Duration = Duration::from_secs(60);

/// Reads a form up to its file, but nothing of the file.
pub(super) async fn read<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    boundary: String,
) -> S3Result<(Fields, Field<'static>)>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let read = tokio::time::timeout(FIELDS_TIMEOUT, read_without_timeout(body, boundary)).await;
    read.unwrap_or_else(|_| Err(s3_error!(RequestTimeout, "The form fields did not arrive in time.")))
}

async fn read_without_timeout<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    boundary: String,
) -> S3Result<(Fields, Field<'static>)>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let budget = ParseBudget::new();
    let mut form = Multipart::new(budget.limit_stream(body), boundary);
    let mut fields: Vec<(String, String)> = Vec::new();
    let mut bytes = 0;
    while let Some(mut field) = form.next_field().await.map_err(broken)? {
        budget.renew(0);
        let name = field.name().ok_or_else(malformed)?.to_ascii_lowercase();
        if name == "file" {
            // Some clients send a whole path; the name is after its last slash.
            let path = field.file_name().unwrap_or_default();
            let file_name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
            budget.remove_limit();
            return Ok((Fields { fields, file_name }, field));
        }
        bytes += name.len();
        let mut value = Vec::new();
        while let Some(piece) = field.chunk().await.map_err(broken)? {
            bytes += piece.len();
            if bytes > MAX_BYTES {
                return Err(too_long());
            }
            value.extend_from_slice(&piece);
        }
        if bytes > MAX_BYTES || fields.len() == MAX_FIELDS {
            return Err(too_long());
        }
        let value = String::from_utf8(value).map_err(|_| malformed())?;
        if fields.iter().any(|(known, _)| *known == name) {
            return Err(s3_error!(InvalidArgument, "A field of the form is given twice."));
        }
        fields.push((name, value));
    }
    Err(s3_error!(InvalidArgument, "POST requires exactly one file upload per request."))
}

fn too_long() -> S3Error {
    s3_error!(
        MaxPostPreDataLengthExceededError,
        "Your POST request fields preceding the upload file were too large."
    )
}

/// Returns the error for fields that are malformed or too slow.
fn broken(error: multer::Error) -> S3Error {
    body_not_read(&error).unwrap_or_else(malformed)
}
