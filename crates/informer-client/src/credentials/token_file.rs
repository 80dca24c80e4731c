//! A token in a file that is renewed by someone else.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use informer_kubeconfig::read_file;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::bearer;
use crate::error::Error;

/// How long a token that was read from a file is used before the file is read again. Kubernetes renews tokens long
/// before they expire, so a minute is early enough.
const TOKEN_FILE_LIFETIME: Duration = Duration::from_secs(60);

/// A token in a file that is renewed by someone else.
pub(crate) struct TokenFile {
    path: PathBuf,
    /// Held while the file is read, so that many requests read it once.
    state: Mutex<TokenState>,
}

struct TokenState {
    /// The last good token, or the one that is used while there is none.
    value: Option<HeaderValue>,
    /// The time of the last attempt to read the file.
    tried: Option<Instant>,
}

impl TokenFile {
    pub(super) fn new(path: PathBuf, fallback: Option<HeaderValue>) -> Self {
        Self {
            path,
            state: Mutex::new(TokenState {
                value: fallback,
                tried: None,
            }),
        }
    }

    pub(super) async fn header(&self) -> Result<HeaderValue, Error> {
        let mut state = self.state.lock().await;
        let fresh = state
            .tried
            .is_some_and(|tried| tried.elapsed() < TOKEN_FILE_LIFETIME);
        if let Some(value) = state.value.as_ref().filter(|_| fresh) {
            return Ok(value.clone());
        }
        let read = self.read().await;
        state.tried = Some(Instant::now());
        match (read, &state.value) {
            (Ok(value), _) => {
                state.value = Some(value.clone());
                Ok(value)
            }
            (Err(error), Some(value)) => {
                tracing::warn!(path = %self.path.display(), %error, "cannot read the token file; keeping the last token");
                Ok(value.clone())
            }
            (Err(source), None) => Err(Error::TokenFile {
                path: self.path.clone(),
                source,
            }),
        }
    }

    pub(super) async fn renew(&self, refused: Option<&HeaderValue>) -> Option<HeaderValue> {
        let mut state = self.state.lock().await;
        // Another request may have read it meanwhile.
        if state.value.as_ref() == refused {
            state.tried = Some(Instant::now());
            state.value = Some(self.read().await.ok()?);
        }
        state.value.clone().filter(|value| Some(value) != refused)
    }

    async fn read(&self) -> io::Result<HeaderValue> {
        let path = self.path.clone();
        let bytes = tokio::task::spawn_blocking(move || read_file(&path))
            .await
            .map_err(io::Error::other)??;
        let invalid = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason);
        let text = str::from_utf8(bytes.expose_secret())
            .map_err(|_| invalid("it is not UTF-8"))?
            .trim();
        if text.is_empty() {
            return Err(invalid("it is empty"));
        }
        bearer(&SecretString::from(text)).map_err(|()| invalid("it holds a control character"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// INV-CLIENT-7.
    #[tokio::test(start_paused = true)]
    async fn token_file_is_read_again_after_a_minute() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("token");
        let file = TokenFile::new(path.clone(), None);
        let token = async || file.header().await.unwrap().to_str().unwrap().to_owned();
        fs::write(&path, "one\n").unwrap();
        assert_eq!(token().await, "Bearer one");
        assert!(!format!("{:?}", file.header().await).contains("one"));
        fs::write(&path, "two").unwrap();
        tokio::time::advance(TOKEN_FILE_LIFETIME - Duration::from_secs(1)).await;
        assert_eq!(token().await, "Bearer one");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(token().await, "Bearer two");
        for bad in ["", " \n", "a\nb"] {
            fs::write(&path, bad).unwrap();
            tokio::time::advance(TOKEN_FILE_LIFETIME).await;
            assert_eq!(token().await, "Bearer two", "{bad:?}");
        }
        fs::remove_file(&path).unwrap();
        tokio::time::advance(TOKEN_FILE_LIFETIME).await;
        assert_eq!(token().await, "Bearer two");
    }

    /// Many requests that are refused at once read the file once.
    #[tokio::test]
    async fn concurrent_refusals_read_token_file_once() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("token");
        fs::write(&path, "one").unwrap();
        let file = TokenFile::new(path.clone(), None);
        let one = file.header().await.unwrap();
        assert_eq!(file.renew(Some(&one)).await, None);
        fs::write(&path, "two").unwrap();
        let two = file.renew(Some(&one)).await.unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(file.renew(Some(&one)).await, Some(two));
    }
}
