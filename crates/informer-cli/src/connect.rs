//! From arguments to a connection and a resource.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use informer::client::{
    BuildError, Client, ClientBuilder, ConfigLoader, Error, ExecError, ExecPolicy,
};
use informer::{LabelSelector, Resource, Scope};

use crate::args::{ConnectionArgs, SelectionArgs};
use crate::failure::{Usage, one_line};

/// How long a discovery request may take before it is tried again.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a program that gives credentials may take. A person may have to log in meanwhile.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);

/// Connects as the arguments say. Makes no request.
///
/// # Errors
/// What the caller must mend: a bad URL, a missing or broken kubeconfig.
pub(crate) fn client(args: &ConnectionArgs) -> anyhow::Result<Client> {
    let builder: ClientBuilder = match &args.server {
        Some(url) => {
            let config = informer::client::Config::anonymous(url).map_err(Usage::from_error)?;
            Client::builder(config)
        }
        None => Client::builder(load(args)?),
    };
    builder
        .user_agent("informer", env!("CARGO_PKG_VERSION"))
        .credentials_on_loopback(args.credentials_on_loopback)
        .exec(allowed_programs(args.allow_exec.as_deref()))
        .exec_timeout(LOGIN_TIMEOUT)
        .build()
        .map_err(|error| match error {
            BuildError::Exec(error @ ExecError::Denied { .. }) => {
                Usage::error(format!("{error} (--allow-exec allows it)"))
            }
            error => Usage::from_error(error),
        })
}

/// The programs of `--allow-exec`: none without it, `all` if it names none.
fn allowed_programs(listed: Option<&[PathBuf]>) -> ExecPolicy {
    let Some(listed) = listed else {
        return ExecPolicy::Deny;
    };
    match listed {
        [all] if all.as_os_str() == "all" => ExecPolicy::AllowAll,
        some => ExecPolicy::allow(some),
    }
}

fn load(args: &ConnectionArgs) -> anyhow::Result<informer::client::Config> {
    let mut loader = ConfigLoader::new();
    if let Some(file) = &args.kubeconfig {
        loader = loader.kubeconfig(file);
    }
    if let Some(context) = &args.context {
        loader = loader.context(context);
    }
    loader.load().map_err(Usage::from_error)
}

/// Checks namespace and selectors before anything is sent.
///
/// # Errors
/// A namespace that cannot be, a selector that no server would take.
pub(crate) fn check(selection: &SelectionArgs) -> anyhow::Result<()> {
    if let Some(namespace) = selection.namespace.as_deref().filter(|n| !is_namespace(n)) {
        return Err(Usage::error(format!(
            "{namespace:?} can be no namespace; its name has lower-case letters, digits and dashes, at most 63"
        )));
    }
    if let Some(selector) = &selection.label_selector {
        selector.parse::<LabelSelector>().map_err(|error| {
            Usage::error(format!(
                "the label selector {selector:?} is not valid: {error}"
            ))
        })?;
    }
    // As with kubectl, an empty selector chooses everything.
    if let Some(selector) = selection
        .field_selector
        .as_deref()
        .filter(|s| !s.is_empty())
    {
        check_fields(selector)?;
    }
    Ok(())
}

/// Whether a namespace can have this name; the empty one stands for all.
fn is_namespace(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    name.len() <= 63 && name.bytes().all(plain) && !name.starts_with('-') && !name.ends_with('-')
}

/// Checks the grammar of a field selector. Which fields there are only the server knows.
fn check_fields(selector: &str) -> anyhow::Result<()> {
    let escaped = selector
        .replace("\\\\", "")
        .replace("\\,", "")
        .replace("\\=", "");
    let is_term = |term: &str| {
        let field = term.split_once("!=").or_else(|| term.split_once('='));
        field.is_some_and(|(field, _)| !field.trim().is_empty())
    };
    if escaped.split(',').all(is_term) {
        return Ok(());
    }
    Err(Usage::error(format!(
        "the field selector {selector:?} is not valid; write terms as status.phase=Running or metadata.name!=a, with commas between"
    )))
}

