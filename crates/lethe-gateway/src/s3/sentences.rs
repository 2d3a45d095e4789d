//! A sentence for every refusal: s3s names the code of its own refusals and often says no more, of which clients make
//! "Unknown".

use crate::http::door::RequestId;
use http::{Response, StatusCode};
use s3s::Body;
use std::borrow::Cow;

/// Puts a sentence and the request's number into an answer that refuses.
pub(crate) fn complete(response: Response<Body>, id: RequestId) -> Response<Body> {
    if !response.status().is_client_error() && !response.status().is_server_error() {
        return response;
    }
    let Some(text) = response.body().bytes().and_then(|bytes| String::from_utf8(bytes.into()).ok()) else {
        return response;
    };
    let Some(text) = completed(&text, id) else { return response };
    let unread = text.contains(UNREAD);
    let mut response = response.map(|_| Body::from(text));
    if unread {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}

/// The same refusal with a sentence and a number; `None` if it is no refusal.
fn completed(text: &str, id: RequestId) -> Option<String> {
    let (before, rest) = text.split_once("<Code>")?;
    let (code, rest) = rest.split_once("</Code>")?;
    let (message, after) = match rest.strip_prefix("<Message>").and_then(|rest| rest.split_once("</Message>"))
    {
        Some((message, after)) => (better(message).unwrap_or(message.into()), after),
        None => (sentence(code), rest),
    };
    let code = if message == UNREAD { "IncompleteBody" } else { code };
    let (after, end) = after.rsplit_once("</Error>")?;
    Some(format!(
        "{before}<Code>{code}</Code><Message>{message}</Message>{after}<RequestId>{id}</RequestId></Error>{end}"
    ))
}

/// A better text for s3s's words about a verb that is not served: it promises nothing.
fn better(message: &str) -> Option<Cow<'static, str>> {
    if message == "Unknown operation" {
        return Some("This gateway knows no operation of this method, path and query.".into());
    }
    let verb = message.strip_suffix(" is not implemented yet")?;
    Some(format!("This gateway does not serve {verb}.").into())
}

/// A body that s3s could not read: the client's doing, for which s3s has no code but `InternalError`.
const UNREAD: &str = "The request could not be read: its body ended early, came too slowly, or does not match its \
     x-amz-content-sha256.";

pub(super) const MALFORMED_POST: &str =
    "The body of your POST request is not well-formed multipart/form-data.";

pub(super) const MALFORMED_XML: &str =
    "The XML you provided was not well-formed or did not validate against our published schema.";

/// The sentence for a code that s3s answers with alone.
fn sentence(code: &str) -> Cow<'static, str> {
    let known = match code {
        "SignatureDoesNotMatch" => {
            "The request signature we calculated does not match the signature you provided. Check your key and signing \
             method."
        }
        "InvalidBucketName" => "The specified bucket is not valid.",
        "KeyTooLongError" => "Your key is too long.",
        "InvalidURI" => "The path or the query of the request is not valid, or not percent-encoded UTF-8.",
        "MalformedXML" => MALFORMED_XML,
        "AccessDenied" => "Access Denied.",
        "InvalidAccessKeyId" => "The AWS Access Key Id you provided does not exist in our records.",
        "MissingRequestBodyError" => "The body is missing: this operation expects XML.",
        "MissingContentLength" => "The length of the body must be announced with Content-Length.",
        "IncompleteBody" => {
            "You did not provide the number of bytes specified by the Content-Length HTTP header"
        }
        "MaxMessageLengthExceeded" => "The XML in the body is too long.",
        "MethodNotAllowed" => "This method is not allowed here.",
        "InvalidRange" => "The range lies outside of the object.",
        "MalformedPOSTRequest" => MALFORMED_POST,
        "InvalidPolicyDocument" => "The policy of the form cannot be read.",
        // The gateway says why where it fails itself; without a text it is s3s that could not read a body.
        "InternalError" => UNREAD,
        other => return format!("The request was refused with the code {other}.").into(),
    };
    known.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use s3s::{S3Error, S3ErrorCode};

    fn message(error: S3Error) -> String {
        let answer = complete(error.to_http_response().expect("XML"), RequestId(7));
        let text = String::from_utf8(answer.into_body().bytes().expect("all of it").into()).expect("UTF-8");
        let after = text.split_once("<Message>").expect("a message").1;
        after.split_once("</Message>").expect("its end").0.to_owned()
    }

    #[test]
    fn every_code_that_s3s_answers_with_alone_has_a_sentence_of_its_own() {
        let codes = [
            S3ErrorCode::SignatureDoesNotMatch,
            S3ErrorCode::InvalidBucketName,
            S3ErrorCode::KeyTooLongError,
            S3ErrorCode::InvalidURI,
            S3ErrorCode::MalformedXML,
            S3ErrorCode::MissingRequestBodyError,
            S3ErrorCode::MissingContentLength,
            S3ErrorCode::IncompleteBody,
            S3ErrorCode::MaxMessageLengthExceeded,
            S3ErrorCode::MethodNotAllowed,
            S3ErrorCode::InvalidRange,
            S3ErrorCode::MalformedPOSTRequest,
            S3ErrorCode::InvalidPolicyDocument,
            S3ErrorCode::InternalError,
        ];
        for code in codes {
            let name = code.as_str().to_owned();
            let message = message(S3Error::new(code));
            assert!(message.len() > 15, "{name}: {message}");
            assert!(!message.contains(&name), "{name} has no sentence of its own: {message}");
        }
        let message = message(S3Error::new(S3ErrorCode::SlowDown));
        assert_eq!(message, "The request was refused with the code SlowDown.");
    }

    #[test]
    fn a_refusal_that_has_a_sentence_keeps_it() {
        let kept = "The vault is <full> & closed.";
        let error = S3Error::with_message(S3ErrorCode::ServiceUnavailable, kept);
        assert_eq!(message(error), "The vault is &lt;full&gt; &amp; closed.");
        let missing =
            S3Error::with_message(S3ErrorCode::NotImplemented, "GetBucketAcl is not implemented yet");
        assert_eq!(message(missing), "This gateway does not serve GetBucketAcl.");
    }

    #[test]
    fn an_answer_that_is_no_refusal_is_left_alone() {
        let answer = Response::builder().status(StatusCode::OK).body(Body::from("<Code>x</Code>".to_owned()));
        let text = complete(answer.expect("an answer"), RequestId(7)).into_body().bytes().expect("all of it");
        assert_eq!(text, "<Code>x</Code>");
    }
}
