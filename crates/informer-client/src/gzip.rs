//! Unpacks a gzip body piece by piece, member by member.

use std::io::{self, Write};

use bytes::{Buf, Bytes};
use flate2::write::MultiGzDecoder;

/// The most bytes unpacked at once. Deflate makes at most about a thousand bytes of one, so a piece stays below a
/// megabyte whatever was sent.
const PIECE: usize = 1024;

/// A gzip body being received. API servers close a member with each event of a watch: received bytes are returned at once,
/// whether or not something follows.
#[derive(Debug)]
pub(crate) struct Gunzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    packed: Bytes,
    begun: bool,
}

impl Gunzip {
    pub(crate) fn new() -> Self {
        Self {
            decoder: MultiGzDecoder::new(Vec::new()),
            packed: Bytes::new(),
            begun: false,
        }
    }

    /// Takes bytes, once all before them were returned.
    pub(crate) fn push(&mut self, packed: Bytes) {
        self.begun |= !packed.is_empty();
        self.packed = packed;
    }

    /// Returns the next piece; `None` if more bytes are needed first.
    ///
    /// # Errors
    /// When it is no gzip.
    pub(crate) fn next(&mut self) -> io::Result<Option<Bytes>> {
        while self.packed.has_remaining() {
            let piece = self.packed.len().min(PIECE);
            let taken = self.decoder.write(&self.packed[..piece])?;
            if taken == 0 {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.packed.advance(taken);
            self.decoder.flush()?;
            let unpacked = std::mem::take(self.decoder.get_mut());
            if !unpacked.is_empty() {
                return Ok(Some(unpacked.into()));
            }
        }
        Ok(None)
    }

    /// Checks that the body ended where a member does.
    ///
    /// # Errors
    /// When it broke off.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.begun) {
            return Ok(());
        }
        self.decoder.try_finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    fn packed(members: &[Vec<u8>]) -> Vec<u8> {
        let pack = |text: &Vec<u8>| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        };
        members.iter().flat_map(pack).collect()
    }

    /// All that comes out of these chunks, and the largest piece of it.
    fn unpack(chunks: impl Iterator<Item = Vec<u8>>) -> io::Result<(Vec<u8>, usize)> {
        let mut gunzip = Gunzip::new();
        let (mut all, mut largest) = (Vec::new(), 0);
        for chunk in chunks {
            gunzip.push(chunk.into());
            while let Some(piece) = gunzip.next()? {
                largest = largest.max(piece.len());
                all.extend_from_slice(&piece);
            }
        }
        gunzip.finish().map(|()| (all, largest))
    }

    proptest! {
        // INV-HTTP-5
        #[test]
        fn members_come_out_whole_however_they_are_cut(
            members in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 1..4),
            cut in 1_usize..5000,
        ) {
            let bytes = packed(&members);
            let (all, _) = unpack(bytes.chunks(cut).map(<[u8]>::to_vec)).unwrap();
            prop_assert_eq!(all, members.concat());
        }
    }

    // INV-HTTP-5
    #[test]
    fn incomplete_body_is_an_error() {
        let bytes = packed(&[b"some text".to_vec(), b"more of it".to_vec()]);
        let first = packed(&[b"some text".to_vec()]).len();
        for end in 0..bytes.len() {
            let outcome = unpack(std::iter::once(bytes[..end].to_vec()));
            assert_eq!(outcome.is_ok(), end == 0 || end == first, "{end}");
        }
    }

    // INV-HTTP-6
    #[test]
    fn unpacked_piece_is_small() {
        let bytes = packed(&[vec![b' '; 32 << 20]]);
        let (all, largest) = unpack(std::iter::once(bytes)).unwrap();
        assert_eq!(all.len(), 32 << 20);
        assert!(largest <= 2 << 20, "{largest}");
    }

    #[test]
    fn body_that_is_no_gzip_is_an_error() {
        assert!(unpack(std::iter::once(b"{\"kind\":\"PodList\"}".to_vec())).is_err());
        let mut bytes = packed(&[b"some text".to_vec()]);
        bytes.extend_from_slice(b"{}");
        assert!(unpack(std::iter::once(bytes)).is_err());
    }
}
