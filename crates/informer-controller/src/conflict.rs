//! Retries after conflicts with concurrent writes.

use std::error::Error as StdError;
use std::future::Future;
use std::time::Duration;

/// client-go's number of attempts, and the pause between them.
const STEPS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Errors that can be conflicts with concurrent writes.
pub trait IsConflict {
    /// Returns `true` if the object was written concurrently, so that reading it again helps.
    fn is_conflict(&self) -> bool;
}

impl IsConflict for informer_client::Error {
    fn is_conflict(&self) -> bool {
        Self::is_conflict(self)
    }
}

impl IsConflict for crate::ReconcileError {
    fn is_conflict(&self) -> bool {
        Self::is_conflict(self)
    }
}

impl IsConflict for Box<dyn StdError + Send + Sync> {
    fn is_conflict(&self) -> bool {
        let error = self.downcast_ref::<informer_client::Error>();
        error.is_some_and(informer_client::Error::is_conflict)
    }
}

/// Repeats a read, change and write of an object after a conflict, with five attempts at most, about 10 ms apart.
///
/// ```no_run
/// use informer_client::Api;
/// use informer_controller::retry_on_conflict;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// # async fn example(maps: Api<ConfigMap>) -> Result<(), informer_client::Error> {
/// retry_on_conflict(|| async {
///     let mut map = maps.get("counter").await?;
///     map.data.get_or_insert_default().insert("seen".into(), "yes".into());
///     maps.replace("counter", &map).await
/// })
/// .await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// The first error that is no conflict, or the last conflict.
#[doc(alias = "RetryOnConflict")]
pub async fn retry_on_conflict<T, E, F, R>(mut attempt: F) -> Result<T, E>
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, E>>,
    E: IsConflict,
{
    for _ in 1..STEPS {
        match attempt().await {
            Err(error) if error.is_conflict() => {
                let pause = PAUSE.mul_f64(1.0 + fastrand::f64() / 10.0);
                tokio::time::sleep(pause).await;
            }
            result => return result,
        }
    }
    attempt().await
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Error(bool);

    impl IsConflict for Error {
        fn is_conflict(&self) -> bool {
            self.0
        }
    }

    async fn attempts(results: &[Result<u32, Error>]) -> (u32, usize) {
        let mut made = 0;
        let result = retry_on_conflict(|| {
            made += 1;
            let result = match &results[made - 1] {
                Ok(value) => Ok(*value),
                Err(error) => Err(Error(error.0)),
            };
            async { result }
        });
        (result.await.unwrap_or(0), made)
    }

    #[tokio::test(start_paused = true)]
    async fn conflicts_alone_are_retried_up_to_the_limit() {
        let conflict = || Err(Error(true));
        assert_eq!(attempts(&[Ok(7)]).await, (7, 1));
        assert_eq!(attempts(&[conflict(), conflict(), Ok(7)]).await, (7, 3));
        assert_eq!(
            attempts(&[conflict(), Err(Error(false)), Ok(7)]).await,
            (0, 2)
        );
        assert_eq!(attempts(&[(); 9].map(|()| conflict())).await, (0, 5));
    }
}
