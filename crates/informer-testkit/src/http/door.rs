//! The door of the server: a request's body is read whole, so that a request is the same from a socket and from memory.

use std::pin::pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::Request;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use informer_wire::Status;

use super::Disconnect;

/// The most bytes that a real server accepts.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// Reads the body of a request, as far as [`check_size`] needs it.
///
/// Fails when the client breaks off.
pub(super) async fn read<B: Body>(request: Request<B>) -> Result<Request<Bytes>, Disconnect> {
    let (parts, body) = request.into_parts();
    let mut body = pin!(body);
    let mut whole = BytesMut::new();
    while whole.len() <= BODY_LIMIT {
        match body.frame().await {
            None => break,
            Some(Err(_)) => return Err(Disconnect { refused: false }),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    whole.put(data.take(BODY_LIMIT + 1 - whole.len()));
                }
            }
        }
    }
    Ok(Request::from_parts(parts, whole.freeze()))
}

/// Refuses a body that is too large, with 413. A real server does so where it reads the body, after it has found the
/// resource.
pub(super) fn check_size(body: &Bytes) -> Result<(), Status> {
    if body.len() <= BODY_LIMIT {
        return Ok(());
    }
    let message = format!("Request entity too large: limit is {BODY_LIMIT}");
    Err(Status::failure(413, "RequestEntityTooLarge", message))
}
