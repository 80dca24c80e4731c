//! The HTTP side: one function from a request to a response, and the one place where faults are
//! applied.

mod body;
mod discovery;
mod door;
mod negotiate;
mod openapi;
mod read;
mod respond;
mod stream;
mod subresource;
mod write;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use hyper::body::Body as HttpBody;
use informer_wire::Status;

pub(crate) use self::body::Body;
use self::body::Ending;
use self::negotiate::{Protobuf, Shape, negotiate};
use crate::encode::{self, Encoding, Format};
use crate::fault::Fault;
use crate::hooks;
use crate::model::Part;
use crate::request::{RequestRecord, Verb};
use crate::resource::ResourceType;
use crate::shared::Shared;
use crate::status;

/// The error of a connection that is dropped without a response.
#[derive(Debug)]
pub(crate) struct Disconnect {
    /// Whether as if nothing listened.
    pub(crate) refused: bool,
}

/// The effect of a fault on a true response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tweak {
    None,
    /// The initial events have no bookmark at their end.
    WithoutInitialEventsEnd,
    /// The initial events are in another order, some of them twice.
    Shuffled(u64),
}

impl std::fmt::Display for Disconnect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the script says to disconnect")
    }
}

impl std::error::Error for Disconnect {}

/// Responds to one request of a client, which has a name or an empty one.
pub(crate) async fn serve<B: HttpBody>(
    shared: Arc<Shared>,
    client: String,
    request: Request<B>,
) -> Result<Response<Body>, Disconnect> {
    let request = door::read(request).await?;
    let mut record = record(&request);
    record.client = client;
    exchange(shared, record, request).await
}

/// Responds to one request, whose body is read.
pub(crate) async fn exchange(
    shared: Arc<Shared>,
    mut record: RequestRecord,
    request: Request<Bytes>,
) -> Result<Response<Body>, Disconnect> {
    record.time = shared.clock.now().into();
    if shared.settings.recorded_bodies.has(&record) {
        record.body = Some(request.body().clone());
    }
    shared.log(&record);
    let fault = shared.take_fault(&record);
    if !hooks::run(&shared, &record).await {
        return Err(Disconnect { refused: false });
    }
    let Some(fault) = fault else {
        return Ok(answer(&shared, &record, &request, Tweak::None));
    };
    let plain = Tweak::None;
    match fault {
        Fault::Answer(answer) => Ok(respond::scripted(&answer)),
        Fault::ErrorEvent(status) => Ok(respond::error_event(
            &status,
            error_format(&shared, &record),
        )),
        Fault::Disconnect => Err(Disconnect { refused: false }),
        Fault::Refuse => Err(Disconnect { refused: true }),
        Fault::LoseResponse => {
            drop(answer(&shared, &record, &request, plain));
            Err(Disconnect { refused: false })
        }
        Fault::Late(delay) => late(shared, record, request, delay).await,
        Fault::HoldOpen => {
            // Ends with the client, which drops this future, or with the server.
            shared.shutdown.cancelled().await;
            Err(Disconnect { refused: false })
        }
        Fault::Delay(delay) => {
            tokio::time::sleep(delay).await;
            Ok(answer(&shared, &record, &request, plain))
        }
        Fault::Cut { after } => Ok(
            answer(&shared, &record, &request, plain).map(|body| body.limit(after, Ending::Cut))
        ),
        Fault::Stall { after } => {
            let answer = answer(&shared, &record, &request, plain);
            Ok(answer.map(|body| body.limit(after, Ending::Stall)))
        }
        Fault::End { after } => {
            let mut answer = answer(&shared, &record, &request, plain);
            // The shorter body has to look complete.
            answer.headers_mut().remove(header::CONTENT_LENGTH);
            Ok(answer.map(|body| body.limit(after, Ending::Clean)))
        }
        Fault::Before(bytes) => {
            let mut answer = answer(&shared, &record, &request, plain);
            answer.headers_mut().remove(header::CONTENT_LENGTH);
            Ok(answer.map(|body| body.begin_with(bytes)))
        }
        Fault::Trickle { bytes, every } => {
            let answer = answer(&shared, &record, &request, plain);
            Ok(answer.map(|body| body.trickle(bytes, every)))
        }
        Fault::Ignore(parameters) => {
            record.query.retain(|(key, _)| !parameters.contains(key));
            // A server that does not know the parameter does not know that bookmark either.
            Ok(answer(
                &shared,
                &record,
                &request,
                Tweak::WithoutInitialEventsEnd,
            ))
        }
        Fault::WithoutInitialEventsEnd => Ok(answer(
            &shared,
            &record,
            &request,
            Tweak::WithoutInitialEventsEnd,
        )),
        Fault::Shuffled(seed) => Ok(answer(&shared, &record, &request, Tweak::Shuffled(seed))),
    }
}