/// The resource that a name means. Built-in names and full `group/version/plural` need no request.
///
/// # Errors
/// A name that the server does not know. A failure that may be temporary is passed to `failed`, once for each new reason, and retried.
pub(crate) async fn resource(
    client: &Client,
    name: &str,
    mut failed: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<Resource> {
    if let Some(resource) = Resource::builtin(name) {
        return Ok(resource);
    }
    if let Some(resource) = spelled_out(name)? {
        return Ok(resource);
    }
    let mut wait = Duration::from_millis(800);
    let mut reported = HashSet::new();
    loop {
        let asked = tokio::time::timeout(DISCOVERY_TIMEOUT, client.find_resource(name)).await;
        let reason = match asked {
            Ok(Ok(resource)) => return Ok(resource),
            Ok(Err(error @ Error::UnknownResource { .. })) => return Err(Usage::from_error(error)),
            Ok(Err(error)) => one_line(&anyhow::Error::new(error)),
            Err(_) => format!("the API server sent no response within {DISCOVERY_TIMEOUT:?}"),
        };
        let message = format!("discovery failed: {reason}");
        if reported.insert(reason) {
            failed(&message)?;
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(Duration::from_secs(30));
    }
}

/// What people call the group without a name, as Kubernetes' own documents do. No group has this name: custom ones have
/// a dot in theirs.
const CORE: &str = "core";

/// Reads `group/version/plural`, whose kind and scope no list or watch needs to know beforehand.
fn spelled_out(name: &str) -> anyhow::Result<Option<Resource>> {
    let parts: Vec<&str> = name.split('/').collect();
    let (group, version, plural) = match parts[..] {
        [CORE, version, plural] => {
            if let Some(resource) = Resource::builtin(&format!("{version}/{plural}")) {
                return Ok(Some(resource));
            }
            ("", version, plural)
        }
        [group, version, plural] => (group, version, plural),
        [_] | [_, _] => return Ok(None),
        _ => return Err(unknown(name)),
    };
    let resource = Resource::new(
        group.to_owned(),
        version.to_owned(),
        String::new(),
        plural.to_owned(),
        Scope::Namespaced,
    );
    resource.path(None, None).map_err(|_| unknown(name))?;
    Ok(Some(resource))
}

fn unknown(name: &str) -> anyhow::Error {
    Usage::error(format!(
        "{name:?} names no resource; write a plural as pods or deployments.apps, or group/version/plural"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_field_selector_is_refused_before_first_request() {
        assert!(check_fields("status.phase=Running,metadata.name!=a").is_ok());
        assert!(check_fields(r"metadata.name=a\,b").is_ok());
        assert!(check_fields("status.phase").is_err());
        assert!(check_fields("=x").is_err());
        assert!(check_fields("a=b,,").is_err());
        let everything = SelectionArgs {
            namespace: None,
            label_selector: Some(String::new()),
            field_selector: Some(String::new()),
        };
        assert!(check(&everything).is_ok());
    }

    #[test]
    fn allow_exec_allows_all_programs_or_the_listed() {
        assert_eq!(allowed_programs(None), ExecPolicy::Deny);
        assert_eq!(
            allowed_programs(Some(&["all".into()])),
            ExecPolicy::AllowAll
        );
        let two: [PathBuf; 2] = ["aws".into(), "/opt/x".into()];
        assert_eq!(allowed_programs(Some(&two)), ExecPolicy::allow(two.clone()));
    }

    #[test]
    fn invalid_namespace_is_refused_before_first_request() {
        for name in ["", "shop", "kube-system", "1"] {
            assert!(is_namespace(name), "{name:?}");
        }
        for name in ["a/b", "..", "Shop", "-a", "a-", "a b", "a\n", "a.b"] {
            assert!(!is_namespace(name), "{name:?}");
        }
        assert!(!is_namespace(&"a".repeat(64)));
    }

    #[test]
    fn full_name_needs_no_discovery() {
        let widgets = spelled_out("demo.example/v1/widgets").unwrap().unwrap();
        assert_eq!(
            widgets.path(None, None).unwrap(),
            "/apis/demo.example/v1/widgets"
        );
        assert!(spelled_out("widgets").unwrap().is_none());
        for (name, path) in [
            ("core/v1/pods", "/api/v1/pods"),
            ("core/v2/things", "/api/v2/things"),
        ] {
            let resource = spelled_out(name).unwrap().unwrap();
            assert_eq!(resource.path(None, None).unwrap(), path);
        }
        let nodes = spelled_out("core/v1/nodes").unwrap().unwrap();
        assert_eq!(nodes.scope, Scope::Cluster);
        assert!(spelled_out("a/b/c/d").is_err());
        assert!(spelled_out("a/../c").is_err());
    }
}
