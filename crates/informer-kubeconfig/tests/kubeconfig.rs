//! Kubeconfig files as users have them: every field, and every fault with an error that says what to do.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use base64::Engine as _;
use informer_kubeconfig::secrecy::ExposeSecret;
use informer_kubeconfig::{Config, ConfigError, Kubeconfig, PemSource};

const PEM: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// A kubeconfig of one context, with these fields in its cluster and its user.
fn one(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{{cluster}}}}}]\n\
         users: [{{name: u, user: {{{user}}}}}]\n"
    )
}

fn load(yaml: &str) -> Result<Config, ConfigError> {
    Kubeconfig::from_yaml(yaml, "/etc/kube/config")?.config(None)
}

/// The whole text of an error: the fault must be clear from it.
fn fault(yaml: &str) -> String {
    let error = load(yaml).expect_err("a fault");
    let mut text = error.to_string();
    let mut next = std::error::Error::source(&error);
    while let Some(error) = next {
        text = format!("{text}: {error}");
        next = error.source();
    }
    text
}

const HTTPS: &str = "server: 'https://api.example:6443'";

#[test]
fn kubeconfig_is_read_with_every_field() {
    let yaml = format!(
        "
apiVersion: v1
kind: Config
preferences: {{colors: true}}
current-context: full
contexts:
- name: full
  context: {{cluster: k, user: u, namespace: shop}}
clusters:
- name: k
  cluster:
    server: https://api.example:6443/k8s/c-1/?query#fragment
    tls-server-name: inner.example
    certificate-authority-data: {ca}
    proxy-url: socks5://proxy.example:1080
    disable-compression: true
    extensions: [{{name: x, extension: {{any: [thing]}}}}]
users:
- name: u
  user:
    client-certificate-data: {ca}
    client-key-data: {ca}
    token: t0k3n
    as: other
    as-uid: uid-1
    as-groups: [g1, g2]
    as-user-extra: {{scopes: [a, b]}}
    unknown-field: [1]
",
        ca = base64(PEM)
    );
    let config = load(&yaml).unwrap();
    let cluster = &config.cluster;
    assert_eq!(cluster.server.as_str(), "https://api.example:6443/k8s/c-1/");
    assert_eq!(cluster.tls_server_name.as_deref(), Some("inner.example"));
    assert_eq!(
        cluster.proxy_url.as_ref().unwrap().as_str(),
        "socks5://proxy.example:1080"
    );
    assert!(cluster.disable_compression && !cluster.insecure_skip_tls_verify);
    let authority = cluster
        .certificate_authority
        .as_ref()
        .unwrap()
        .read()
        .unwrap();
    assert_eq!(authority.expose_secret(), PEM.as_bytes());
    assert_eq!(config.namespace, "shop");
    assert_eq!(config.auth.token.as_ref().unwrap().expose_secret(), "t0k3n");
    let whom = config.auth.impersonate.as_ref().unwrap();
    assert_eq!(
        (whom.user.as_str(), whom.uid.as_deref()),
        ("other", Some("uid-1"))
    );
    assert_eq!(whom.groups, ["g1", "g2"]);
    assert_eq!(whom.extra["scopes"], ["a", "b"]);
    assert!(config.auth.client_certificate.is_some());
}

#[test]
fn json_kubeconfig_is_read_and_null_is_a_missing_field() {
    let json = r#"{"current-context":"c","preferences":null,
        "contexts":[{"name":"c","context":{"cluster":"k","user":"","namespace":null}}],
        "clusters":[{"name":"k","cluster":{"server":"https://h","certificate-authority":null}}],
        "users":null}"#;
    let config = load(json).unwrap();
    assert_eq!(config.namespace, "default");
    assert!(config.auth.is_anonymous());
}

#[test]
fn server_without_scheme_is_http_unless_tls_is_configured() {
    let server = |cluster: &str, user: &str| load(&one(cluster, user)).unwrap().cluster.server;
    assert_eq!(
        server("server: 'localhost:8080'", "").as_str(),
        "http://localhost:8080/"
    );
    assert_eq!(
        server("server: 'h:1', insecure-skip-tls-verify: true", "").as_str(),
        "https://h:1/"
    );
    let ca = base64(PEM);
    let with_ca = format!("server: 'h:1', certificate-authority-data: {ca}");
    assert_eq!(server(&with_ca, "").as_str(), "https://h:1/");
    let certificate = format!("client-certificate-data: {ca}, client-key-data: {ca}");
    assert_eq!(
        server("server: 'h:1'", &certificate).as_str(),
        "https://h:1/"
    );
}

