//! Certificates that a scenario makes itself, so that they can be wrong, expired, or of another age.

use std::path::Path;

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, PublicKeyData as _, SigningKey as _, date_time_ymd,
};

/// An authority of the scenario's own.
pub(crate) struct Authority {
    name: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Identity {
    /// Writes both as `NAME.crt` and `NAME.key`.
    pub(crate) fn write(&self, directory: &Path, name: &str) -> anyhow::Result<()> {
        for (ending, text) in [("crt", &self.certificate), ("key", &self.key)] {
            let file = directory.join(format!("{name}.{ending}"));
            std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        }
        Ok(())
    }
}

impl Authority {
    pub(crate) fn new(name: &str) -> anyhow::Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = called(name, None);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self {
            name: name.to_owned(),
            issuer,
        })
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A server's certificate for these names and addresses.
    pub(crate) fn server(&self, names: &[&str], expired: bool) -> anyhow::Result<Identity> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names)?;
        self.issue(params, ExtendedKeyUsagePurpose::ServerAuth, expired)
    }

    /// A user's certificate: the name, and a group.
    pub(crate) fn user(&self, name: &str, group: &str, expired: bool) -> anyhow::Result<Identity> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = called(name, Some(group));
        self.issue(params, ExtendedKeyUsagePurpose::ClientAuth, expired)
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        purpose: ExtendedKeyUsagePurpose,
        expired: bool,
    ) -> anyhow::Result<Identity> {
        params.extended_key_usages = vec![purpose];
        if expired {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        }
        let key = KeyPair::generate()?;
        Ok(Identity {
            certificate: params.signed_by(&key, &self.issuer)?.pem(),
            key: key.serialize_pem(),
        })
    }

    /// A user's certificate of X.509 version 1, which has no extensions.
    pub(crate) fn user_of_version_1(&self, name: &str, group: &str) -> anyhow::Result<Identity> {
        let key = KeyPair::generate()?;
        // ecdsa-with-SHA256
        let algorithm = der(0x30, &[&[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]]);
        let issuer = der(0x30, &[&attribute(COMMON_NAME, &self.name)]);
        let subject = [attribute(ORGANIZATION, group), attribute(COMMON_NAME, name)];
        let subject = der(0x30, &[&subject[0], &subject[1]]);
        let validity = [
            der(0x17, &[b"200101000000Z"]),
            der(0x17, &[b"491231235959Z"]),
        ];
        let validity = der(0x30, &[&validity[0], &validity[1]]);
        let serial = der(0x02, &[&[7]]);
        let public = key.subject_public_key_info();
        let body = der(
            0x30,
            &[&serial, &algorithm, &issuer, &validity, &subject, &public],
        );
        let signature = self.issuer.key().sign(&body)?;
        let signature = der(0x03, &[&[0], &signature]);
        let whole = der(0x30, &[&body, &algorithm, &signature]);
        Ok(Identity {
            certificate: pem(&whole),
            key: key.serialize_pem(),
        })
    }
}

fn called(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut called = DistinguishedName::new();
    if let Some(group) = group {
        called.push(DnType::OrganizationName, group);
    }
    called.push(DnType::CommonName, name);
    called
}

const COMMON_NAME: u8 = 3;
const ORGANIZATION: u8 = 10;

/// One part of a name, by the last number of its object identifier.
fn attribute(kind: u8, text: &str) -> Vec<u8> {
    let pair = der(
        0x30,
        &[&[0x06, 3, 0x55, 4, kind], &der(0x0c, &[text.as_bytes()])],
    );
    der(0x31, &[&pair])
}

/// A DER value of this tag.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let mut out = vec![tag];
    match contents.len() {
        length @ 0..=127 => out.push(length as u8),
        length @ 128..=255 => out.extend([0x81, length as u8]),
        length => out.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    out.extend(contents);
    out
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .filter_map(|line| str::from_utf8(line).ok())
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}
