//! Maps errors of `object_store` to [`UntrustedError`]: missing, full, refused, or unavailable for now.

use ameles_core::store::{BucketVersion, UntrustedError};
use object_store::Error;
use std::io::{self, ErrorKind};

/// Maps an error from reading a bucket version.
pub(super) fn read_failure(of: BucketVersion, error: Error) -> UntrustedError {
    match error {
        Error::NotFound { .. } => UntrustedError::Missing(of),
        error => write_failure(error),
    }
}

/// Maps any other error. A full provider is reported like a full disk.
pub(super) fn write_failure(error: Error) -> UntrustedError {
    if is_storage_full(&error) {
        return UntrustedError::Refused(Box::new(io::Error::new(ErrorKind::StorageFull, error)));
    }
    let refused = match &error {
        // Nothing is read here that may be absent, so it is the store's own bucket or folder that is gone.
        Error::NotFound { .. }
        | Error::InvalidPath { .. }
        | Error::NotSupported { .. }
        | Error::AlreadyExists { .. }
        | Error::Precondition { .. }
        | Error::NotModified { .. }
        | Error::NotImplemented { .. }
        | Error::PermissionDenied { .. }
        | Error::Unauthenticated { .. }
        | Error::UnknownConfigurationKey { .. } => true,
        error => http_status(error).is_some_and(is_refusal) || io_kind(error).is_some_and(is_final),
    };
    if refused {
        UntrustedError::Refused(Box::new(error))
    } else {
        UntrustedError::Unavailable(Box::new(error))
    }
}

/// The result of a call whose requests failed like this: errors that a retry cannot fix come first, then the order of
/// the requests decides.
pub(super) fn worst_failure(failures: Vec<(usize, UntrustedError)>) -> Result<(), UntrustedError> {
    let first = failures
        .into_iter()
        .min_by_key(|(index, failure)| (matches!(failure, UntrustedError::Unavailable(_)), *index));
    first.map_or(Ok(()), |(_, failure)| Err(failure))
}

/// Returns whether a provider reports over HTTP that its storage is full.
fn is_storage_full(error: &Error) -> bool {
    // S3 itself has no such code: these are from Ceph, and from MinIO where it answers without the status.
    const CODES: [&str; 2] = ["QuotaExceeded", "XMinioStorageFull"];
    http_status(error) == Some(507) || provider_code(error).is_some_and(|code| CODES.contains(&code.as_str()))
}

/// Returns whether an HTTP status says that the same request will not succeed later.
fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 408 | 429)
}

fn is_final(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::FileTooLarge
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
    )
}

/// The HTTP status in an error. `object_store` does not export its type, so it is read from the message.
pub(super) fn http_status(error: &Error) -> Option<u16> {
    const BEFORE: &str = "non-2xx status code: ";
    causes(error).find_map(|cause| {
        let message = cause.to_string();
        let digits = &message[message.find(BEFORE)? + BEFORE.len()..];
        digits.get(..3)?.parse().ok()
    })
}

/// The provider's own error code: the `Code` of an XML answer.
pub(super) fn provider_code(error: &Error) -> Option<String> {
    let message = error.to_string();
    let (_, rest) = message.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let plain = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| code.to_owned())
}

/// The text of the innermost cause.
pub(super) fn root(error: &Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), |cause| cause.to_string())
}

fn io_kind(error: &Error) -> Option<ErrorKind> {
    causes(error).find_map(|cause| Some(cause.downcast_ref::<std::io::Error>()?.kind()))
}

fn causes<'a>(error: &'a Error) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |cause| cause.source())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_core::types::{Bucket, Version};

    fn generic(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Generic { store: "test", source: source.into() }
    }

    fn of() -> BucketVersion {
        BucketVersion { bucket: Bucket(1), version: Version { epoch: 1, counter: 1 } }
    }

    #[test]
    fn a_full_disk_and_a_forbidden_folder_are_refusals_and_a_reset_connection_is_not() {
        for (kind, refused) in [
            (ErrorKind::StorageFull, true),
            (ErrorKind::PermissionDenied, true),
            (ErrorKind::ConnectionReset, false),
            (ErrorKind::TimedOut, false),
        ] {
            let failure = write_failure(generic(std::io::Error::from(kind)));
            assert_eq!(matches!(failure, UntrustedError::Refused(_)), refused, "{kind}");
            assert_eq!(matches!(failure, UntrustedError::Unavailable(_)), !refused, "{kind}");
        }
    }

    #[test]
    fn a_client_error_is_a_refusal_and_a_server_error_is_not() {
        for (status, refused) in
            [("400 Bad Request", true), ("503 Service Unavailable", false), ("429 Slow", false)]
        {
            let message = format!("Server returned non-2xx status code: {status}: body");
            let failure = write_failure(generic(message));
            assert_eq!(matches!(failure, UntrustedError::Refused(_)), refused, "{status}");
        }
    }

    #[test]
    fn a_provider_that_is_full_is_told_as_a_full_disk_is() {
        let full = |answer: &str| {
            let message = format!("Server returned non-2xx status code: {answer}");
            let UntrustedError::Refused(why) = write_failure(generic(message)) else { return false };
            why.downcast_ref::<io::Error>().is_some_and(|why| why.kind() == ErrorKind::StorageFull)
        };
        assert!(full("507 Insufficient Storage: "));
        assert!(full("403 Forbidden: <Error><Code>QuotaExceeded</Code></Error>"));
        assert!(!full("403 Forbidden: <Error><Code>AccessDenied</Code></Error>"));
        assert!(!full("503 Service Unavailable: "));
    }

    #[test]
    fn a_providers_code_is_told_and_its_page_is_not() {
        let page = |code: &str| {
            generic(format!("403: <?xml?><Error><Code>{code}</Code><Message>long</Message></Error>"))
        };
        let code = provider_code(&page("SignatureDoesNotMatch"));
        assert_eq!(code.as_deref(), Some("SignatureDoesNotMatch"));
        assert_eq!(provider_code(&page("a b\u{1b}[31m")), None);
        assert_eq!(provider_code(&generic("no page")), None);
    }

    #[test]
    fn of_several_failures_the_one_no_retry_heals_is_told() {
        let failures = vec![
            (2, UntrustedError::Missing(of())),
            (0, write_failure(generic("gone for now"))),
            (1, UntrustedError::Truncated(of())),
        ];
        assert!(matches!(worst_failure(failures), Err(UntrustedError::Truncated(_))));
        assert!(worst_failure(Vec::new()).is_ok());
    }
}
