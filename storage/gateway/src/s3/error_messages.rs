//! Messages for errors without one: s3s often returns only a code, which clients show as "Unknown".

use super::region::BUCKET_REGION;
use crate::http::protocol::RequestId;
use http::{HeaderMap, Response, StatusCode};
use s3s::xml::{DeError, DeResult, DeserializeContent, Deserializer};
use s3s::{Body, S3Error, S3ErrorCode};
use std::borrow::Cow;

/// An error as s3s writes it.
struct Refusal {
    code: S3ErrorCode,
    message: Option<String>,
}

impl<'xml> DeserializeContent<'xml> for Refusal {
    fn deserialize_content(reader: &mut Deserializer<'xml>) -> DeResult<Self> {
        let (mut code, mut message) = (None, None);
        reader.for_each_element(|reader, name| {
            match name {
                b"Code" => code = Some(reader.content::<String>()?),
                b"Message" => message = Some(reader.content()?),
                _ => return Err(DeError::UnexpectedTagName),
            }
            Ok(())
        })?;
        let code = code.ok_or(DeError::MissingField)?;
        let code =
            S3ErrorCode::from_bytes(code.as_bytes()).unwrap_or_else(|| S3ErrorCode::Custom(code.into()));
        Ok(Refusal { code, message })
    }
}

/// Adds a message and the request's number to an error response.
pub(crate) fn complete(response: Response<Body>, id: RequestId) -> Response<Body> {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let Some(text) = response.body().bytes() else { return response };
    let refusal = Deserializer::new(&text).named_element("Error", Deserializer::content::<Refusal>);
    let Ok(Refusal { code, message }) = refusal else { return response };
    let (code, status, message) = match (code, message) {
        // The gateway always gives a reason for its own failures; without one, s3s could not read a body.
        (S3ErrorCode::InternalError, None) => {
            (S3ErrorCode::IncompleteBody, StatusCode::BAD_REQUEST, UNREAD.into())
        }
        (code, Some(message)) => (code, status, clearer_message(&message).unwrap_or(message.into())),
        (code, None) => {
            let message = default_message(&code);
            (code, status, message)
        }
    };
    let mut completed = S3Error::with_message(code, message);
    completed.set_request_id(id.to_string());
    let Ok(completed) = completed.to_http_response() else { return response };
    let body = with_region(completed.into_body(), response.headers());
    let mut response = response.map(|_| body);
    *response.status_mut() = status;
    response
}

/// Adds the region for which the request should have been signed, if the response names one.
fn with_region(body: Body, headers: &HeaderMap) -> Body {
    let region = headers.get(BUCKET_REGION).and_then(|region| region.to_str().ok());
    let (Some(region), Some(text)) = (region, body.bytes()) else { return body };
    let text = String::from_utf8_lossy(&text);
    Body::from(text.replace("</Error>", &format!("<Region>{region}</Region></Error>")))
}

/// Replaces s3s's message about an unsupported verb, which promises to support it later.
fn clearer_message(message: &str) -> Option<Cow<'static, str>> {
    if message == "Unknown operation" {
        return Some("This gateway knows no operation of this method, path and query.".into());
    }
    let verb = message.strip_suffix(" is not implemented yet")?;
    Some(format!("This gateway does not serve {verb}.").into())
}

/// The message for a body that s3s could not read: a fault of the client, for which s3s only has `InternalError`.
const UNREAD: &str = "The request could not be read: its body ended early, came too slowly, or does not match its \
     x-amz-content-sha256.";

pub(super) const MALFORMED_POST: &str =
    "The body of your POST request is not well-formed multipart/form-data.";

pub(super) const WRONG_LENGTH: &str =
    "You did not provide the number of bytes specified by the Content-Length HTTP header";

pub(super) const MALFORMED_XML: &str =
    "The XML you provided was not well-formed or did not validate against our published schema.";

/// Returns the message for a code that s3s returns without one.
fn default_message(code: &S3ErrorCode) -> Cow<'static, str> {
    let known = match code {
        S3ErrorCode::SignatureDoesNotMatch => {
            "The request signature we calculated does not match the signature you provided. Check your key and signing \
             method."
        }
        S3ErrorCode::InvalidBucketName => "The specified bucket is not valid.",
        S3ErrorCode::KeyTooLongError => "Your key is too long.",
        S3ErrorCode::InvalidURI => {
            "The path or the query of the request is not valid, or not percent-encoded UTF-8."
        }
        S3ErrorCode::MalformedXML => MALFORMED_XML,
        S3ErrorCode::AccessDenied => "Access Denied.",
        S3ErrorCode::InvalidAccessKeyId => {
            "The AWS Access Key Id you provided does not exist in our records."
        }
        S3ErrorCode::MissingRequestBodyError => "The body is missing: this operation expects XML.",
        S3ErrorCode::MissingContentLength => "The length of the body must be announced with Content-Length.",
        S3ErrorCode::IncompleteBody => WRONG_LENGTH,
        S3ErrorCode::MaxMessageLengthExceeded => "The XML in the body is too long.",
        S3ErrorCode::MethodNotAllowed => "This method is not allowed here.",
        S3ErrorCode::InvalidRange => "The range lies outside of the object.",
        S3ErrorCode::MalformedPOSTRequest => MALFORMED_POST,
        S3ErrorCode::InvalidPolicyDocument => "The policy of the form cannot be read.",
        other => return format!("The request was refused with the code {}.", other.as_str()).into(),
    };
    known.into()
}

#[cfg(test)]
mod tests {
    use super::*;
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
