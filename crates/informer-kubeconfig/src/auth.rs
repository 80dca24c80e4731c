//! The credentials of a configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;

use crate::exec::ExecConfig;
use crate::pem::PemSource;

/// The credentials of a configuration. Empty: anonymous.
///
/// ```
/// use informer_kubeconfig::AuthInfo;
///
/// let auth = AuthInfo::default().token("s3cr3t");
/// assert!(!format!("{auth:?}").contains("s3cr3t"));
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AuthInfo {
    /// The client certificate.
    pub client_certificate: Option<ClientCertificate>,
    /// A bearer token.
    pub token: Option<SecretString>,
    /// A file with a bearer token, which is read again regularly. It counts before `token`, which is used while the
    /// file cannot be read.
    pub token_file: Option<PathBuf>,
    /// A name and password.
    pub basic: Option<BasicAuth>,
    /// A program that prints credentials. It is run only if the client allows it, and not needed if there are other
    /// credentials.
    pub exec: Option<ExecConfig>,
    /// The user to impersonate.
    pub impersonate: Option<Impersonate>,
}

impl AuthInfo {
    /// Sets the client certificate.
    #[must_use]
    pub fn client_certificate(mut self, certificate: PemSource, key: PemSource) -> Self {
        self.client_certificate = Some(ClientCertificate { certificate, key });
        self
    }

    /// Sets the bearer token.
    #[must_use]
    pub fn token(mut self, token: impl Into<SecretString>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the file with the bearer token, which is read again regularly.
    #[must_use]
    pub fn token_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.token_file = Some(path.into());
        self
    }

    /// Sets a name and password.
    #[must_use]
    pub fn basic(mut self, username: impl Into<String>, password: impl Into<SecretString>) -> Self {
        self.basic = Some(BasicAuth {
            username: username.into(),
            password: password.into(),
        });
        self
    }

    /// Sets a program that prints credentials, which is run only if the client allows it.
    #[must_use]
    pub fn exec(mut self, plugin: ExecConfig) -> Self {
        self.exec = Some(plugin);
        self
    }

    /// Sets the user to impersonate.
    #[must_use]
    pub fn impersonate(mut self, whom: Impersonate) -> Self {
        self.impersonate = Some(whom);
        self
    }

    /// Returns `true` if there are no credentials.
    #[must_use]
    pub const fn is_anonymous(&self) -> bool {
        self.client_certificate.is_none()
            && self.token.is_none()
            && self.token_file.is_none()
            && self.basic.is_none()
            && self.exec.is_none()
    }
}

/// A client certificate and its key.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientCertificate {
    /// The certificate, followed by those that lead to its authority.
    pub certificate: PemSource,
    /// Its private key.
    pub key: PemSource,
}

/// A name and password.
#[derive(Clone)]
#[non_exhaustive]
pub struct BasicAuth {
    /// The name.
    pub username: String,
    /// The password.
    pub password: SecretString,
}

impl fmt::Debug for BasicAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BasicAuth")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// A user to impersonate.
///
/// Source: [user impersonation](https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Impersonate {
    /// The user's name.
    pub user: String,
    /// The user's UID.
    pub uid: Option<String>,
    /// The user's groups.
    pub groups: Vec<String>,
    /// Further attributes of the user.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonate {
    /// Impersonates this user.
    #[must_use]
    pub fn user(name: impl Into<String>) -> Self {
        Self {
            user: name.into(),
            ..Self::default()
        }
    }

    /// Sets the user's UID.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    /// Adds a group of the user.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// Adds a value of a further attribute.
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.entry(key.into()).or_default().push(value.into());
        self
    }
}
