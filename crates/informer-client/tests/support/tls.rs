//! Certificates and TLS servers for tests.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::sync::{Arc, Mutex};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, PublicKeyData as _, SigningKey as _, date_time_ymd,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, Error, ServerConfig, SignatureScheme};

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// A certificate with its key.
pub(crate) struct Identity {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
}

impl Identity {
    fn key(&self) -> PrivateKeyDer<'static> {
        use rustls::pki_types::pem::PemObject;
        PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes()).unwrap()
    }

    /// A server that shows this certificate.
    pub(crate) fn server(&self) -> ServerConfig {
        self.server_that_asks(None)
    }

    /// A server that shows this certificate and perhaps asks clients for theirs.
    pub(crate) fn server_that_asks(&self, clients: Option<Arc<Seen>>) -> ServerConfig {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            Some(clients) => builder.with_client_cert_verifier(clients),
            None => builder.with_no_client_auth(),
        };
        builder
            .with_single_cert(vec![self.der.clone()], self.key())
            .unwrap()
    }
}

/// A certificate authority.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = DistinguishedName::new();
        let key = KeyPair::generate().unwrap();
        Self {
            issuer: CertifiedIssuer::self_signed(params, key).unwrap(),
        }
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    pub(crate) fn issue(&self, names: &[&str]) -> Identity {
        self.issue_with(names, |_| {})
    }

    pub(crate) fn issue_expired(&self, names: &[&str]) -> Identity {
        self.issue_with(names, |params| {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    /// A certificate whose subject is called as its authority.
    pub(crate) fn issue_namesake(&self, names: &[&str]) -> Identity {
        self.issue_with(names, |params| {
            params.distinguished_name = DistinguishedName::new()
        })
    }

    fn issue_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            der: certificate.der().clone(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        }
    }
}

/// A certificate that is its own authority, marked as one or not.
pub(crate) fn self_signed(name: &str, authority: bool, expired: bool) -> Identity {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    if authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    if expired {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Identity {
        der: certificate.der().clone(),
        certificate_pem: certificate.pem(),
        key_pem: key.serialize_pem(),
    }
}

/// A DER value of this tag.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let mut out = vec![tag];
    match u16::try_from(contents.len()).unwrap() {
        length @ 0..=127 => out.push(length as u8),
        length => out.extend([&[0x82][..], &length.to_be_bytes()].concat()),
    }
    out.extend(contents);
    out
}

/// A certificate of X.509 version 1, as some clusters hand out: no version field, no extensions.
pub(crate) fn version_1(name: &str) -> Identity {
    let key = KeyPair::generate().unwrap();
    // ecdsa-with-SHA256
    let algorithm = der(0x30, &[&[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]]);
    // commonName
    let attribute = der(
        0x30,
        &[&[0x06, 3, 0x55, 4, 3], &der(0x0c, &[name.as_bytes()])],
    );
    let subject = der(0x30, &[&der(0x31, &[&attribute])]);
    let validity = der(
        0x30,
        &[
            &der(0x17, &[b"200101000000Z"]),
            &der(0x17, &[b"491231235959Z"]),
        ],
    );
    let body = der(
        0x30,
        &[
            &der(0x02, &[&[1]]),
            &algorithm,
            &subject,
            &validity,
            &subject,
            &key.subject_public_key_info(),
        ],
    );
    let signature = key.sign(&body).unwrap();
    let certificate = der(0x30, &[&body, &algorithm, &der(0x03, &[&[0], &signature])]);
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(&certificate);
    let lines: Vec<_> = text
        .as_bytes()
        .chunks(64)
        .map(|l| str::from_utf8(l).unwrap())
        .collect();
    let certificate_pem = format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    );
    Identity {
        der: CertificateDer::from(certificate),
        certificate_pem,
        key_pem: key.serialize_pem(),
    }
}

/// Asks clients for a certificate, takes any, and remembers it. (What an API server accepts is its own affair.)
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) certificates: Mutex<Vec<CertificateDer<'static>>>,
    provider: Arc<CryptoProvider>,
}

impl Seen {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            certificates: Mutex::default(),
            provider: provider(),
        })
    }
}

impl ClientCertVerifier for Seen {
    fn root_hint_subjects(&self) -> &[rustls::DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.certificates
            .lock()
            .unwrap()
            .push(end_entity.clone().into_owned());
        Ok(ClientCertVerified::assertion())
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
