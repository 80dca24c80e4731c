//! The `Authorization` header: fixed, from a file that is renewed, or from a program.

mod exec;
mod process;
mod token_file;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use informer_kubeconfig::AuthInfo;
use secrecy::{ExposeSecret, SecretString};

use self::exec::Plugin;
pub(crate) use self::exec::PluginOptions;
use self::token_file::TokenFile;
use crate::error::{BuildError, Error};
use crate::transport::Transport;

/// The source of the `Authorization` header.
pub(crate) enum Credentials {
    /// There is none.
    None,
    /// It never changes.
    Fixed(HeaderValue),
    /// A file, which is read again regularly.
    File(TokenFile),
    /// A program prints it, or a client certificate instead.
    Exec(Arc<Plugin>),
}

/// The credentials of a request.
#[derive(Clone, Default)]
pub(crate) struct Shown {
    pub(crate) header: Option<HeaderValue>,
    /// The run of a program that printed it.
    run: u64,
}

impl Credentials {
    /// Makes the credentials of a configuration.
    pub(crate) fn new(auth: &AuthInfo, options: PluginOptions) -> Result<Self, BuildError> {
        let token = auth.token.as_ref().map(bearer).transpose();
        let token =
            token.map_err(|()| invalid("token", "it holds a line break or a control character"))?;
        if let Some(path) = &auth.token_file {
            return Ok(Self::File(TokenFile::new(path.clone(), token)));
        }
        if let Some(token) = token {
            return Ok(Self::Fixed(token));
        }
        if let Some(basic) = &auth.basic {
            let pair = format!("{}:{}", basic.username, basic.password.expose_secret());
            let value = sensitive(&format!("Basic {}", STANDARD.encode(pair)));
            return value
                .map(Self::Fixed)
                .map_err(|()| invalid("user name or password", "it is not valid"));
        }
        match &auth.exec {
            // As everywhere, a program is asked only if there is nothing else.
            Some(exec) if auth.client_certificate.is_none() => {
                Plugin::new(exec.clone(), options).map(|plugin| Self::Exec(Arc::new(plugin)))
            }
            _ => Ok(Self::None),
        }
    }

    /// Returns the current credentials.
    pub(crate) async fn show(&self, transport: &Arc<Transport>) -> Result<Shown, Error> {
        let header = match self {
            Self::None => None,
            Self::Fixed(value) => Some(value.clone()),
            Self::File(file) => Some(file.header().await?),
            Self::Exec(plugin) => return plugin.show(transport, None).await,
        };
        Ok(Shown { header, run: 0 })
    }

    /// Returns other credentials than those that the server refused with 401, if there are any.
    pub(crate) async fn renew(&self, refused: &Shown, transport: &Arc<Transport>) -> Option<Shown> {
        match self {
            Self::None | Self::Fixed(_) => None,
            Self::File(file) => {
                let header = file.renew(refused.header.as_ref()).await?;
                Some(Shown {
                    header: Some(header),
                    run: 0,
                })
            }
            // What went wrong the next request says; this one says 401.
            Self::Exec(plugin) => plugin.show(transport, Some(refused.run)).await.ok(),
        }
    }
}

fn invalid(what: &'static str, reason: &str) -> BuildError {
    BuildError::Credential {
        what,
        reason: reason.to_owned(),
    }
}

/// Makes the header of a bearer token.
fn bearer(token: &SecretString) -> Result<HeaderValue, ()> {
    sensitive(&format!("Bearer {}", token.expose_secret().trim()))
}

/// Makes a header value that no output shows.
fn sensitive(text: &str) -> Result<HeaderValue, ()> {
    let mut value = HeaderValue::from_str(text).map_err(drop)?;
    value.set_sensitive(true);
    Ok(value)
}
