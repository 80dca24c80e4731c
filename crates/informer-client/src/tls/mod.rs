//! TLS: the trusted authorities, and the client's certificate.
//!
//! The provider of the cryptography is named in every call. Nothing is installed for the whole process: that is the
//! program's choice, not a library's.

mod verify;

use std::sync::Arc;

use informer_kubeconfig::Cluster;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, InconsistentKeys, RootCertStore};
use secrecy::{ExposeSecret, SecretSlice};

use self::verify::{AnyServer, ServerVerifier};
use crate::error::BuildError;
use crate::transport::{Identity, Material};

pub(crate) const AUTHORITY: &str = "certificate authority";
pub(crate) const CERTIFICATE: &str = "client certificate";
pub(crate) const KEY: &str = "client key";

/// Returns the cryptography of this crate's features; else that of the whole process.
pub(crate) fn default_provider() -> Result<Arc<CryptoProvider>, BuildError> {
    #[cfg(feature = "aws-lc-rs")]
    return Ok(Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
    #[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
    return Ok(Arc::new(rustls::crypto::ring::default_provider()));
    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    CryptoProvider::get_default()
        .cloned()
        .ok_or(BuildError::NoCryptoProvider)
}

/// Makes the TLS configuration for a cluster with these certificates. It offers no protocol yet.
pub(crate) fn client_config(
    cluster: &Cluster,
    material: &Material,
    provider: &Arc<CryptoProvider>,
) -> Result<ClientConfig, BuildError> {
    let verifier = verifier(cluster, material.authority.as_ref(), provider)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(tls)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    Ok(match &material.identity {
        // A resolver with a ready key instead of `with_client_auth_cert`, which refuses X.509 v1 certificates that
        // some clusters hand out and every server accepts.
        Some(identity) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(
            ready(identity, provider)?,
        ))),
        None => builder.with_no_client_auth(),
    })
}

/// Makes a TLS configuration for plain http: it trusts nobody and is never used. The HTTP library looks for a provider
/// of the whole process, and panics for want of one, unless it has a configuration.
pub(crate) fn unused_config(provider: &Arc<CryptoProvider>) -> Result<ClientConfig, BuildError> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(tls)?;
    Ok(builder
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

fn tls(source: rustls::Error) -> BuildError {
    BuildError::Tls { source }
}

/// Makes the verifier of the server's certificate.
fn verifier(
    cluster: &Cluster,
    authority: Option<&SecretSlice<u8>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, BuildError> {
    if cluster.insecure_skip_tls_verify {
        tracing::warn!(server = %cluster.server, "the server's certificate is not verified: anyone between can read and change everything");
        return Ok(Arc::new(AnyServer::new(Arc::clone(provider))));
    }
    let (inner, pinned): (Arc<dyn ServerCertVerifier>, _) = match authority {
        Some(authority) => {
            let certificates = certificates(authority, AUTHORITY)?;
            (only(&certificates, provider)?, certificates)
        }
        None => {
            let system = rustls_platform_verifier::Verifier::new(Arc::clone(provider));
            (Arc::new(system.map_err(tls)?), Vec::new())
        }
    };
    let name = cluster.tls_server_name.as_ref().map(|name| {
        ServerName::try_from(name.clone()).map_err(|_| BuildError::Credential {
            what: "tls-server-name",
            reason: format!("{name:?} is neither a host name nor an address"),
        })
    });
    Ok(Arc::new(ServerVerifier::new(
        inner,
        name.transpose()?,
        pinned,
    )))
}

/// Trusts these authorities and no others.
fn only(
    certificates: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, BuildError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates.iter().cloned());
    if added == 0 {
        return Err(credential(AUTHORITY, "no certificate in it is well-formed"));
    }
    let provider = Arc::clone(provider);
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| credential(AUTHORITY, error.to_string()))?;
    Ok(verifier)
}

fn credential(what: &'static str, reason: impl Into<String>) -> BuildError {
    BuildError::Credential {
        what,
        reason: reason.into(),
    }
}

/// Reads the certificates in PEM text. Other blocks are skipped.
fn certificates(
    text: &SecretSlice<u8>,
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, BuildError> {
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(text.expose_secret()).collect();
    let certificates = certificates.map_err(|_| credential(what, "not valid PEM text"))?;
    if certificates.is_empty() {
        return Err(credential(
            what,
            "it holds no certificate (-----BEGIN CERTIFICATE-----)",
        ));
    }
    Ok(certificates)
}

/// Returns the client certificate with its key, ready to sign.
fn ready(identity: &Identity, provider: &CryptoProvider) -> Result<CertifiedKey, BuildError> {
    let chain = certificates(&identity.certificate, CERTIFICATE)?;
    let text = &identity.key;
    let key = PrivateKeyDer::from_pem_slice(text.expose_secret()).map_err(|error| {
        let encrypted = text
            .expose_secret()
            .windows(9)
            .any(|window| window == b"ENCRYPTED");
        credential(
            KEY,
            match error {
                _ if encrypted => "encrypted; decrypt it first",
                pem::Error::NoItemsFound => "no private key (-----BEGIN PRIVATE KEY-----)",
                _ => "not valid PEM text",
            },
        )
    })?;
    let key = provider
        .key_provider
        .load_private_key(key)
        .map_err(|_| credential(KEY, "its kind is not supported; use RSA, ECDSA or Ed25519"))?;
    let ready = CertifiedKey::new(chain, key);
    // Any other fault is one of a certificate that this library cannot read and the server perhaps can.
    if let Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) = ready.keys_match()
    {
        return Err(credential(
            KEY,
            "it does not belong to the client certificate",
        ));
    }
    Ok(ready)
}
