//! One response.

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use informer_wire::Status;

use crate::body::Body;
use crate::error::Error;
use crate::transport::Place;

/// The limit of reading the body of an error.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time that a server may ask to wait.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The response to a request. Its body is read chunk by chunk. Dropping it ends the request.
pub struct Response {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

impl Response {
    pub(crate) fn from_reqwest(mut answer: reqwest::Response, place: Place) -> Self {
        Self {
            status: answer.status(),
            headers: std::mem::take(answer.headers_mut()),
            body: Body::from_reqwest(answer, place),
        }
    }

    #[cfg(feature = "tower")]
    pub(crate) const fn new(status: StatusCode, headers: HeaderMap, body: Body) -> Self {
        Self {
            status,
            headers,
            body,
        }
    }

    /// Unpacks the body if the server compressed it. The head is then of the unpacked body.
    pub(crate) fn unpacked(mut self) -> Self {
        let coding = self.headers.get(header::CONTENT_ENCODING);
        if coding.is_some_and(|coding| coding.as_bytes().eq_ignore_ascii_case(b"gzip")) {
            self.headers.remove(header::CONTENT_ENCODING);
            self.headers.remove(header::CONTENT_LENGTH);
            self.body.gunzip();
        }
        self
    }

    /// Returns the status code.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the headers.
    #[must_use]
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the content type.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.headers().get(header::CONTENT_TYPE)?.to_str().ok()
    }

    /// Returns the time to wait before trying again: the header `Retry-After` in seconds, at most five minutes.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
        let seconds = text.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER)).filter(|wait| !wait.is_zero())
    }

    /// Returns the next chunk of the body as it was received; `None` at its end.
    ///
    /// Cancel safe: a chunk is either returned or left for the next call.
    ///
    /// # Errors
    /// When the connection breaks, or the body ends before its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        self.body.chunk().await
    }

    /// Returns the body as a stream of its chunks.
    #[must_use]
    pub fn into_body(self) -> Body {
        self.body
    }

    /// Returns the whole body, if it is no larger than `limit` bytes.
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

    /// Returns the same response if it is a success (2xx), else the server's error.
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

    /// Reads the server's error. The body is read within limits; the status code is enough.
    pub async fn into_error(mut self) -> Error {
        let code = self.status();
        let wait = self.retry_after();
        if code.is_redirection() {
            let message =
                "the server redirects, and redirects are not followed; correct its address";
            return Error::from_status(Status::failure(code.as_u16(), "", message));
        }
        let mut body = Vec::new();
        // A body that never ends or breaks off is taken as far as it came.
        let read = async {
            while let Ok(Some(chunk)) = self.chunk().await {
                let room = Status::MAX_BODY - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if body.len() == Status::MAX_BODY {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(ERROR_BODY_TIMEOUT, read).await;
        let status = Status::from_response(code.as_u16(), self.content_type(), &body);
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
