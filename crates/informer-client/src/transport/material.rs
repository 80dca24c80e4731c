//! The inputs of TLS: the authorities and the client certificate, as they are now.

use informer_kubeconfig::{ClientCertificate, Cluster, PemSource};
use secrecy::{ExposeSecret, SecretSlice};

use crate::error::BuildError;
use crate::tls::{AUTHORITY, CERTIFICATE, KEY};

/// PEM texts that were read at one time.
#[derive(Clone)]
pub(crate) struct Material {
    pub(crate) authority: Option<SecretSlice<u8>>,
    pub(crate) identity: Option<Identity>,
}

/// A client certificate and its key, as PEM.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: SecretSlice<u8>,
    pub(crate) key: SecretSlice<u8>,
}

impl Material {
    /// Nothing, for plain http.
    pub(crate) const NONE: Self = Self {
        authority: None,
        identity: None,
    };

    /// Reads the files of the configuration.
    pub(crate) fn read(
        cluster: &Cluster,
        identity: Option<&ClientCertificate>,
    ) -> Result<Self, BuildError> {
        let authority = match &cluster.certificate_authority {
            Some(source) if !cluster.insecure_skip_tls_verify => Some(pem(source, AUTHORITY)?),
            _ => None,
        };
        let identity = match identity {
            Some(pair) => Some(Identity {
                certificate: pem(&pair.certificate, CERTIFICATE)?,
                key: pem(&pair.key, KEY)?,
            }),
            None => None,
        };
        Ok(Self {
            authority,
            identity,
        })
    }

    /// Returns `true` if it is the same to the last byte.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.texts().zip(other.texts()).all(|(one, two)| one == two)
    }

    fn texts(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let identity = self.identity.as_ref();
        [
            self.authority.as_ref(),
            identity.map(|pair| &pair.certificate),
            identity.map(|pair| &pair.key),
        ]
        .into_iter()
        .map(|text| text.map(ExposeSecret::expose_secret))
    }
}

fn pem(source: &PemSource, what: &'static str) -> Result<SecretSlice<u8>, BuildError> {
    source
        .read()
        .map_err(|source| BuildError::Read { what, source })
}

/// Returns `true` if any of it is a file, which may be replaced.
pub(crate) fn is_in_files(cluster: &Cluster, identity: Option<&ClientCertificate>) -> bool {
    let identity = identity.map(|pair| [&pair.certificate, &pair.key]);
    let mut sources = identity
        .into_iter()
        .flatten()
        .chain(&cluster.certificate_authority);
    sources.any(|source| source.path().is_some())
}
