//! One answer.

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use informer_wire::Status;

use crate::body::Body;
use crate::error::Error;

/// How much of an error's body is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// How much text of an error that is no `Status` is shown, in characters.
const MAX_ERROR_TEXT: usize = 2_048;

/// How long the body of an error may take.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time that a server's wish to wait is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The answer to a request. Its body comes chunk by chunk. Dropping it ends the request.
pub struct Response {
    answer: reqwest::Response,
}

impl Response {
    pub(crate) const fn new(answer: reqwest::Response) -> Self {
        Self { answer }
    }

    /// The status code.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.answer.status()
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.answer.headers()
    }

    /// The type of the body, as the server calls it.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.headers().get(header::CONTENT_TYPE)?.to_str().ok()
    }

    /// How long the server asks to wait: the header `Retry-After` in seconds, at most five minutes.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
        let seconds = text.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER)).filter(|wait| !wait.is_zero())
    }

    /// The next piece of the body as it arrived; `None` at its end.
    ///
    /// Cancel safe: a piece is either returned or comes with the next call.
    ///
    /// # Errors
    /// When the connection breaks, or the body ends before its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        self.answer.chunk().await.map_err(Error::from_reqwest)
    }

    /// The body as a stream of its pieces.
    #[must_use]
    pub fn into_body(self) -> Body {
        Body::new(self.answer)
    }

    /// The whole body, if it is no larger than `limit` bytes.
    ///
    /// # Errors
    /// When the body is larger, or the connection breaks.
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, Error> {
        let mut whole = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if chunk.len() > limit - whole.len() {
                return Err(Error::TooLarge { limit });
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }

    /// The same answer if it is a success (2xx); else what the server said, as an error.
    ///
    /// # Errors
    /// [`Error::Status`] for every other status, redirects included.
    pub async fn error_for_status(self) -> Result<Self, Error> {
        if self.status().is_success() {
            Ok(self)
        } else {
            Err(self.into_error().await)
        }
    }

    /// What the server said, as an error. Reads the body, within limits, and makes do with the status code if the body
    /// says nothing.
    pub async fn into_error(mut self) -> Error {
        let code = self.status();
        let wait = self.retry_after();
        let readable = self.content_type().is_none_or(|content_type| {
            content_type.starts_with("text/") || content_type.contains("json")
        });
        let mut body = Vec::new();
        // A body that never ends or breaks off is taken as far as it came.
        let read = async {
            while let Ok(Some(chunk)) = self.chunk().await {
                let room = MAX_ERROR_BYTES - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if body.len() == MAX_ERROR_BYTES {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(ERROR_BODY_TIMEOUT, read).await;
        if !readable {
            body.clear();
        }
        let status = status(code, &body);
        let retry_after = wait.or_else(|| status.retry_after().map(|w| w.min(MAX_RETRY_AFTER)));
        Error::Status {
            status: Box::new(status),
            retry_after,
        }
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status())
            .field("content_type", &self.content_type())
            .finish_non_exhaustive()
    }
}

/// Reads an error's body as a `Status`, or makes one of the code and the text.
fn status(code: StatusCode, body: &[u8]) -> Status {
    let parsed: Option<Status> = serde_json::from_slice(body).ok();
    let said = parsed.filter(|status| !status.message.is_empty() || !status.reason.is_empty());
    let mut status = said.unwrap_or_else(|| Status::failure(code.as_u16(), "", text(code, body)));
    // The HTTP status is what proxies and the server agree on.
    if status.code == 0 {
        status.code = code.as_u16();
    }
    if status.reason.is_empty() {
        reason(code).clone_into(&mut status.reason);
    }
    status
}

/// The usual reason for a code; empty if there is none.
const fn reason(code: StatusCode) -> &'static str {
    match code.as_u16() {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}

/// The body as one line to show: printable, short.
fn text(code: StatusCode, body: &[u8]) -> String {
    if code.is_redirection() {
        return "the server redirects, and redirects are not followed; correct its address"
            .to_owned();
    }
    let text = String::from_utf8_lossy(body);
    let text: String = text
        .split_whitespace()
        .flat_map(|word| [" ", word])
        .skip(1)
        .flat_map(str::chars)
        .filter(|c| !c.is_control())
        .take(MAX_ERROR_TEXT)
        .collect();
    if text.is_empty() {
        code.canonical_reason().unwrap_or("error").to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: u16, body: &str) -> Status {
        status(StatusCode::from_u16(code).unwrap(), body.as_bytes())
    }

    #[test]
    fn a_status_is_read_and_completed() {
        let status = of(
            504,
            r#"{"metadata":{},"status":"Failure","message":"slow","reason":"Timeout"}"#,
        );
        assert_eq!(
            (status.code, status.reason.as_str(), status.message.as_str()),
            (504, "Timeout", "slow")
        );
    }

    #[test]
    fn what_is_no_status_becomes_one() {
        for (code, body, message, reason) in [
            (
                429,
                "Too many requests,\n\tplease try again later.\n",
                "Too many requests, please try again later.",
                "TooManyRequests",
            ),
            (
                502,
                "<html>bad \u{1b}[31mgateway</html>",
                "<html>bad [31mgateway</html>",
                "",
            ),
            (404, "", "Not Found", "NotFound"),
            (
                503,
                "{\"some\":\"json\"}",
                "{\"some\":\"json\"}",
                "ServiceUnavailable",
            ),
            (500, "null", "null", "InternalError"),
        ] {
            let status = of(code, body);
            assert_eq!(status.code, code);
            assert_eq!(status.message, message);
            assert_eq!(status.reason, reason);
        }
        assert!(of(302, "<a href=x>").message.contains("not followed"));
        assert_eq!(of(500, &"x".repeat(100_000)).message.len(), MAX_ERROR_TEXT);
    }
}
