//! Settings of any value, also zero and endless: no panic; they are honoured, clamped as documented, or refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::LazyLock;
use std::time::Duration;

use informer_client::http::Method;
use informer_client::{
    AuthInfo, BuildError, Client, Cluster, Config, Error, ExecPolicy, HttpVersion,
};
use informer_kubeconfig::{ExecConfig, ExecVersion, Impersonate, InteractiveMode, PemSource};
use proptest::prelude::*;
use support::{Reply, Server};
use tokio::runtime::Runtime;
use url::Url;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// A server that answers every request.
static SERVER: LazyLock<Server> =
    LazyLock::new(|| RUNTIME.block_on(Server::start(|_| Reply::json("{}"))));

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::from_nanos(1)),
        Just(Duration::from_millis(1)),
        Just(Duration::from_secs(60)),
        Just(Duration::from_secs(u64::from(u32::MAX))),
        Just(Duration::MAX),
        any::<Duration>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-zA-Z0-9.:/=-]{0,12}", 1 => "(?s).{0,12}"]
}

fn url() -> impl Strategy<Value = Url> {
    let texts = prop_oneof![
        Just("http://[::1]:1".to_owned()),
        Just("socks5://u:p@h:1".to_owned()),
        Just("data:x".to_owned()),
        "(https?|socks5|ftp)://[a-z0-9]{1,5}(:[0-9]{1,5})?/.{0,5}",
    ];
    texts.prop_filter_map("a URL", |text| Url::parse(&text).ok())
}

fn pem() -> impl Strategy<Value = PemSource> {
    let begin = "-----BEGIN CERTIFICATE-----\n";
    prop_oneof![
        text().prop_map(PemSource::inline),
        text().prop_map(move |text| PemSource::inline(format!("{begin}{text}"))),
        text().prop_map(PemSource::file),
    ]
}

fn impersonate() -> impl Strategy<Value = Impersonate> {
    let groups = prop::collection::vec(text(), 0..3);
    let extra = prop::collection::vec((text(), text()), 0..3);
    (text(), text(), groups, extra).prop_map(|(user, uid, groups, extra)| {
        let whom = Impersonate::user(user).uid(uid);
        let whom = groups.into_iter().fold(whom, Impersonate::group);
        extra
            .into_iter()
            .fold(whom, |whom, (key, value)| whom.extra(key, value))
    })
}

/// A program that prints nothing, and so no credentials.
fn exec() -> impl Strategy<Value = ExecConfig> {
    let args = prop::collection::vec(text(), 0..3);
    let env = prop::collection::vec((text(), text()), 0..3);
    (args, env, text(), any::<bool>()).prop_map(|(args, env, hint, provide)| {
        let exec = ExecConfig::new(ExecVersion::V1, "true").args(args);
        let exec = env
            .into_iter()
            .fold(exec, |exec, (name, value)| exec.env(name, value));
        exec.install_hint(hint)
            .provide_cluster_info(provide)
            .interactive_mode(InteractiveMode::Never)
    })
}

fn auth() -> impl Strategy<Value = AuthInfo> {
    prop_oneof![
        Just(AuthInfo::default()),
        text().prop_map(|token| AuthInfo::default().token(token)),
        text().prop_map(|path| AuthInfo::default().token_file(path)),
        (text(), text()).prop_map(|(name, password)| AuthInfo::default().basic(name, password)),
        (pem(), pem()).prop_map(|(pem, key)| AuthInfo::default().client_certificate(pem, key)),
        exec().prop_map(|exec| AuthInfo::default().exec(exec)),
        impersonate().prop_map(|whom| AuthInfo::default().impersonate(whom)),
    ]
}

async fn get(client: &Client) -> Result<u16, Error> {
    let answer = client.request(Method::GET, "/version").send().await?;
    Ok(answer.status().as_u16())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn durations_of_any_length_are_honoured_or_clamped(
        connect in duration(),
        request in duration(),
        keep_alive in duration(),
        exec in duration(),
        limit in prop::option::of(duration()),
        program in text(),
        version in text(),
        http2: bool,
        gzip: bool,
    ) {
        let config = Config::anonymous(&SERVER.url()).unwrap();
        let http = if http2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
        let client = Client::builder(config)
            .user_agent(&program, &version)
            .connect_timeout(connect)
            .request_timeout(request)
            .keep_alive(keep_alive)
            .exec_timeout(exec)
            .http_version(http)
            .gzip(gzip)
            .build()
            .unwrap();
        let result = RUNTIME.block_on(async {
            let request = client.request(Method::GET, "/version");
            let request = match limit {
                Some(limit) => request.timeout(limit),
                None => request,
            };
            request.send().await.map(|answer| answer.status().as_u16())
        });
        let is_short = |limit: Duration| limit < Duration::from_secs(1);
        match result {
            Ok(code) => prop_assert_eq!(code, 200),
            Err(Error::Timeout { .. }) => prop_assert!(limit.is_some_and(is_short)),
            Err(Error::Transport { .. }) => prop_assert!(is_short(connect)),
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn configuration_of_any_value_is_used_or_refused(
        auth in auth(),
        authority in prop::option::of(pem()),
        name in prop::option::of(text()),
        proxy in prop::option::of(url()),
        skip: bool,
        https: bool,
    ) {
        let server = SERVER.url();
        let server = if https { server.replace("http", "https") } else { server };
        let mut cluster = Cluster::new(&server).unwrap().insecure_skip_tls_verify(skip);
        cluster.certificate_authority = authority;
        cluster.tls_server_name = name;
        // A request would go where the proxy is.
        let may_send = proxy.is_none();
        cluster.proxy_url = proxy;
        let client = Client::builder(Config::new(cluster).auth(auth))
            .credentials_on_loopback(true)
            .exec(ExecPolicy::AllowAll)
            .connect_timeout(Duration::from_millis(100))
            .build();
        if let Ok(client) = client && may_send {
            let _ = RUNTIME.block_on(get(&client));
        }
    }
}

/// A map of headers holds 32,768 names.
#[test]
fn more_attributes_of_a_user_than_headers_hold_are_refused() {
    let user = Impersonate::user("u");
    let whom = (0..40_000).fold(user, |whom, n| whom.extra(format!("k{n}"), "v"));
    let auth = AuthInfo::default().impersonate(whom);
    let config = Config::anonymous("https://h").unwrap().auth(auth);
    let error = Client::new(config).unwrap_err();
    assert!(matches!(error, BuildError::Credential { .. }), "{error:?}");
}
