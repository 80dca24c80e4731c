//! The output of a program: a token, a certificate, and their expiry.

use std::fmt;
use std::time::SystemTime;

use secrecy::SecretString;
use serde::Deserialize;

use super::{ExecConfig, ExecError};
use crate::auth::ClientCertificate;
use crate::pem::PemSource;

/// The most bytes that a program may print.
pub const MAX_EXEC_OUTPUT: usize = 1 << 20;

/// Credentials that a program printed.
#[derive(Clone)]
#[non_exhaustive]
pub struct ExecCredential {
    /// A bearer token.
    pub token: Option<SecretString>,
    /// A client certificate with its key.
    pub client_certificate: Option<ClientCertificate>,
    /// The time of their expiry; `None`: they hold until the server refuses them.
    pub expires: Option<SystemTime>,
}

impl ExecCredential {
    /// Returns `true` if they have not expired at this time.
    #[must_use]
    pub fn holds_at(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

impl fmt::Debug for ExecCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecCredential")
            .field("token", &self.token.is_some())
            .field("client_certificate", &self.client_certificate.is_some())
            .field("expires", &self.expires)
            .finish()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    kind: Option<String>,
    api_version: Option<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<SecretString>,
    client_certificate_data: Option<SecretString>,
    client_key_data: Option<SecretString>,
    expiration_timestamp: Option<String>,
}

impl ExecConfig {
    /// Reads what the program printed.
    ///
    /// # Errors
    /// When it is no `ExecCredential` of the version that was asked for, or holds no credentials. The contents are not
    /// quoted.
    pub fn credential(&self, output: &[u8]) -> Result<ExecCredential, ExecError> {
        let unusable = |reason: &str| ExecError::Output {
            command: self.command().to_owned(),
            reason: reason.to_owned(),
        };
        if output.len() > MAX_EXEC_OUTPUT {
            return Err(unusable("larger than 1 MiB"));
        }
        // The message could quote a token.
        let printed: Printed = serde_json::from_slice(output)
            .map_err(|_| unusable("not an ExecCredential in JSON"))?;
        let version = self.version().api_version();
        if printed.kind.as_deref() != Some("ExecCredential") {
            return Err(unusable("the kind is not ExecCredential"));
        }
        if printed.api_version.as_deref() != Some(version) {
            return Err(unusable(&format!("the apiVersion is not {version}")));
        }
        let status = printed.status.ok_or_else(|| unusable("no status"))?;
        let some = |text: Option<SecretString>| text.filter(|text| !is_empty(text));
        let client_certificate = match (
            some(status.client_certificate_data),
            some(status.client_key_data),
        ) {
            (Some(certificate), Some(key)) => Some(ClientCertificate {
                certificate: pem(&certificate),
                key: pem(&key),
            }),
            (None, None) => None,
            _ => {
                return Err(unusable(
                    "it has only one of clientCertificateData and clientKeyData",
                ));
            }
        };
        let token = some(status.token);
        if token.is_none() && client_certificate.is_none() {
            return Err(unusable("neither a token nor a certificate"));
        }
        let expires = status.expiration_timestamp.map(|text| {
            let time: Result<jiff::Timestamp, _> = text.parse();
            time.map(SystemTime::from)
                .map_err(|_| unusable("expirationTimestamp is not a time of RFC 3339"))
        });
        Ok(ExecCredential {
            token,
            client_certificate,
            expires: expires.transpose()?,
        })
    }
}

fn is_empty(text: &SecretString) -> bool {
    secrecy::ExposeSecret::expose_secret(text).trim().is_empty()
}

fn pem(text: &SecretString) -> PemSource {
    PemSource::inline(secrecy::ExposeSecret::expose_secret(text).as_bytes())
}
