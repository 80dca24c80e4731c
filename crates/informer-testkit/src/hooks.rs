//! Code of a test that runs right before a request is handled, and requests that are held.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::fault::RequestMatcher;
use crate::request::RequestRecord;
use crate::server::ApiServer;
use crate::shared::Shared;

type Hook = dyn Fn(RequestRecord) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

struct HookRule {
    matcher: RequestMatcher,
    hook: Arc<Hook>,
    is_once: bool,
}

/// The hooks in force, in the order in which they were added.
#[derive(Default)]
pub(crate) struct Hooks(Vec<HookRule>);

impl Hooks {
    /// Returns all hooks of a request. They are called without the lock: they may use the server.
    fn take(&mut self, request: &RequestRecord) -> Vec<Arc<Hook>> {
        let mut found = Vec::new();
        self.0.retain(|rule| {
            let matches = rule.matcher.matches(request);
            if matches {
                found.push(Arc::clone(&rule.hook));
            }
            !(matches && rule.is_once)
        });
        found
    }
}

/// Runs the hooks of a request. Returns `false` if the server ends meanwhile.
pub(crate) async fn run(shared: &Shared, request: &RequestRecord) -> bool {
    let hooks = shared.hooks.lock().take(request);
    for hook in hooks {
        let hook = hook(request.clone());
        if shared.shutdown.run_until_cancelled(hook).await.is_none() {
            return false;
        }
    }
    true
}

/// Code between the requests of a program.
impl ApiServer {
    /// Runs this code before the next request that matches is handled: what another client writes between the program's
    /// read and its write, for instance. The request waits for it, and sees what it did.
    ///
    /// The code may use the server, by an `Arc` of it or by a client. If the request is given up, the code is too.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use informer_testkit::{ApiServer, RequestMatcher, Verb};
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Arc::new(ApiServer::start().await?);
    /// server.create("configmaps", json!({"metadata": {"name": "settings"}}))?;
    /// let other = Arc::clone(&server);
    /// server.before_next(RequestMatcher::verb(Verb::Update), move |request| async move {
    ///     let change = json!({"metadata": {"annotations": {"by": "another"}}});
    ///     other.merge_patch("configmaps", "default", &request.name, change).expect("it exists");
    /// });
    /// // The next update of the program under test is a conflict.
    /// # Ok(())
    /// # }
    /// ```
    pub fn before_next<F, R>(&self, matcher: RequestMatcher, hook: F)
    where
        F: FnOnce(RequestRecord) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let hook = Mutex::new(Some(hook));
        self.add_hook(matcher, true, move |request| {
            let hook = hook.lock().take();
            async move {
                if let Some(hook) = hook {
                    hook(request).await;
                }
            }
        });
    }

    /// Runs this code before every request that matches, as [`Self::before_next`] does once. Several are run one after the
    /// other.
    ///
    /// Requests of the code itself come by here too: let its client have a [name](Self::service_as) that does not match.
    pub fn before_each<F, R>(&self, matcher: RequestMatcher, hook: F)
    where
        F: Fn(RequestRecord) -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        self.add_hook(matcher, false, hook);
    }

    fn add_hook<F, R>(&self, matcher: RequestMatcher, is_once: bool, hook: F)
    where
        F: Fn(RequestRecord) -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let rule = HookRule {
            matcher,
            hook: Arc::new(move |request| Box::pin(hook(request))),
            is_once,
        };
        self.shared().hooks.lock().0.push(rule);
    }

    /// Holds the next request that matches before it is handled, until the test lets it go.
    ///
    /// ```
    /// use informer_testkit::{ApiServer, RequestMatcher, Verb};
    ///
    /// # async fn example(server: ApiServer) {
    /// let mut held = server.hold_next(RequestMatcher::verb(Verb::Create).resource("pods"));
    /// let request = held.received().await;
    /// assert_eq!(request.namespace, "shop");
    /// // The program waits for its response; look at what it does meanwhile.
    /// held.release();
    /// # }
    /// ```
    pub fn hold_next(&self, matcher: RequestMatcher) -> HeldRequest {
        let (send, receive) = oneshot::channel();
        let released = CancellationToken::new();
        let guard = released.clone().drop_guard();
        self.before_next(matcher, move |request| async move {
            // The test need not look at it.
            let _ = send.send(request);
            released.cancelled().await;
        });
        HeldRequest {
            receive,
            received: None,
            _guard: guard,
        }
    }
}

/// A request that is held, or the place for it. Made by [`ApiServer::hold_next`]. Dropping it lets the request go.
pub struct HeldRequest {
    receive: oneshot::Receiver<RequestRecord>,
    received: Option<RequestRecord>,
    _guard: DropGuard,
}

impl HeldRequest {
    /// Waits until the request is received, and returns it. It is held then.
    ///
    /// Cancel safe: a later call returns the request.
    ///
    /// # Panics
    /// If the server ends before there is such a request.
    pub async fn received(&mut self) -> RequestRecord {
        if self.received.is_none() {
            let received = (&mut self.receive).await;
            self.received = Some(received.expect("the server ended before the request to be held"));
        }
        self.received.clone().expect("it was just set")
    }

    /// Lets the request go. If there is none yet, none is held.
    pub fn release(self) {}
}

impl fmt::Debug for HeldRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldRequest")
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}
