//! Reads protobuf as it lies on the wire: tags, numbers, lengths.

use super::fault::Fault;

/// How a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Varint,
    Fixed64,
    Bytes,
    Fixed32,
}

/// A value as it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// Reads the fields of a message one by one. What it gives lies within the bytes: no length is believed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The number of the next field and how it is encoded; `None` at the end.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Option<(u32, Wire)>, Fault> {
        if self.0.is_empty() {
            return Ok(None);
        }
        split_tag(self.varint()?).map(Some)
    }

    /// The next field; `None` at the end.
    #[inline]
    pub(crate) fn field(&mut self) -> Result<Option<(u32, Payload<'a>)>, Fault> {
        match self.tag()? {
            Some((no, wire)) => Ok(Some((no, self.payload(wire)?))),
            None => Ok(None),
        }
    }

    /// The value behind a tag.
    #[inline]
    pub(crate) fn payload(&mut self, wire: Wire) -> Result<Payload<'a>, Fault> {
        Ok(match wire {
            Wire::Varint => Payload::Varint(self.varint()?),
            Wire::Bytes => {
                let length = usize::try_from(self.varint()?).map_err(|_| Fault::Short)?;
                Payload::Bytes(self.take(length)?)
            }
            Wire::Fixed64 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
            Wire::Fixed32 => Payload::Fixed32(u32::from_le_bytes(self.array()?)),
        })
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Fault> {
        match self.0 {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.0 = rest;
                Ok((*byte).into())
            }
            // Most other lengths.
            [low, high, rest @ ..] if *high < 0x80 => {
                self.0 = rest;
                Ok(u64::from(low & 0x7f) | u64::from(*high) << 7)
            }
            _ => match long_varint(self.0)? {
                Some((value, length)) => {
                    self.0 = &self.0[length..];
                    Ok(value)
                }
                None => Err(Fault::Short),
            },
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Fault::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Fault::Short)?;
        self.0 = rest;
        Ok(*taken)
    }
}

/// A field's number and encoding.
#[inline]
pub(crate) fn split_tag(tag: u64) -> Result<(u32, Wire), Fault> {
    let wire = match tag & 7 {
        0 => Wire::Varint,
        1 => Wire::Fixed64,
        2 => Wire::Bytes,
        5 => Wire::Fixed32,
        // Groups, which Kubernetes never had, and what is no encoding at all.
        _ => return Err(Fault::Malformed),
    };
    match u32::try_from(tag >> 3) {
        Ok(no) if no != 0 && no < 1 << 29 => Ok((no, wire)),
        _ => Err(Fault::Malformed),
    }
}

/// The number at the start of the bytes and how long it is; `None` if it is not all there.
pub(crate) fn long_varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, Fault> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().enumerate().take(10) {
        // Of the tenth byte one bit has room.
        if at == 9 && byte > 1 {
            return Err(Fault::Malformed);
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok(Some((value, at + 1)));
        }
    }
    if bytes.len() < 10 {
        Ok(None)
    } else {
        Err(Fault::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_all_encodings() {
        let bytes = [
            0x08, 0x96, 0x01, 0x12, 2, b'o', b'k', 0x19, 1, 0, 0, 0, 0, 0, 0, 0, 0x25, 2, 0, 0, 0,
        ];
        let mut reader = Reader(&bytes);
        assert_eq!(reader.field(), Ok(Some((1, Payload::Varint(150)))));
        assert_eq!(reader.field(), Ok(Some((2, Payload::Bytes(b"ok")))));
        assert_eq!(reader.field(), Ok(Some((3, Payload::Fixed64(1)))));
        assert_eq!(reader.field(), Ok(Some((4, Payload::Fixed32(2)))));
        assert_eq!(reader.field(), Ok(None));
        for cut in 1..bytes.len() {
            let mut reader = Reader(&bytes[..cut]);
            while let Ok(Some(_)) = reader.field() {}
        }
    }

    // INV-WIRE-13
    #[test]
    fn wrong_length_is_an_error() {
        for bytes in [
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1][..],
            &[
                0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
            ],
            &[0x0a, 2, 0],
            &[0x0a],
            &[0x08, 0x80],
            &[0x09, 0, 0],
            &[0x0d, 0],
        ] {
            assert_eq!(Reader(bytes).field(), Err(Fault::Short), "{bytes:?}");
        }
        for bytes in [&[0x0b][..], &[0x0f], &[0x02, 0], &[0xff; 12]] {
            assert_eq!(Reader(bytes).field(), Err(Fault::Malformed), "{bytes:?}");
        }
    }
}
