//! Why a recorder cannot be made, or has not sent all events.

use std::time::Duration;

/// An error of an [`EventRecorder`](super::EventRecorder).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecorderError {
    /// API servers refuse every event of such a controller.
    #[error(
        "{name:?} names no controller of events; it must be a qualified name as `example.org/provisioner`: an optional \
         DNS subdomain and a slash, then at most 63 letters, digits, `-`, `_` and `.`"
    )]
    Controller {
        /// The name.
        name: String,
    },
    /// API servers refuse every event of such an instance.
    #[error(
        "{instance:?} names no instance of a controller; it must have between 1 and 128 bytes, as a pod's name"
    )]
    Instance {
        /// The instance.
        instance: String,
    },
    /// Events were still unsent when the time was over. They are sent later, if the runtime goes on.
    #[error("events not sent within {limit:?}")]
    NotFlushed {
        /// The limit.
        limit: Duration,
    },
}

/// Checks what is the same in all events of a recorder, by the rules of API servers.
pub(super) fn check(controller: &str, instance: &str) -> Result<(), RecorderError> {
    if !is_qualified(controller) {
        return Err(RecorderError::Controller {
            name: controller.to_owned(),
        });
    }
    if !(1..=128).contains(&instance.len()) {
        return Err(RecorderError::Instance {
            instance: instance.to_owned(),
        });
    }
    Ok(())
}

/// `IsQualifiedName` of Kubernetes.
fn is_qualified(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = [name.bytes().next(), name.bytes().last()];
    prefix.is_none_or(is_subdomain)
        && (1..=63).contains(&name.len())
        && name.bytes().all(is_inner)
        && ends.iter().flatten().all(u8::is_ascii_alphanumeric)
}

/// A DNS subdomain as RFC 1123 has it, in lower case.
pub(super) fn is_subdomain(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        let is_framed = label.starts_with('-') || label.ends_with('-');
        !label.is_empty() && !is_framed && label.bytes().all(is_inner)
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The rules of `ValidateEventUpdate` and `IsQualifiedName`, tried on a real API server.
    #[test]
    fn names_that_servers_refuse_are_refused() {
        let long = "x".repeat(200);
        for controller in [
            "ns/pod/ctrl",
            "my controller",
            "",
            "Example.org/a",
            "-a",
            "a/",
            &long,
        ] {
            let refused = check(controller, "pod-1");
            assert!(
                matches!(refused, Err(RecorderError::Controller { .. })),
                "{controller:?}"
            );
        }
        for instance in ["", &long] {
            let refused = check("example.org/test", instance);
            assert!(
                matches!(refused, Err(RecorderError::Instance { .. })),
                "{instance:?}"
            );
        }
        for controller in ["kubelet", "example.org/Test_1.x", &"x".repeat(63)] {
            assert_eq!(check(controller, "pod-1"), Ok(()), "{controller:?}");
        }
    }
}
