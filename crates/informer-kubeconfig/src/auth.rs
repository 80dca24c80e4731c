//! Who connects: the credentials of a configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;

use crate::exec::ExecConfig;
use crate::pem::PemSource;

/// The credentials to connect with. Empty: anonymous.
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
    /// A certificate to show the server.
    pub client_certificate: Option<ClientCertificate>,
    /// A bearer token.
    pub token: Option<SecretString>,
    /// A file that holds a bearer token and is renewed from time to time. It counts before `token`, which stands in
    /// while the file cannot be read.
    pub token_file: Option<PathBuf>,
    /// A name and password.
    pub basic: Option<BasicAuth>,
    /// A program that prints credentials. It is run only if whoever connects allows it, and not needed if there are
    /// other credentials.
    pub exec: Option<ExecConfig>,
    /// Whom to act as.
    pub impersonate: Option<Impersonate>,
}

impl AuthInfo {
    /// Shows a certificate.
    #[must_use]
    pub fn client_certificate(mut self, certificate: PemSource, key: PemSource) -> Self {
        self.client_certificate = Some(ClientCertificate { certificate, key });
        self
    }

    /// Sends a bearer token.
    #[must_use]
    pub fn token(mut self, token: impl Into<SecretString>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sends the bearer token of a file, and reads it again from time to time.
    #[must_use]
    pub fn token_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.token_file = Some(path.into());
        self
    }

    /// Sends a name and password.
    #[must_use]
    pub fn basic(mut self, username: impl Into<String>, password: impl Into<SecretString>) -> Self {
        self.basic = Some(BasicAuth {
            username: username.into(),
            password: password.into(),
        });
        self
    }

    /// Gets credentials from a program, if whoever connects allows it.
    #[must_use]
    pub fn exec(mut self, plugin: ExecConfig) -> Self {
        self.exec = Some(plugin);
        self
    }

    /// Acts as another user.
    #[must_use]
    pub fn impersonate(mut self, whom: Impersonate) -> Self {
        self.impersonate = Some(whom);
        self
    }

    /// True if there is nothing to show or send.
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
    /// The certificate, with those that lead to its authority behind it.
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

/// Another user to act as.
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
    /// More about the user.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonate {
    /// Acts as this user.
    #[must_use]
    pub fn user(name: impl Into<String>) -> Self {
        Self {
            user: name.into(),
            ..Self::default()
        }
    }

    /// With this UID.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    /// In this group too.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// With this value of an extra field.
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.entry(key.into()).or_default().push(value.into());
        self
    }
}
