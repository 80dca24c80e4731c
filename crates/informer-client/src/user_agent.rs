//! The `User-Agent` header.

use http::HeaderValue;

/// Names that servers treat specially: they send browsers and `curl` pretty-printed, larger bodies, and their own
/// components bypass filters.
const SPECIAL: [&str; 4] = ["curl", "wget", "mozilla", "kube-apiserver"];

/// Returns the header for this program: `<program>/<version> (<os>/<arch>) informer/<version>`.
pub(crate) fn for_this_program() -> HeaderValue {
    let program = std::env::current_exe().ok();
    let program = program
        .as_deref()
        .and_then(|path| path.file_stem()?.to_str());
    header(program.unwrap_or("unknown"), "unknown")
}

/// Returns the header for a program and its version.
pub(crate) fn header(program: &str, version: &str) -> HeaderValue {
    let mut program = token(program);
    let lower = program.to_ascii_lowercase();
    if SPECIAL.iter().any(|special| lower.starts_with(special)) {
        program.insert_str(0, "app-");
    }
    let text = format!(
        "{program}/{} ({}/{}) informer/{}",
        token(version),
        platform(std::env::consts::OS),
        platform(std::env::consts::ARCH),
        env!("CARGO_PKG_VERSION"),
    );
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("informer"))
}

/// Returns the name that Kubernetes' own programs have for a system or architecture, so that one rule finds all clients
/// of one.
fn platform(name: &'static str) -> &'static str {
    match name {
        "macos" => "darwin",
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        name => name,
    }
}

/// Keeps the characters that a product's name may have.
fn token(text: &str) -> String {
    let kept: String = text
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-._+".contains(*c))
        .take(64)
        .collect();
    if kept.is_empty() {
        "unknown".to_owned()
    } else {
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::header;

    #[test]
    fn user_agent_has_program_platform_and_library() {
        let value = header("my operator", "1.2.3");
        let text = value.to_str().unwrap();
        assert!(text.starts_with("myoperator/1.2.3 ("), "{text}");
        assert!(text.contains(") informer/"), "{text}");
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        assert!(text.contains("(linux/amd64)"), "{text}");
    }

    #[test]
    fn user_agent_is_never_that_of_a_browser() {
        for program in [
            "curl",
            "Wget",
            "mozilla/5.0",
            "kube-apiserver",
            "",
            "\r\nX: y",
        ] {
            let value = header(program, "\n");
            let text = value.to_str().unwrap().to_ascii_lowercase();
            assert!(
                super::SPECIAL
                    .iter()
                    .all(|special| !text.starts_with(special)),
                "{text}"
            );
        }
    }
}
