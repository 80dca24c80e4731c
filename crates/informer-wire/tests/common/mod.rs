//! Recorded answers of a real API server, as the tests replay them.

use std::io::Read;
use std::path::PathBuf;

/// One recorded answer, its transfer encoding undone.
pub(crate) struct Recording {
    pub(crate) code: u16,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

/// The names of all recordings.
pub(crate) fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the recordings are in the tree")
        .map(|entry| {
            entry
                .expect("the folder can be read")
                .file_name()
                .into_string()
        })
        .filter_map(|name| Some(name.ok()?.strip_suffix(".response")?.to_owned()))
        .collect();
    names.sort();
    assert!(names.len() > 40, "recordings are missing");
    names
}

impl Recording {
    pub(crate) fn load(name: &str) -> Self {
        let bytes = std::fs::read(folder().join(format!("{name}.response")));
        let bytes = bytes.unwrap_or_else(|error| panic!("{name}: {error}"));
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head ends");
        let head = std::str::from_utf8(&bytes[..end]).expect("a head is text");
        let mut lines = head.split("\r\n");
        let code = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .expect("a status line");
        let headers: Vec<(String, &str)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
        let header = |name| {
            headers
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, value)| *value)
        };
        let mut body = bytes[end + 4..].to_vec();
        if header("transfer-encoding") == Some("chunked") {
            body = unchunk(&body);
        }
        if header("content-encoding") == Some("gzip") {
            let mut unpacked = Vec::new();
            let mut decoder = flate2::read::MultiGzDecoder::new(&*body);
            decoder
                .read_to_end(&mut unpacked)
                .expect("the body is gzip");
            body = unpacked;
        }
        let content_type = header("content-type").unwrap_or_default().to_owned();
        Self {
            code: code.parse().expect("a status code"),
            content_type,
            body,
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.content_type.starts_with("application/json")
    }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = bytes
            .windows(2)
            .position(|two| two == b"\r\n")
            .expect("a chunk's size");
        let size = std::str::from_utf8(&bytes[..line]).expect("a size is text");
        let size = usize::from_str_radix(size, 16).expect("a size is hexadecimal");
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&bytes[line + 2..line + 2 + size]);
        bytes = &bytes[line + 2 + size + 2..];
    }
}
