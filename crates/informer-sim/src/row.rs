//! Every row of the error table (protocol 1.9), the faults of networks, and odd servers, as faults of the test kit.

use std::time::Duration;

use base64::Engine as _;
use fastrand::Rng;
use informer_testkit::{Answer, Fault, Status, StatusCause, StreamEnd, status};

/// Where trouble meets a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// The first page of a list.
    List,
    /// A later page.
    NextPage,
    /// The opening of a watch.
    Watch,
    /// The opening of a streaming list.
    Stream,
    /// Within a watch that is open.
    WithinWatch,
    /// Within a streaming list, before the end of its initial events.
    WithinStream,
}

impl Place {
    pub(crate) const ALL: &'static [Self] = &[
        Self::List,
        Self::NextPage,
        Self::Watch,
        Self::Stream,
        Self::WithinWatch,
        Self::WithinStream,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::NextPage => "next page",
            Self::Watch => "watch",
            Self::Stream => "stream",
            Self::WithinWatch => "within watch",
            Self::WithinStream => "within stream",
        }
    }

    const fn is_list(self) -> bool {
        matches!(self, Self::List | Self::NextPage)
    }

    const fn is_open(self) -> bool {
        matches!(self, Self::WithinWatch | Self::WithinStream)
    }
}

macro_rules! rows {
    ($($row:ident = $name:literal,)*) => {
        /// One kind of trouble.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Row { $($row,)* }

        impl Row {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$row,)*];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$row => $name,)* }
            }
        }
    };
}

rows! {
    // The error table.
    TooOld = "410 Expired",
    TooOldAsGone = "410 Gone",
    TooOldAsAnswer = "410 as answer",
    ExpiredToken = "410 with a token",
    TooLarge = "504 too large",
    TooLargeInWords = "504 too large, old",
    PlainTimeout = "504 bare",
    Throttled = "429 text",
    NotReady = "429 not ready",
    BusyShutdown = "429 shutting down",
    Shutdown = "503 shutting down",
    ServerTimeout = "500 ServerTimeout",
    Internal = "500 InternalError",
    StorageRead = "500 StorageReadError",
    Unauthorized = "401",
    Forbidden = "403",
    NotFound = "404",
    NotAllowed = "405",
    BadRequest = "400",
    Invalid = "422",
    NotAcceptable = "406",
    Proxy502 = "502 html",
    Proxy503 = "503 html",
    Proxy504 = "504 text",
    Redirect = "302",
    UnknownCode = "418",
    // The network.
    Refused = "refused",
    Reset = "reset",
    BlackHole = "black hole",
    SlowAnswer = "slow answer",
    SlowBody = "slow body",
    Cut = "cut",
    EndsEarly = "ends early",
    Stalls = "stalls",
    // Odd servers.
    Garbage = "garbage",
    PageWithoutItems = "page without items",
    ClosesAtOnce = "closes at once",
    Unmarked = "no end marker",
    UnknownParameters = "parameters ignored",
    Shuffled = "shuffled, doubled",
    UnknownEvent = "unknown event",
    Nameless = "nameless object",
    SourcePanics = "source panics",
}

impl Row {
    /// Whether this trouble can come there.
    pub(crate) fn fits(self, place: Place) -> bool {
        if place.is_open() {
            return self.within().is_some();
        }
        match self {
            Self::TooOld | Self::TooOldAsGone => !place.is_list(),
            Self::ExpiredToken => place == Place::NextPage,
            Self::TooOldAsAnswer => place != Place::NextPage,
            Self::PageWithoutItems => place == Place::List,
            Self::ClosesAtOnce | Self::UnknownEvent | Self::Nameless => !place.is_list(),
            Self::Unmarked | Self::Shuffled | Self::UnknownParameters => place == Place::Stream,
            _ => true,
        }
    }

    /// How it ends a stream that is open, if it can.
    pub(crate) fn within(self) -> Option<StreamEnd> {
        let status = match self {
            Self::EndsEarly => return Some(StreamEnd::Clean),
            Self::Cut => return Some(StreamEnd::Cut),
            Self::Stalls => return Some(StreamEnd::Silence),
            Self::TooOldAsAnswer
            | Self::PlainTimeout
            | Self::Throttled
            | Self::BusyShutdown
            | Self::Redirect
            | Self::NotAcceptable => return None,
            _ => self.status()?,
        };
        Some(StreamEnd::Error(status))
    }

    /// What the server says, where it says it by a status.
    fn status(self) -> Option<Status> {
        let status = match self {
            Self::TooOld | Self::TooOldAsAnswer => status::too_old(7, 90),
            Self::TooOldAsGone => Status::failure(410, "Gone", "too old resource version: 7 (90)"),
            Self::TooLarge => status::too_large(1 << 40, 90, 1),
            Self::TooLargeInWords => {
                let why = "Too large resource version: 1099511627776, current: 90";
                Status::failure(504, "Timeout", why)
            }
            Self::NotReady => {
                Status::failure(429, "TooManyRequests", "storage is (re)initializing")
                    .with_retry_after(3)
            }
            Self::Shutdown => {
                let why = "apiserver is shutting down";
                Status::failure(503, "ServiceUnavailable", why).with_retry_after(1)
            }
            Self::ServerTimeout => {
                let why = "the operation could not be completed at this time, please try again";
                Status::failure(500, "ServerTimeout", why).with_retry_after(2)
            }
            Self::Internal => status::internal("Internal error occurred: etcdserver: no leader"),
            Self::StorageRead => {
                let why = "failed to read one or more objects from the storage";
                Status::failure(500, "StorageReadError", why)
            }
            Self::Unauthorized => status::unauthorized(),
            Self::Forbidden => status::forbidden("nobody", "list", "", "configmaps", ""),
            Self::NotFound => status::unknown_resource(),
            Self::NotAllowed => {
                let why = "the server does not allow this method on the requested resource";
                Status::failure(405, "MethodNotAllowed", why)
            }
            Self::BadRequest => status::bad_request("invalid resource version"),
            Self::Invalid => {
                let why = "Forbidden: sendInitialEvents is forbidden for watch";
                let cause =
                    StatusCause::new("FieldValueForbidden", why).with_field("sendInitialEvents");
                status::invalid("meta.k8s.io", "ListOptions", "", vec![cause])
            }
            Self::NotAcceptable => Status::failure(406, "NotAcceptable", "only these media types"),
            Self::UnknownCode => Status::failure(418, "Teapot", "short and stout"),
            _ => return None,
        };
        Some(status)
    }

