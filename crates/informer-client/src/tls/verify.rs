//! How a server's certificate is checked.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Verifies a server's certificate as usual, with two additions of Kubernetes: the certificate may have to be for
/// another name, and it may itself be the trusted one.
#[derive(Debug)]
pub(super) struct ServerVerifier {
    inner: Arc<dyn ServerCertVerifier>,
    name: Option<ServerName<'static>>,
    trusted: Vec<CertificateDer<'static>>,
}

impl ServerVerifier {
    pub(super) const fn new(
        inner: Arc<dyn ServerCertVerifier>,
        name: Option<ServerName<'static>>,
        trusted: Vec<CertificateDer<'static>>,
    ) -> Self {
        Self {
            inner,
            name,
            trusted,
        }
    }

    /// Whether the certificate is, byte for byte, one that the configuration trusts, and the library refused it only
    /// for not leading to another one. Some clusters give out the server's own certificate as their authority, and
    /// `kubectl` takes it.
    fn is_trusted_itself(
        &self,
        end_entity: &CertificateDer<'_>,
        name: &ServerName<'_>,
        refusal: &Error,
    ) -> bool {
        // These faults are found after the dates were checked, so the certificate is valid today.
        let no_chain = match refusal {
            // The second, if the authority that is missing has the name of one that is given.
            Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::BadSignature,
            ) => true,
            // The library's own error type is not public through rustls; its text is its name.
            Error::InvalidCertificate(CertificateError::Other(other)) => {
                other.0.to_string() == "CaUsedAsEndEntity"
            }
            _ => false,
        };
        no_chain
            && self.trusted.contains(end_entity)
            && ParsedCertificate::try_from(end_entity)
                .is_ok_and(|certificate| verify_server_name(&certificate, name).is_ok())
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let name = self.name.as_ref().unwrap_or(server_name);
        match self
            .inner
            .verify_server_cert(end_entity, intermediates, name, ocsp_response, now)
        {
            Err(error) if self.is_trusted_itself(end_entity, name, &error) => {
                Ok(ServerCertVerified::assertion())
            }
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Accepts any server: `insecure-skip-tls-verify`.
#[derive(Debug)]
pub(super) struct AnyServer {
    provider: Arc<CryptoProvider>,
}

impl AnyServer {
    pub(super) const fn new(provider: Arc<CryptoProvider>) -> Self {
        Self { provider }
    }
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
