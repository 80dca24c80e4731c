//! Responses from the results of handlers.

use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use informer_wire::Status;

use super::body::Body;
use crate::encode::{self, Encoding, Format, ListChunks};
use crate::fault::Answer;
use crate::model::StoredObject;
use crate::resource::ResourceType;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/vnd.kubernetes.protobuf");
const PROTOBUF_WATCH: HeaderValue =
    HeaderValue::from_static("application/vnd.kubernetes.protobuf;stream=watch");

const fn content_type(format: Format) -> HeaderValue {
    match format {
        Format::Json => JSON,
        Format::Protobuf => PROTOBUF,
    }
}

/// Shorter bodies have a `Content-Length`, longer ones are chunked, as in Go's server.
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

/// Responds with JSON.
pub(crate) fn json(code: StatusCode, body: impl Into<bytes::Bytes>) -> Response<Body> {
    response(code, JSON, Body::whole(body))
}

/// Responds with an encoded object.
pub(crate) fn whole(
    code: StatusCode,
    format: Format,
    body: impl Into<bytes::Bytes>,
) -> Response<Body> {
    response(code, content_type(format), Body::whole(body))
}

/// Responds as [`json`], with another media type.
pub(crate) fn typed(content_type: &'static str, body: impl Into<bytes::Bytes>) -> Response<Body> {
    response(
        StatusCode::OK,
        HeaderValue::from_static(content_type),
        Body::whole(body),
    )
}

/// Responds with a failure, or the success of a delete.
pub(crate) fn status(status: Status, format: Format) -> Response<Body> {
    let encoded = (format == Format::Protobuf).then(|| encode::status(&status));
    let mut response = scripted(&Answer::from(status));
    if let Some(encoded) = encoded {
        *response.body_mut() = Body::whole(encoded);
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, PROTOBUF);
    }
    let cache = HeaderValue::from_static("no-cache, private");
    response.headers_mut().insert(header::CACHE_CONTROL, cache);
    response
}

/// Responds as scripted.
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

/// Responds with one object.
pub(crate) fn object(
    code: StatusCode,
    resource: &ResourceType,
    object: &StoredObject,
    encoding: Encoding,
) -> Response<Body> {
    let mut body = Vec::with_capacity(object.body().len() + 64);
    encode::object(resource, object, object.revision(), encoding, &mut body);
    response(code, content_type(encoding.format), Body::whole(body))
}

/// How much text warnings may have, and each of them once that is too little.
const WARNINGS: usize = 4 * 1024;
const WARNING: usize = 256;

/// Adds a `Warning` header for each text.
pub(crate) fn warned(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    let length = |text: &str| text.chars().count();
    let cut = warnings.iter().map(|text| length(text)).sum::<usize>() > WARNINGS;
    let mut written = 0;
    for text in warnings {
        let text: String = match cut {
            true => text.chars().take(WARNING).collect(),
            false => text.clone(),
        };
        if written >= WARNINGS {
            break;
        }
        written += length(&text);
        let text: String = text.chars().filter(|char| !char.is_control()).collect();
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}

/// Responds with a list, which is encoded while it is sent.
pub(crate) fn list(mut chunks: ListChunks) -> Response<Body> {
    let content_type = content_type(chunks.format());
    let first = chunks.next().unwrap_or_default();
    if first.len() <= CHUNKED_FROM {
        return response(StatusCode::OK, content_type, Body::whole(first));
    }
    let body = Body::list(chunks.put_back(first));
    response(StatusCode::OK, content_type, body)
}

/// Adds the warning about a kind that is deprecated.
pub(crate) fn with_deprecation(
    mut response: Response<Body>,
    resource: &ResourceType,
) -> Response<Body> {
    if resource.plural == "endpoints" && resource.group.is_empty() && !resource.custom {
        const WARNING: HeaderValue = HeaderValue::from_static(
            "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"",
        );
        response.headers_mut().insert(header::WARNING, WARNING);
    }
    response
}

/// Responds with a watch.
pub(crate) fn watch(body: Body, format: Format) -> Response<Body> {
    let content_type = match format {
        Format::Json => JSON,
        Format::Protobuf => PROTOBUF_WATCH,
    };
    response(StatusCode::OK, content_type, body)
}

/// Responds with a watch that sends one error and ends.
pub(crate) fn error_event(status: &Status, format: Format) -> Response<Body> {
    let (events, body) = tokio::sync::mpsc::channel(1);
    // The channel has room for one.
    let _ = events.try_send(Ok(encode::error_event(status, format)));
    watch(Body::watch(body), format)
}
