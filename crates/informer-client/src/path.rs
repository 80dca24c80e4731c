//! Paths of requests: no text from outside is put into a URL unchecked.

use url::Url;

use crate::error::Error;

/// Appends a path to the server's prefix.
pub(crate) fn join(base: &Url, path: &str) -> Result<Url, Error> {
    check(path).map_err(|reason| Error::Request {
        reason: format!("the path {path:?} {reason}"),
    })?;
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    Ok(url)
}

/// Checks that a path stays as it is: `..` and its like would be resolved.
fn check(path: &str) -> Result<(), &'static str> {
    if !path.starts_with('/') {
        return Err("does not begin with a slash");
    }
    if path.contains(['?', '#', '\\']) || path.chars().any(|c| c.is_control() || c == ' ') {
        return Err("contains a character that must be encoded");
    }
    let dots = |segment: &str| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    };
    if path.split('/').any(dots) {
        return Err("contains a segment of dots alone");
    }
    Ok(())
}

/// Encodes characters that a header's name cannot have. The key is lower-cased by HTTP anyway.
pub(crate) fn encode_header_key(key: &str) -> String {
    let mut encoded = String::with_capacity(key.len());
    for byte in key.to_lowercase().bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
        if plain {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn base(prefix: &str) -> Url {
        Url::parse(&format!("https://host:6443{prefix}")).unwrap()
    }

    #[test]
    fn path_keeps_prefix_of_the_server() {
        for (prefix, wanted) in [
            ("", "https://host:6443/api/v1/pods"),
            ("/", "https://host:6443/api/v1/pods"),
            (
                "/k8s/clusters/c-1",
                "https://host:6443/k8s/clusters/c-1/api/v1/pods",
            ),
            ("/k8s/", "https://host:6443/k8s/api/v1/pods"),
        ] {
            assert_eq!(
                join(&base(prefix), "/api/v1/pods").unwrap().as_str(),
                wanted
            );
        }
    }

    #[test]
    fn path_that_a_url_would_change_is_refused() {
        for path in [
            "",
            "api",
            "/a/../b",
            "/a/.",
            "/a/%2E%2e/b",
            "/a?b",
            "/a#b",
            "/a\\b",
            "/a b",
            "/a\nb",
        ] {
            assert!(
                matches!(join(&base("/p"), path), Err(Error::Request { .. })),
                "{path:?}"
            );
        }
    }

    #[test]
    fn key_of_an_extra_attribute_is_a_valid_header_name() {
        assert_eq!(
            encode_header_key("example.org/Scopes"),
            "example.org%2Fscopes"
        );
    }

    proptest! {
        /// Whatever the path, the request stays on the server and below its prefix.
        #[test]
        fn request_never_leaves_the_prefix(path in "\\PC{0,40}") {
            if let Ok(url) = join(&base("/prefix"), &path) {
                prop_assert_eq!(url.host_str(), Some("host"));
                prop_assert!(url.path().starts_with("/prefix/"));
                prop_assert_eq!(url.path().matches('/').count(), 1 + path.matches('/').count());
            }
        }
    }
}
