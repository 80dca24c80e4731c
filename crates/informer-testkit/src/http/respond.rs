//! Responses from what a handler found.

use http::{HeaderName, HeaderValue, Response, StatusCode, header};

use super::body::Body;
use crate::encode::{self, Form, ListChunks};
use crate::fault::Answer;
use crate::model::StoredObject;
use crate::resource::ResourceType;
use crate::status::Status;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Shorter bodies go with a `Content-Length`, longer ones in chunks, as in Go's server.
const CHUNKED_FROM: usize = 2048;

fn response(code: StatusCode, content_type: HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, private"),
    );
    headers.insert(header::CONTENT_TYPE, content_type);
    response
}

/// JSON that is at hand as a whole.
pub(crate) fn json(code: StatusCode, body: impl Into<bytes::Bytes>) -> Response<Body> {
    response(code, JSON, Body::whole(body))
}

/// As [`json`], with another media type.
pub(crate) fn typed(content_type: &'static str, body: impl Into<bytes::Bytes>) -> Response<Body> {
    response(
        StatusCode::OK,
        HeaderValue::from_static(content_type),
        Body::whole(body),
    )
}

/// A failure, or the success of a delete.
pub(crate) fn status(status: Status) -> Response<Body> {
    let mut response = scripted(&Answer::from(status));
    let cache = HeaderValue::from_static("no-cache, private");
    response.headers_mut().insert(header::CACHE_CONTROL, cache);
    response
}

/// An answer of the script, just as it says.
pub(crate) fn scripted(answer: &Answer) -> Response<Body> {
    let mut response = Response::new(Body::whole(answer.body().clone()));
    *response.status_mut() =
        StatusCode::from_u16(answer.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in answer.headers() {
        let header = (HeaderName::try_from(name), HeaderValue::try_from(value));
        if let (Ok(name), Ok(value)) = header {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// One object.
pub(crate) fn object(
    code: StatusCode,
    resource: &ResourceType,
    object: &StoredObject,
    form: Form,
) -> Response<Body> {
    let mut body = Vec::with_capacity(object.body().len() + 64);
    encode::object(resource, object, object.revision(), form, &mut body);
    json(code, body)
}

/// A list, which goes out as it is encoded.
pub(crate) fn list(mut chunks: ListChunks) -> Response<Body> {
    let first = chunks.next().unwrap_or_default();
    if first.len() <= CHUNKED_FROM {
        return json(StatusCode::OK, first);
    }
    response(StatusCode::OK, JSON, Body::list(chunks.put_back(first)))
}

/// A watch stream.
pub(crate) fn watch(body: Body) -> Response<Body> {
    response(StatusCode::OK, JSON, body)
}

/// A watch stream that holds one error and ends.
pub(crate) fn error_event(status: &Status) -> Response<Body> {
    let (events, body) = tokio::sync::mpsc::channel(1);
    // The channel has room for one.
    let _ = events.try_send(Ok(encode::error_event(status)));
    watch(Body::watch(body))
}
