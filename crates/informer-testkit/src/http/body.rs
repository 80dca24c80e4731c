//! Response bodies: whole, in pieces, or fed by a watch; each may be made to fail.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::{Sleep, sleep};

use crate::encode::ListChunks;

/// The error of a body that breaks off. Hyper then closes the connection without a proper end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the script says to break the connection")
    }
}

impl std::error::Error for Broken {}

/// The end of a limited body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As if the body were complete.
    Clean,
    /// The connection breaks.
    Cut,
    /// Nothing follows.
    Stall,
}

/// The time for bytes written before a cut to leave the process; hyper drops those that it still holds when a body
/// fails.
const FLUSH: Duration = Duration::from_millis(20);

/// A body in small pieces.
#[derive(Debug)]
struct Trickle {
    bytes: usize,
    every: Duration,
    held: Bytes,
    timer: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum Source {
    Whole(Option<Bytes>),
    List(ListChunks),
    Watch(mpsc::Receiver<Result<Bytes, Broken>>),
}

/// The body of a response.
#[derive(Debug)]
pub(crate) struct Body {
    source: Source,
    limit: Option<(u64, Ending)>,
    flushing: Option<Pin<Box<Sleep>>>,
    before: Option<Bytes>,
    trickle: Option<Trickle>,
}

impl Body {
    fn from_source(source: Source) -> Self {
        Self {
            source,
            limit: None,
            flushing: None,
            before: None,
            trickle: None,
        }
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::from_source(Source::Whole(Some(bytes.into())))
    }

    pub(crate) fn list(chunks: ListChunks) -> Self {
        Self::from_source(Source::List(chunks))
    }

    pub(crate) fn watch(events: mpsc::Receiver<Result<Bytes, Broken>>) -> Self {
        Self::from_source(Source::Watch(events))
    }

    /// Limits the body to so many bytes.
    pub(crate) fn limit(mut self, bytes: u64, ending: Ending) -> Self {
        self.limit = Some((bytes, ending));
        self
    }

    /// Puts these bytes before the body.
    pub(crate) fn begin_with(mut self, bytes: Bytes) -> Self {
        self.before = Some(bytes);
        self
    }

    /// Cuts the body into pieces of so many bytes.
    pub(crate) fn trickle(mut self, bytes: usize, every: Duration) -> Self {
        self.trickle = Some(Trickle {
            bytes: bytes.max(1),
            every,
            held: Bytes::new(),
            timer: None,
        });
        self
    }

    fn poll_pieces(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let Some(mut trickle) = self.trickle.take() else {
            return self.poll_source(context);
        };
        let next = self.poll_piece(&mut trickle, context);
        self.trickle = Some(trickle);
        next
    }

    fn poll_piece(
        &mut self,
        trickle: &mut Trickle,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Broken>>> {
        if trickle.held.is_empty() {
            match ready!(self.poll_source(context)) {
                Some(Ok(bytes)) => trickle.held = bytes,
                end => return Poll::Ready(end),
            }
        }
        let every = trickle.every;
        let timer = trickle.timer.get_or_insert_with(|| Box::pin(sleep(every)));
        ready!(timer.as_mut().poll(context));
        trickle.timer = None;
        let piece = trickle.held.len().min(trickle.bytes);
        Poll::Ready(Some(Ok(trickle.held.split_to(piece))))
    }

    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if let Some(bytes) = self.before.take() {
            return Poll::Ready(Some(Ok(bytes)));
        }
        match &mut self.source {
            Source::Whole(bytes) => Poll::Ready(bytes.take().map(Ok)),
            Source::List(chunks) => Poll::Ready(chunks.next().map(Ok)),
            Source::Watch(events) => events.poll_recv(context),
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.limit {
            Some((0, Ending::Clean)) => return Poll::Ready(None),
            Some((0, Ending::Cut)) => {
                let flushing = self.flushing.get_or_insert_with(|| Box::pin(sleep(FLUSH)));
                return flushing.as_mut().poll(context).map(|()| Some(Err(Broken)));
            }
            // No waker: hyper drops the body when the client goes or the server ends.
            Some((0, Ending::Stall)) => return Poll::Pending,
            _ => {}
        }
        let next = ready!(self.poll_pieces(context));
        let Some(Ok(mut bytes)) = next else {
            return Poll::Ready(next.map(|end| end.map(Frame::data)));
        };
        if let Some((left, _)) = &mut self.limit {
            bytes.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= bytes.len() as u64;
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!((&self.source, self.limit), (Source::Whole(None), None))
            && self.before.is_none()
            && self.trickle.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.before.is_some() {
            return SizeHint::default();
        }
        match (&self.source, self.limit) {
            (Source::Whole(Some(bytes)), None) => SizeHint::with_exact(bytes.len() as u64),
            (Source::Whole(None), None) => SizeHint::with_exact(0),
            _ => SizeHint::default(),
        }
    }
}