/// Responds later, and carries the request out although the client may be gone by then.
async fn late(
    shared: Arc<Shared>,
    record: RequestRecord,
    request: Request<Bytes>,
    delay: Duration,
) -> Result<Response<Body>, Disconnect> {
    let carried_out = tokio::spawn(async move {
        let waited = tokio::time::sleep(delay);
        let shutdown = shared.shutdown.clone();
        shutdown.run_until_cancelled(waited).await?;
        Some(answer(&shared, &record, &request, Tweak::None))
    });
    match carried_out.await {
        Ok(answer) => answer.ok_or(Disconnect { refused: false }),
        // Only a runtime that ends cancels it.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Disconnect { refused: false }),
        },
    }
}

fn record(request: &Request<Bytes>) -> RequestRecord {
    let uri = request.uri();
    let mut record = RequestRecord::parse(
        request.method().as_str(),
        uri.path(),
        uri.query().unwrap_or_default(),
    );
    record.user_agent = header_text(request.headers(), header::USER_AGENT);
    record.accept = header_text(request.headers(), header::ACCEPT);
    record
}

/// Returns all values of a header, joined with commas.
fn header_text(headers: &HeaderMap, name: header::HeaderName) -> String {
    let values: Vec<&str> = headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    values.join(",")
}

fn answer(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    request: &Request<Bytes>,
    tweak: Tweak,
) -> Response<Body> {
    let authorization = header_text(request.headers(), header::AUTHORIZATION);
    if !shared.authorizes(&authorization) {
        return respond::status(status::unauthorized(), error_format(shared, record));
    }
    let allowed = shared.rights.lock().check(record);
    if let Err(forbidden) = allowed {
        return respond::status(forbidden, error_format(shared, record));
    }
    let answer = if record.resource.is_empty() {
        discovery::answer(shared, record)
    } else {
        resource(shared, record, request, tweak)
    };
    answer.unwrap_or_else(|status| respond::status(status, error_format(shared, record)))
}

/// Returns the format for errors.
fn error_format(shared: &Shared, record: &RequestRecord) -> Format {
    let protobuf = Protobuf {
        spoken: shared.settings.protobuf,
        whole: true,
    };
    negotiate::error_format(&record.accept, protobuf)
}

/// The resource of a path.
struct Target {
    resource: Arc<ResourceType>,
    part: Part,
}

impl Target {
    /// Returns format and form of the response.
    fn negotiate(
        &self,
        shared: &Shared,
        record: &RequestRecord,
        shape: Shape,
    ) -> Result<Encoding, Status> {
        let protobuf = Protobuf {
            spoken: shared.settings.protobuf,
            whole: encode::has_table(&self.resource),
        };
        negotiate(&record.accept, shape, protobuf, shared.clock.now())
    }
}

fn resource(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    request: &Request<Bytes>,
    tweak: Tweak,
) -> Result<Response<Body>, Status> {
    if let Some(answer) = subresource::answer(shared, record, request) {
        return answer;
    }
    let target = target(shared, record)?;
    let answer = stored(shared, record, request, tweak, &target)?;
    Ok(respond::with_deprecation(answer, &target.resource))
}

/// Answers a request for stored objects.
fn stored(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    request: &Request<Bytes>,
    tweak: Tweak,
    target: &Target,
) -> Result<Response<Body>, Status> {
    match record.verb {
        verb if target.part == Part::Finalize && verb != Verb::Update => {
            return Err(status::method_not_allowed());
        }
        Verb::Get => return read::get(shared, record, target),
        Verb::List => return read::list(shared, record, target),
        Verb::Watch => return read::watch(shared, record, target, tweak),
        _ => {}
    }
    match record.verb {
        Verb::Create if record.name.is_empty() => write::create(shared, record, target, request),
        Verb::Update if !record.name.is_empty() => write::replace(shared, record, target, request),
        Verb::Patch if !record.name.is_empty() => write::patch(shared, record, target, request),
        Verb::Delete => write::delete(shared, record, target, request),
        // As on a real server, where one alone may take its contents with it.
        Verb::DeleteCollection if record.resource == "namespaces" && record.group.is_empty() => {
            Err(status::method_not_allowed())
        }
        Verb::DeleteCollection => write::delete_collection(shared, record, target, request),
        _ => Err(status::method_not_allowed()),
    }
}

/// 404 for a subresource that is not served; for custom resources a real server says it of the object.
fn unknown_subresource(resource: &ResourceType, name: &str) -> Status {
    if resource.custom {
        return status::not_found(resource, name);
    }
    status::unknown_resource()
}

/// Whether there is a `/finalize`: namespaces alone have it.
fn is_finalized(resource: &ResourceType) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

fn target(shared: &Shared, record: &RequestRecord) -> Result<Target, Status> {
    let resource = shared
        .cluster
        .lock()
        .find(&record.group, &record.version, &record.resource)?;
    let part = match record.subresource.as_str() {
        "" => Part::Main,
        "status" if resource.has_status => Part::Status,
        "finalize" if is_finalized(&resource) => Part::Finalize,
        _ => return Err(unknown_subresource(&resource, &record.name)),
    };
    // A namespace in the path of a cluster-scoped resource, or none where one is needed.
    let one = !record.name.is_empty() || record.verb == Verb::Create;
    if resource.namespaced == record.namespace.is_empty() && (one || !resource.namespaced) {
        return Err(status::unknown_resource());
    }
    Ok(Target { resource, part })
}
