//! Waits of tests, which say what they saw last.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::server::ApiServer;

/// The time between two checks.
const PERIOD: Duration = Duration::from_millis(10);

/// Something awaited did not happen in time. Its text, also that of `unwrap`, has what was seen last.
#[derive(Clone, PartialEq, Eq)]
pub struct NotYet {
    limit: Duration,
    last: String,
}

impl NotYet {
    pub(crate) fn at_once(last: &dyn fmt::Display) -> Self {
        Self {
            limit: Duration::ZERO,
            last: last.to_string(),
        }
    }

    /// Returns what was seen last.
    pub fn last_seen(&self) -> &str {
        &self.last
    }
}

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not within {:?}; last seen: {}", self.limit, self.last)
    }
}

impl fmt::Debug for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NotYet {}

/// Checks something every 10 ms until it is `Ok`, and returns that. The `Err` of a check says what was seen instead.
///
/// ```
/// use std::time::Duration;
///
/// use informer_testkit::{ApiServer, eventually};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::start().await?;
/// server.create("pods", json!({"metadata": {"name": "a"}}))?;
/// let one_pod = async || match server.list("pods", "") {
///     Ok(pods) if pods.len() == 1 => Ok(()),
///     other => Err(format!("{other:?}")),
/// };
/// eventually(Duration::from_secs(10), one_pod).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When it is not `Ok` within the limit, with the last `Err`.
///
/// # Cancellation
/// Dropping the future drops the check under way.
pub async fn eventually<T, E, F>(limit: Duration, mut check: F) -> Result<T, NotYet>
where
    E: fmt::Display,
    F: AsyncFnMut() -> Result<T, E>,
{
    let mut last = None;
    let checks = async {
        loop {
            match check().await {
                Ok(value) => return value,
                Err(seen) => last = Some(seen.to_string()),
            }
            sleep(PERIOD).await;
        }
    };
    let checked = timeout(limit, checks).await;
    checked.map_err(|_| NotYet {
        limit,
        last: last.unwrap_or_else(|| "nothing: the check did not end".to_owned()),
    })
}

/// Waits.
impl ApiServer {
    /// Waits until an object exists and is as awaited, and returns it. It is looked at after each write to the server; of
    /// states that follow each other at once the last may be seen alone.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use informer_testkit::ApiServer;
    ///
    /// # async fn example(server: ApiServer) -> Result<(), Box<dyn std::error::Error>> {
    /// let limit = Duration::from_secs(10);
    /// server.until("pods", "shop", "a", limit, |pod| pod["status"]["phase"] == "Running").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When it is not so within the limit, with the object as it is then, or why there is none.
    pub async fn until(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        limit: Duration,
        mut is_reached: impl FnMut(&Value) -> bool,
    ) -> Result<Value, NotYet> {
        let shared = self.shared();
        let mut written = shared.written.listen();
        let mut last = String::new();
        let reached = async {
            loop {
                written.see();
                match self.get(resource, namespace, name) {
                    Ok(object) if is_reached(&object) => return object,
                    Ok(object) => last = object.to_string(),
                    Err(status) => last = status.to_string(),
                }
                written.changed().await;
            }
        };
        let reached = timeout(limit, reached).await;
        reached.map_err(|_| NotYet { limit, last })
    }
}
