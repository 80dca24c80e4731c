//! Finds the end of a JSON value in bytes in pieces, without looking at its meaning.
//!
//! Only quotes, backslashes and brackets matter for that. They are found 64 bytes at a time as bit masks, so that
//! the speed does not depend on how short the strings are. Which bracket closes which is left to the decoder.

/// The number of bytes scanned in one step: one bit of a word each.
const BLOCK: usize = 64;
/// A word of ones in every byte's lowest bit: multiplied, it copies a byte into all eight.
const LOW: u64 = 0x0101_0101_0101_0101;
/// All bits but every byte's highest.
const LOW_SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// The result of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scan {
    /// The value goes on behind these bytes.
    More,
    /// The value ends before this index.
    End(usize),
    /// The value is nested too deeply.
    TooDeep,
}

/// The state of the scan of one value.
#[derive(Debug, Clone)]
pub(crate) enum ValueScan {
    /// An object or array.
    Container(Nesting),
    /// A string, scanned from its opening quote.
    Text { opened: bool, escaped: bool },
    /// A number or a literal: goes on to the next byte that can be no part of it.
    Bare,
}

impl ValueScan {
    /// The scan of the value that starts with this byte; `None` if no JSON value does.
    pub(crate) fn of(first: u8) -> Option<Self> {
        match first {
            b'{' | b'[' => Some(Self::Container(Nesting::default())),
            b'"' => Some(Self::Text {
                opened: false,
                escaped: false,
            }),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => Some(Self::Bare),
            _ => None,
        }
    }

    /// Goes on through `bytes`.
    pub(crate) fn scan(&mut self, bytes: &[u8], max_depth: u32) -> Scan {
        match self {
            Self::Container(nesting) => nesting.scan(bytes, max_depth),
            Self::Text { opened, escaped } => scan_text(bytes, opened, escaped),
            Self::Bare => match bytes.iter().position(|&byte| ends_bare(byte)) {
                Some(end) => Scan::End(end),
                None => Scan::More,
            },
        }
    }
}

/// True for bytes that follow a number or literal.
const fn ends_bare(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b',' | b'}' | b']' | b':' | b'{' | b'[' | b'"')
}

/// JSON's white space.
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

fn scan_text(bytes: &[u8], opened: &mut bool, escaped: &mut bool) -> Scan {
    let mut at = 0;
    if !*opened && !bytes.is_empty() {
        *opened = true;
        at = 1;
    }
    loop {
        if *escaped {
            if at >= bytes.len() {
                return Scan::More;
            }
            *escaped = false;
            at += 1;
        }
        match quote_or_backslash(&bytes[at..]) {
            None => return Scan::More,
            Some(found) if bytes[at + found] == b'"' => return Scan::End(at + found + 1),
            Some(found) => {
                *escaped = true;
                at += found + 1;
            }
        }
    }
}

/// The first quote or backslash.
fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = equal(word, b'"') | equal(word, b'\\');
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|&byte| matches!(byte, b'"' | b'\\'))?;
    Some(words.len() * 8 + found)
}

/// How deep a scan is inside an object or array.
///
/// A byte behind a backslash never counts, inside strings and (in what is no JSON anyway) outside.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nesting {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Nesting {
    /// The scan of a container that goes on behind one of its members.
    pub(crate) const fn inside() -> Self {
        Self {
            depth: 1,
            in_string: false,
            escaped: false,
        }
    }

    /// Goes on through `bytes`. The first byte ever given must be the opening bracket.
    pub(crate) fn scan(&mut self, bytes: &[u8], max_depth: u32) -> Scan {
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for (index, block) in blocks.iter().enumerate() {
            match self.scan_block(block, max_depth) {
                Scan::More => {}
                Scan::End(end) => return Scan::End(index * BLOCK + end),
                Scan::TooDeep => return Scan::TooDeep,
            }
        }
        match self.scan_bytes(rest, max_depth) {
            Scan::End(end) => Scan::End(blocks.len() * BLOCK + end),
            other => other,
        }
    }

    fn scan_block(&mut self, block: &[u8; BLOCK], max_depth: u32) -> Scan {
        let Masks {
            quote,
            backslash,
            open,
            close,
        } = Masks::of(block);
        let escaped = self.escaped_by(backslash);
        let flip = if self.in_string { u64::MAX } else { 0 };
        let inside = prefix_xor(quote & !escaped) ^ flip;
        self.in_string = inside >> 63 == 1;
        let open = open & !inside & !escaped;
        let close = close & !inside & !escaped;
        let (opens, closes) = (open.count_ones(), close.count_ones());
        if closes < self.depth && self.depth + opens <= max_depth {
            self.depth = self.depth + opens - closes;
            return Scan::More;
        }
        self.step_through(open, close, max_depth)
    }

    /// Takes the brackets of a block one by one: the value may end here or become too deep.
    fn step_through(&mut self, open: u64, close: u64, max_depth: u32) -> Scan {
        let mut brackets = open | close;
        while brackets != 0 {
            let at = brackets.trailing_zeros();
            brackets &= brackets - 1;
            if open >> at & 1 == 1 {
                if self.depth >= max_depth {
                    return Scan::TooDeep;
                }
                self.depth += 1;
            } else {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Scan::End(at as usize + 1);
                }
            }
        }
        Scan::More
    }

    /// Which bytes stand behind a backslash that counts.
    fn escaped_by(&mut self, backslash: u64) -> u64 {
        let mut escaped = u64::from(self.escaped);
        self.escaped = false;
        let mut left = backslash & !escaped;
        while left != 0 {
            let at = left.trailing_zeros();
            left &= left - 1;
            if at == 63 {
                self.escaped = true;
                break;
            }
            let next = 1 << (at + 1);
            escaped |= next;
            left &= !next;
        }
        escaped
    }

    fn scan_bytes(&mut self, bytes: &[u8], max_depth: u32) -> Scan {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.escaped {
                self.escaped = false;
                continue;
            }
            match byte {
                b'\\' => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => {
                    if self.depth >= max_depth {
                        return Scan::TooDeep;
                    }
                    self.depth += 1;
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Scan::End(at + 1);
                    }
                }
                _ => {}
            }
        }
        Scan::More
    }
}

