//! Continue tokens: the place and the revision at which a paged list goes on.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use informer_wire::Status;
use serde::{Deserialize, Serialize};

use crate::status;

/// A decoded continue token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// The revision of the first page; `None` for the inconsistent rest that the response to an expired token offers.
    pub(crate) revision: Option<u64>,
    /// The first key of the next page, relative to the scope of the list.
    pub(crate) start: String,
}

#[derive(Serialize, Deserialize)]
struct Text {
    v: String,
    rv: i64,
    start: String,
}

/// As lenient as Go's decoder about the unused bits of the last character.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

const VERSION: &str = "meta.k8s.io/v1";

impl ContinueToken {
    /// Makes the token behind the last key of a page.
    pub(crate) fn after(revision: u64, last_key: &str) -> Self {
        // The smallest key above it: one zero byte longer.
        Self {
            revision: Some(revision),
            start: format!("{last_key}\0"),
        }
    }

    pub(crate) fn encode(&self) -> String {
        let rv = self
            .revision
            .map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX));
        // A real server writes the slash in the one form and not in the other.
        let slash = if self.revision.is_some() { "/" } else { "" };
        let text = Text {
            v: VERSION.to_owned(),
            rv,
            start: format!("{slash}{}", self.start),
        };
        let json = serde_json::to_vec(&text).expect("strings and a number always serialise");
        BASE64.encode(json)
    }

    pub(crate) fn decode(token: &str) -> Result<Self, Status> {
        let invalid = |why: String| {
            status::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let json = BASE64
            .decode(token)
            .map_err(|error| invalid(error.to_string()))?;
        let text: Text = serde_json::from_slice(&json).map_err(|error| match json.first() {
            Some(byte) if *byte != b'{' => invalid(format!(
                "invalid character '{}' looking for beginning of value",
                char::from(*byte)
            )),
            _ => invalid(error.to_string()),
        })?;
        if text.v != VERSION {
            return Err(invalid(format!(
                "server does not recognize this encoded version \"{}\"",
                text.v
            )));
        }
        let start = text.start.strip_prefix('/').unwrap_or(&text.start);
        if start.is_empty() {
            return Err(invalid(
                "encoded start key is empty (version meta.k8s.io/v1)".to_owned(),
            ));
        }
        if start.split('/').any(|part| part == "..") {
            return Err(invalid(start.to_owned()));
        }
        let revision = match text.rv {
            0 => {
                return Err(invalid(
                    "incorrect encoded start resourceVersion".to_owned(),
                ));
            }
            rv => u64::try_from(rv).ok(),
        };
        Ok(Self {
            revision,
            start: start.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first page's token of a recorded list.
    const RECORDED: &str =
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAwNjgwLCJzdGFydCI6Ii9wb2QtMlx1MDAwMCJ9";

    #[test]
    fn continue_token_reads_and_writes_as_recorded() {
        let token = ContinueToken::after(100_680, "pod-2");
        assert_eq!(token.encode(), RECORDED);
        assert_eq!(ContinueToken::decode(RECORDED).unwrap(), token);
    }

    #[test]
    fn continue_token_without_revision_is_the_inconsistent_one() {
        let token = ContinueToken {
            revision: None,
            start: "pod-3\0".to_owned(),
        };
        assert_eq!(ContinueToken::decode(&token.encode()).unwrap(), token);
    }

    /// The first message was recorded.
    #[test]
    fn invalid_continue_token_is_a_bad_request() {
        let status = ContinueToken::decode("zzz").unwrap_err();
        assert_eq!(
            status.message,
            "invalid continue token: continue key is not valid: invalid character 'Ï' looking for beginning of value"
        );
        for json in [
            "{}",
            r#"{"v":"v9","rv":1,"start":"/a"}"#,
            r#"{"v":"meta.k8s.io/v1","rv":0,"start":"/a"}"#,
            r#"{"v":"meta.k8s.io/v1","rv":1,"start":"/"}"#,
            r#"{"v":"meta.k8s.io/v1","rv":1,"start":"/../secrets"}"#,
        ] {
            let token = BASE64.encode(json);
            assert_eq!(
                ContinueToken::decode(&token).unwrap_err().code,
                400,
                "{json}"
            );
        }
        assert_eq!(ContinueToken::decode("not base64!").unwrap_err().code, 400);
    }
}