    /// This trouble for one request. `revision` is the server's present one, `asked` the one of the request.
    pub(crate) fn fault(self, place: Place, revision: u64, asked: u64, rng: &mut Rng) -> Fault {
        let some_bytes = rng.u64(0..600);
        match self {
            Self::TooOld | Self::TooOldAsGone => self.error_event(),
            Self::TooLarge if !place.is_list() => self.error_event(),
            Self::ExpiredToken => {
                let why = "The provided continue parameter is too old";
                let mut expired = status::expired(why);
                expired.metadata.continue_token = Some(token(-1, "a").into());
                expired.into()
            }
            Self::PlainTimeout => bare_timeout().into(),
            Self::Throttled => throttled(rng.u64(1..33)).into(),
            Self::BusyShutdown => throttled(5).header("connection", "close").into(),
            Self::Proxy502 | Self::Proxy503 => {
                let code = if self == Self::Proxy502 { 502 } else { 503 };
                let page = "<html><head><title>upstream is away</title></head></html>";
                Answer::text(code, page)
                    .header("content-type", "text/html")
                    .into()
            }
            Self::Proxy504 => Answer::text(504, "upstream request timeout").into(),
            Self::Redirect => Answer::text(302, "")
                .header("location", "http://elsewhere/")
                .into(),
            Self::Refused => Fault::Refuse,
            Self::Reset => Fault::Disconnect,
            Self::BlackHole => Fault::HoldOpen,
            Self::SlowAnswer => Fault::Delay(Duration::from_millis(rng.u64(1..54_000))),
            Self::SlowBody => Fault::Trickle {
                bytes: rng.usize(20..400),
                every: Duration::from_millis(rng.u64(1..3000)),
            },
            Self::Cut => Fault::Cut { after: some_bytes },
            Self::EndsEarly => Fault::End { after: some_bytes },
            Self::Stalls => Fault::Stall { after: some_bytes },
            Self::Garbage => Answer::json(200, "\u{0}\u{1}{]not json").into(),
            Self::PageWithoutItems => page_without_items(revision).into(),
            Self::ClosesAtOnce => Answer::json(200, "").into(),
            Self::Unmarked => Fault::WithoutInitialEventsEnd,
            Self::UnknownParameters => Fault::Ignore(
                ["sendInitialEvents", "resourceVersionMatch"]
                    .map(str::to_owned)
                    .to_vec(),
            ),
            Self::Shuffled => Fault::Shuffled(rng.u64(..)),
            Self::UnknownEvent => {
                let unknown = "{\"type\":\"NEWS\",\"object\":{\"metadata\":{\"resourceVersion\":\"999999999\"}}}\n";
                Fault::Before(unknown.into())
            }
            Self::Nameless => {
                let object = format!(
                    "{{\"metadata\":{{\"resourceVersion\":\"{}\"}}}}",
                    asked.max(1)
                );
                Fault::Before(format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n").into())
            }
            // Not the server's doing: see `Checked`.
            Self::SourcePanics => Fault::Disconnect,
            _ => self
                .status()
                .unwrap_or_else(|| status::internal("?"))
                .into(),
        }
    }

    fn error_event(self) -> Fault {
        Fault::ErrorEvent(self.status().unwrap_or_else(|| status::internal("?")))
    }

    /// How long the server asks to wait with this fault.
    pub(crate) fn asked_to_wait(fault: &Fault) -> Option<Duration> {
        let seconds = match fault {
            Fault::Answer(answer) => answer.header_value("retry-after")?.parse().ok()?,
            Fault::ErrorEvent(status) => u64::from(status.details.as_ref()?.retry_after_seconds),
            _ => return None,
        };
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }
}

fn throttled(seconds: u64) -> Answer {
    let text = "Too many requests, please try again later.\n";
    Answer::text(429, text).header("retry-after", seconds.to_string())
}

/// A request that took the server a minute: no kind, no content type.
fn bare_timeout() -> Answer {
    let why = "request did not complete within the allotted timeout";
    let body = format!(
        "{{\"metadata\":{{}},\"status\":\"Failure\",\"message\":\"{why}\",\"reason\":\"Timeout\",\"details\":{{}},\"code\":504}}"
    );
    Answer::json(504, body)
}

fn page_without_items(revision: u64) -> Answer {
    let token = token(i64::try_from(revision).unwrap_or(i64::MAX), "/!");
    let metadata = format!("{{\"resourceVersion\":\"{revision}\",\"continue\":\"{token}\"}}");
    Answer::json(
        200,
        format!(
            "{{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{metadata},\"items\":null}}"
        ),
    )
}

fn token(revision: i64, start: &str) -> String {
    let text = format!("{{\"v\":\"meta.k8s.io/v1\",\"rv\":{revision},\"start\":\"{start}\"}}");
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
}