/// Where in a block the bytes that matter are: bit `n` for byte `n`.
struct Masks {
    quote: u64,
    backslash: u64,
    open: u64,
    close: u64,
}

impl Masks {
    fn of(block: &[u8; BLOCK]) -> Self {
        Self {
            quote: mask(block, |byte| byte == b'"'),
            backslash: mask(block, |byte| byte == b'\\'),
            // Square and curly brackets differ in this bit alone, and no other byte becomes one of them.
            open: mask(block, |byte| byte | 0x20 == b'{'),
            close: mask(block, |byte| byte | 0x20 == b'}'),
        }
    }
}

/// Where in a block the bytes are that pass a test. Written so that the compiler tests many bytes at once.
#[inline(always)]
fn mask(block: &[u8; BLOCK], test: impl Fn(u8) -> bool) -> u64 {
    let mut passed = [0u8; BLOCK];
    for (flag, &byte) in passed.iter_mut().zip(block) {
        *flag = if test(byte) { 0x80 } else { 0 };
    }
    let (words, _) = passed.as_chunks::<8>();
    words.iter().enumerate().fold(0, |mask, (index, word)| {
        mask | gather(u64::from_le_bytes(*word)) << (8 * index)
    })
}

/// Sets the highest bit of each byte of `word` that equals `byte`, and no other bit.
const fn equal(word: u64, byte: u8) -> u64 {
    let differs = word ^ (LOW * byte as u64);
    !(((differs & LOW_SEVEN) + LOW_SEVEN) | differs | LOW_SEVEN)
}

/// Collects the highest bits of the eight bytes into one byte, the first byte's lowest.
const fn gather(high_bits: u64) -> u64 {
    // Each factor moves one byte's bit to its place in the highest byte.
    (high_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Bit `n` of the result is the parity of bits `0..=n`: set from each opening quote up to its closing one.
const fn prefix_xor(mut bits: u64) -> u64 {
    let mut shift = 1;
    while shift < 64 {
        bits ^= bits << shift;
        shift *= 2;
    }
    bits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same as `Nesting::scan`, one byte after the other.
    fn naive(bytes: &[u8], max_depth: u32) -> Scan {
        Nesting::default().scan_bytes(bytes, max_depth)
    }

    proptest! {
        // INV-WIRE-1
        #[test]
        fn blocks_find_the_same_end_as_single_bytes(
            tail in proptest::collection::vec(proptest::sample::select(b"{}[]\"\\ax,".to_vec()), 0..400),
            cut in 0usize..400,
            max_depth in 1u32..12,
        ) {
            let mut text = b"{".to_vec();
            text.extend(tail);
            let expected = naive(&text, max_depth);
            prop_assert_eq!(Nesting::default().scan(&text, max_depth), expected);

            let (head, rest) = text.split_at(cut.min(text.len()));
            let mut nesting = Nesting::default();
            let in_two = match nesting.scan(head, max_depth) {
                Scan::More => match nesting.scan(rest, max_depth) {
                    Scan::End(end) => Scan::End(head.len() + end),
                    other => other,
                },
                ended => ended,
            };
            prop_assert_eq!(in_two, expected);
        }

        #[test]
        fn a_string_ends_at_its_first_unescaped_quote(text in ".{0,80}", cut in 0usize..90) {
            let json = serde_json::to_vec(&text).expect("a string can be written");
            let mut followed = json.clone();
            followed.extend_from_slice(b",\"\\");
            let (head, rest) = followed.split_at(cut.min(followed.len()));
            let mut scan = ValueScan::of(b'"').expect("a quote starts a string");
            let end = match scan.scan(head, 1) {
                Scan::More => match scan.scan(rest, 1) {
                    Scan::End(end) => head.len() + end,
                    other => panic!("{other:?}"),
                },
                Scan::End(end) => end,
                Scan::TooDeep => panic!("a string has no depth"),
            };
            prop_assert_eq!(end, json.len());
        }
    }

    #[test]
    fn non_ascii_bytes_are_no_brackets() {
        let mut text = b"{\"".to_vec();
        text.extend(0x80..=0xffu8);
        text.extend_from_slice(b"\"}");
        assert_eq!(Nesting::default().scan(&text, 8), Scan::End(text.len()));
        let mut bare = b"{".to_vec();
        bare.extend(0x80..=0xffu8);
        bare.push(b'}');
        assert_eq!(Nesting::default().scan(&bare, 8), Scan::End(bare.len()));
    }
}