#[test]
fn relative_path_starts_at_the_directory_of_its_kubeconfig() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("inner");
    fs::create_dir(&inner).unwrap();
    for name in ["ca.crt", "me.crt", "me.key", "token"] {
        fs::write(inner.join(name), PEM).unwrap();
    }
    let yaml = one(
        &format!("{HTTPS}, certificate-authority: ca.crt"),
        "client-certificate: ./me.crt, client-key: ../inner/me.key, tokenFile: token",
    );
    let file = inner.join("config");
    fs::write(&file, yaml).unwrap();
    let config = Kubeconfig::from_file(&file).unwrap().config(None).unwrap();
    let path = |source: &PemSource| source.path().unwrap().canonicalize().unwrap();
    let real = inner.canonicalize().unwrap();
    assert_eq!(
        path(config.cluster.certificate_authority.as_ref().unwrap()),
        real.join("ca.crt")
    );
    let identity = config.auth.client_certificate.as_ref().unwrap();
    assert_eq!(path(&identity.certificate), real.join("me.crt"));
    assert_eq!(path(&identity.key), real.join("me.key"));
    assert_eq!(
        config.auth.token_file.as_deref(),
        Some(&*inner.join("token"))
    );
}

/// INV-CLIENT-1: an error names the file, the entry and the field, and says what to do.
#[test]
fn every_error_names_file_and_entry() {
    let ca = base64(PEM);
    let certificate = format!("client-certificate-data: {ca}");
    let faults: &[(String, &[&str])] = &[
        (one("server: ''", ""), &["cluster \"k\"", "empty", "set"]),
        (
            one("server: 'ftp://h'", ""),
            &["cluster \"k\"", "http or https"],
        ),
        (
            one("server: 'https://'", ""),
            &["cluster \"k\"", "not a URL"],
        ),
        (
            one("server: 'https://a:b@h'", ""),
            &["cluster \"k\"", "password", "user entry"],
        ),
        (
            one(&format!("{HTTPS}, certificate-authority: gone.crt"), ""),
            &[
                "cluster \"k\"",
                "certificate-authority",
                "/etc/kube/gone.crt",
            ],
        ),
        (
            one(&format!("{HTTPS}, certificate-authority-data: '%%'"), ""),
            &["cluster \"k\"", "certificate-authority-data", "base64"],
        ),
        (
            one(
                &format!("{HTTPS}, certificate-authority-data: {}", base64("plain")),
                "",
            ),
            &["cluster \"k\"", "no PEM"],
        ),
        (
            one(
                &format!("{HTTPS}, certificate-authority: a, certificate-authority-data: {ca}"),
                "",
            ),
            &["cluster \"k\"", "exclude each other"],
        ),
        (
            one(
                &format!(
                    "{HTTPS}, certificate-authority-data: {ca}, insecure-skip-tls-verify: true"
                ),
                "",
            ),
            &["cluster \"k\"", "insecure-skip-tls-verify", "remove one"],
        ),
        (
            one(&format!("{HTTPS}, proxy-url: 'ftp://p'"), ""),
            &["cluster \"k\"", "proxy-url"],
        ),
        (
            one(HTTPS, &certificate),
            &["user \"u\"", "needs a client-key"],
        ),
        (
            one(HTTPS, &format!("client-key-data: {ca}")),
            &["user \"u\"", "needs a client cert"],
        ),
        (
            one(HTTPS, "token: t, username: n, password: p"),
            &["user \"u\"", "exclude"],
        ),
        (
            one(HTTPS, "password: p"),
            &["user \"u\"", "needs a username"],
        ),
        (one(HTTPS, "username: 'a:b'"), &["user \"u\"", "colon"]),
        (one(HTTPS, "as-groups: [g]"), &["user \"u\"", "`as`"]),
        (
            one(HTTPS, "auth-provider: {name: gcp}"),
            &["user \"u\"", "gcp", "use an exec plugin"],
        ),
        (
            one(HTTPS, "exec: {command: c}"),
            &["user \"u\"", "apiVersion"],
        ),
        (
            one(
                HTTPS,
                "exec: {apiVersion: client.authentication.k8s.io/v1, command: c}",
            ),
            &["user \"u\"", "interactiveMode"],
        ),
        (
            one(
                HTTPS,
                &format!("{EXEC}, env: [{{name: 'A=B', value: x}}]}}"),
            ),
            &["user \"u\"", "variable"],
        ),
        (
            one(HTTPS, "exec: {}, auth-provider: {}"),
            &["user \"u\"", "remove one"],
        ),
        (
            one(HTTPS, "tokenFile: gone"),
            &["user \"u\"", "tokenFile", "/etc/kube/gone"],
        ),
        (
            one(HTTPS, "").replace("cluster: k,", "cluster: x,"),
            &["context \"c\"", "\"x\""],
        ),
        (
            one(HTTPS, "").replace("cluster: k,", ""),
            &["context \"c\"", "no cluster; add one"],
        ),
        (
            one(HTTPS, "").replace("user: u}", "user: x}"),
            &["context \"c\"", "\"x\""],
        ),
        (
            one(HTTPS, "").replace("current-context: c", ""),
            &["current-context", "one of: c"],
        ),
        (
            one(HTTPS, "").replace("current-context: c", "current-context: d"),
            &["\"d\"", "c"],
        ),
        (
            one(HTTPS, "").replace("[{name: u,", "[{name: u}, {name: u,"),
            &["user \"u\"", "duplicate"],
        ),
        ("contexts: {}".to_owned(), &["line 1"]),
        (
            "contexts: [{context: {}}]".to_owned(),
            &["missing field \"name\"", "line 1"],
        ),
        ("a: [".to_owned(), &["not a valid kubeconfig"]),
        ("--- {}\n--- {}\n".to_owned(), &["more than one document"]),
    ];
    for (yaml, wanted) in faults {
        let text = fault(yaml);
        assert!(text.contains("/etc/kube/config"), "{text}");
        for part in *wanted {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }
}

/// INV-CLIENT-1: as kubectl, which takes a file that does not say what it is, and refuses one that says something else.
#[test]
fn file_of_another_kind_is_refused() {
    let whole = one(HTTPS, "token: t");
    for same in [
        whole.replace("kind: Config\n", ""),
        whole.replace("apiVersion: v1\n", ""),
        whole.replace("apiVersion: v1\nkind: Config\n", ""),
        whole.replace("kind: Config", "kind: null"),
        whole.replace("apiVersion: v1", "apiVersion: ''"),
    ] {
        assert_eq!(load(&same).unwrap().cluster.server.port(), Some(6443));
    }
    let long = "x".repeat(10_000);
    for (yaml, words) in [
        (
            whole.replace("kind: Config", "kind: Secret"),
            &["kind is \"Secret\"", "\"Config\""][..],
        ),
        (
            whole.replace("kind: Config", "kind: config"),
            &["kind is \"config\""],
        ),
        (
            whole.replace("apiVersion: v1", "apiVersion: v2"),
            &["apiVersion is \"v2\"", "\"v1\""],
        ),
        (
            whole.replace("apiVersion: v1", "apiVersion: example.org/v1"),
            &["apiVersion is \"example.org/v1\""],
        ),
        (
            whole.replace("kind: Config", &format!("kind: {long}")),
            &["kind is another one"],
        ),
        // Its fields would not fit either; the kind says more.
        (
            "kind: List\ncontexts: {a: b}".to_owned(),
            &["kind is \"List\""],
        ),
        (whole.replace("kind: Config", "kind: [1]"), &["line 2"]),
    ] {
        let error = load(&yaml).unwrap_err();
        assert!(matches!(error, ConfigError::Syntax { .. }), "{error:?}");
        let text = fault(&yaml);
        assert!(text.contains("/etc/kube/config"), "{text}");
        assert!(text.len() < 300, "{text}");
        for part in words {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }
}

const EXEC: &str = "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: c";

#[test]
fn exec_is_ignored_beside_other_credentials() {
    let with_token = load(&one(HTTPS, &format!("token: t, {EXEC}}}"))).unwrap();
    assert!(with_token.auth.exec.is_none());
    assert!(
        load(&one(HTTPS, &format!("{EXEC}}}")))
            .unwrap()
            .auth
            .exec
            .is_some()
    );
    assert!(load(&one(HTTPS, "token: t, auth-provider: {name: gcp}")).is_ok());
}

#[test]
fn aliases_and_merge_keys_are_expanded() {
    let yaml = "
base: &base {server: 'https://h', tls-server-name: base}
current-context: c
contexts: [{name: c, context: {cluster: k}}]
clusters:
- {name: same, cluster: *base}
- {name: k, cluster: {<<: *base, tls-server-name: own}}
";
    let cluster = load(yaml).unwrap().cluster;
    assert_eq!(cluster.server.as_str(), "https://h/");
    assert_eq!(cluster.tls_server_name.as_deref(), Some("own"));
}

#[test]
fn requested_context_counts_before_the_current_one() {
    let yaml = "
current-context: a
contexts:
- {name: a, context: {cluster: k, namespace: one}}
- {name: b, context: {cluster: k, namespace: two}}
clusters: [{name: k, cluster: {server: https://h}}]
";
    let kubeconfig = Kubeconfig::from_yaml(yaml, "f").unwrap();
    assert_eq!(kubeconfig.contexts().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(kubeconfig.current_context(), Some("a"));
    assert_eq!(kubeconfig.config(Some("b")).unwrap().namespace, "two");
    assert!(matches!(
        kubeconfig.config(Some("z")),
        Err(ConfigError::UnknownContext { .. })
    ));
}

/// The limits of size, depth and aliases: INV-CLIENT-14.
#[test]
fn hostile_yaml_is_refused_in_time() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let refs = vec![format!("*a{}", n - 1); 9].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
    }
    assert!(matches!(load(&bomb), Err(ConfigError::Syntax { .. })));
    // Not many nodes, but each is large.
    let large = "x".repeat(1 << 20);
    let many = vec!["*a"; 900].join(", ");
    let echo = format!("a: &a {large}\nusers: [{{name: u, user: {{as-groups: [{many}]}}}}]\n");
    assert!(matches!(load(&echo), Err(ConfigError::Syntax { .. })));
    for levels in [100, 5_000] {
        let deep = format!("x: {}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(
            matches!(load(&deep), Err(ConfigError::Syntax { .. })),
            "{levels}"
        );
    }

    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("big");
    let big = fs::File::create(&file).unwrap();
    big.set_len(informer_kubeconfig::MAX_KUBECONFIG_BYTES + 1)
        .unwrap();
    let error = Kubeconfig::from_file(&file).unwrap_err();
    assert!(matches!(error, ConfigError::Read { .. }), "{error:?}");
}

/// A kubeconfig from a stranger must not make us read files of this machine.
#[test]
fn inline_only_refuses_entries_that_name_files() {
    let cases = [
        (format!("{HTTPS}, certificate-authority: /etc/passwd"), ""),
        (HTTPS.to_owned(), "tokenFile: /etc/passwd"),
        (HTTPS.to_owned(), "client-key: /etc/passwd"),
        (
            HTTPS.to_owned(),
            "token: t, client-certificate: /etc/passwd",
        ),
    ];
    for (cluster, user) in &cases {
        let kubeconfig = Kubeconfig::from_yaml(&one(cluster, user), "f").unwrap();
        let error = kubeconfig.inline_only(true).config(None).unwrap_err();
        assert!(error.to_string().contains("names a file"), "{error}");
    }
    let inline = Kubeconfig::from_yaml(&one(HTTPS, "token: t"), "f").unwrap();
    let merged = Kubeconfig::default().inline_only(true).merge(inline);
    assert!(merged.config(None).is_ok());
    // The rule holds for the whole, whichever of the two had it.
    for own in [true, false] {
        let files = Kubeconfig::from_yaml(&one(HTTPS, "tokenFile: /etc/passwd"), "f").unwrap();
        let first = Kubeconfig::default().inline_only(own);
        let merged = first.merge(files.inline_only(!own));
        assert!(merged.config(None).is_err());
    }
}

#[test]
fn file_of_an_entry_must_be_a_regular_file() {
    let text = fault(&one(
        &format!("{HTTPS}, certificate-authority: /dev/zero"),
        "",
    ));
    assert!(text.contains("not a regular file"), "{text}");
    let error = informer_kubeconfig::read_file(Path::new("/")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}
