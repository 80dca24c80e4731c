//! Certificates and keys: inline or in a file, read with limits.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretSlice};

/// The most bytes of a file that a configuration names: certificates, keys, tokens.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// PEM text, inline or in a file. The file is kept as a path, so that it can be read again when it is renewed.
#[derive(Clone)]
#[non_exhaustive]
pub enum PemSource {
    /// The text itself.
    Inline(SecretSlice<u8>),
    /// A file with the text.
    File(PathBuf),
}

impl PemSource {
    /// Makes a source of PEM text.
    #[must_use]
    pub fn inline(pem: impl Into<Vec<u8>>) -> Self {
        Self::Inline(SecretSlice::from(pem.into()))
    }

    /// Makes a source of a file with PEM text.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File(path.into())
    }

    /// Returns the file, if it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Inline(_) => None,
        }
    }

    /// Returns the text as it is now.
    ///
    /// # Errors
    /// When the file cannot be read, is no regular file, or is larger than [`MAX_FILE_BYTES`].
    pub fn read(&self) -> io::Result<SecretSlice<u8>> {
        match self {
            Self::Inline(pem) => Ok(SecretSlice::from(pem.expose_secret().to_vec())),
            Self::File(path) => read_file(path),
        }
    }
}

impl fmt::Debug for PemSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(_) => f.write_str("Inline(..)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// Reads a file that a configuration names.
///
/// # Errors
/// When it cannot be read, is no regular file (a pipe or device could block for ever), or is larger than
/// [`MAX_FILE_BYTES`].
pub fn read_file(path: &Path) -> io::Result<SecretSlice<u8>> {
    // Before opening: to open a pipe waits for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    read_capped(path, MAX_FILE_BYTES).map(SecretSlice::from)
}

/// Reads at most `limit` bytes; more is an error.
pub(crate) fn read_capped(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("larger than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}
