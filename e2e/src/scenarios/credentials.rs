//! Every way to say who one is, against a server that checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use informer::client::{AuthInfo, Config, ExecPolicy};
use informer::kubeconfig::{ExecConfig, ExecVersion, Impersonate, InteractiveMode, PemSource};
use informer::{Api, Client, ListMode, Resource, Scope};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::certificates::{Authority, Identity};
use crate::following::{Following, all_see};
use crate::forwarder::Forwarder;
use crate::observed::LIMIT;
use crate::world::World;

pub(crate) async fn run() -> anyhow::Result<()> {
    let mut world = World::start().await?;
    let root = tempfile::tempdir()?;
    certificates(&mut world, root.path()).await?;
    impersonation(&world).await?;
    rotating_token(&world, root.path()).await?;
    plugin(&world, root.path()).await?;
    plugin_in_command(&world, root.path()).await
}

/// A client of the world's server with these credentials.
fn client(world: &World, port: u16, auth: AuthInfo) -> anyhow::Result<Client> {
    let config = config(world, port, auth)?;
    Ok(Client::builder(config).exec(ExecPolicy::AllowAll).build()?)
}

fn config(world: &World, port: u16, auth: AuthInfo) -> anyhow::Result<Config> {
    let mut config = Config::anonymous(&format!("https://127.0.0.1:{port}"))?.auth(auth);
    config.cluster = config
        .cluster
        .certificate_authority(PemSource::file(world.server.authority()));
    Ok(config)
}

/// Whom the server takes the client for: name, groups, and more.
async fn who(client: &Client) -> anyhow::Result<Value> {
    let reviews = Resource::new(
        "authentication.k8s.io",
        "v1",
        "SelfSubjectReview",
        "selfsubjectreviews",
        Scope::Cluster,
    );
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let answer = Api::<Value>::new(client.clone(), reviews)
        .create(&review)
        .await?;
    Ok(answer["status"]["userInfo"].clone())
}

/// Client certificates of X.509 version 3 and 1 and one that has expired, in files and inline.
async fn certificates(world: &mut World, root: &Path) -> anyhow::Result<()> {
    let users = Authority::new("informer-e2e-users")?;
    let both = fs::read_to_string(world.server.authority())? + &users.pem();
    let bundle = root.join("users.crt");
    fs::write(&bundle, both)?;
    let flag = format!("--client-ca-file={}", bundle.display());
    world.server.restart_with(&[&flag]).await?;
    world.served(crate::world::Kind::Widgets).await?;
    let port = world.port()?;
    let inline = |identity: &Identity| {
        let pem = |text: &str| PemSource::inline(text);
        AuthInfo::default().client_certificate(pem(&identity.certificate), pem(&identity.key))
    };
    let three = users.user("three", "system:masters", false)?;
    three.write(root, "three")?;
    let in_files = AuthInfo::default().client_certificate(
        PemSource::file(root.join("three.crt")),
        PemSource::file(root.join("three.key")),
    );
    let one = users.user_of_version_1("one", "system:masters")?;
    for (name, auth) in [
        ("three", in_files),
        ("three", inline(&three)),
        ("one", inline(&one)),
    ] {
        let client = client(world, port, auth)?;
        let user = who(&client).await?;
        ensure!(user["username"] == name, "taken for {user}");
        let following = Following::start(&client, ListMode::Auto)?;
        following.synced().await?;
    }
    let expired = client(
        world,
        port,
        inline(&users.user("late", "system:masters", true)?),
    )?;
    let following = Following::start(&expired, ListMode::Auto)?;
    let told = following.fails_with("nauthorized").await?;
    println!("client certificates of version 3 and 1 are taken; an expired one: {told}");
    Ok(())
}

async fn impersonation(world: &World) -> anyhow::Result<()> {
    let whom = Impersonate::user("jane")
        .uid("u-7")
        .group("dev")
        .group("ops")
        .extra("example.org/Scopes", "a b")
        .extra("example.org/Scopes", "c");
    let auth = AuthInfo::default()
        .token(world.server.token())
        .impersonate(whom);
    let jane = client(world, world.port()?, auth)?;
    let user = who(&jane).await?;
    let groups = &user["groups"];
    ensure!(
        user["username"] == "jane"
            && user["uid"] == "u-7"
            && groups[0] == "dev"
            && groups[1] == "ops",
        "taken for {user}"
    );
    // Header names know no case.
    let scopes = &user["extra"]["example.org/scopes"];
    ensure!(*scopes == json!(["a b", "c"]), "taken for {user}");
    // She may do nothing until she is allowed to.
    let following = Following::start(&jane, ListMode::Auto)?;
    let told = following.fails_with("forbidden").await?;
    allow(
        world,
        "jane-reads",
        json!({ "kind": "User", "name": "jane" }),
    )
    .await?;
    following.synced().await?;
    println!("impersonation: taken for jane with her groups; {told}; once allowed she is served");
    Ok(())
}

/// Lets someone read everything.
async fn allow(world: &World, name: &str, mut whom: Value) -> anyhow::Result<()> {
    if whom["kind"] == "User" {
        whom["apiGroup"] = "rbac.authorization.k8s.io".into();
    }
    let role = json!({
        "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin",
    });
    let binding = json!({ "metadata": { "name": name }, "roleRef": role, "subjects": [whom] });
    Api::<ClusterRoleBinding>::cluster(world.client.clone())
        .create(&binding)
        .await?;
    Ok(())
}

/// A service account that may read everything, and a token of it.
async fn account(world: &World, name: &str) -> anyhow::Result<String> {
    let accounts = Api::<ServiceAccount>::namespaced(world.client.clone(), "default");
    accounts
        .create(&json!({ "metadata": { "name": name } }))
        .await?;
    let whom = json!({ "kind": "ServiceAccount", "namespace": "default", "name": name });
    allow(world, name, whom).await?;
    token(world, name).await
}

async fn token(world: &World, account: &str) -> anyhow::Result<String> {
    let accounts = Api::<ServiceAccount>::namespaced(world.client.clone(), "default");
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "expirationSeconds": 600 },
    });
    let answer: Value = accounts
        .subresource("token")
        .create_subresource(account, &request)
        .await?;
    let token = answer["status"]["token"].as_str();
    Ok(token.context("no token in the answer")?.to_owned())
}

/// A token file gets another token while a watch runs, and the first token dies.
async fn rotating_token(world: &World, root: &Path) -> anyhow::Result<()> {
    let file = root.join("token");
    let first = account(world, "first").await?;
    fs::write(&file, &first)?;
    let network = Forwarder::start(world.port()?).await?;
    let client = client(world, network.port(), AuthInfo::default().token_file(&file))?;
    let following = Following::start(&client, ListMode::Auto)?;
    following.synced().await?;
    // A running watch is not asked again who it is.
    fs::write(&file, account(world, "second").await?)?;
    let accounts = Api::<ServiceAccount>::namespaced(world.client.clone(), "default");
    accounts.delete("first", &Default::default()).await?;
    all_see(world, &[&following], "token-rotated").await?;
    // The server remembers for some seconds whom a token belonged to.
    let old = self::client(world, world.port()?, AuthInfo::default().token(first))?;
    let refused = async {
        while who(&old).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    timeout(LIMIT, refused)
        .await
        .context("the first token lives on")?;
    network.cut();
    all_see(world, &[&following], "token-new").await?;
    let user = who(&client).await?;
    ensure!(
        user["username"] == "system:serviceaccount:default:second",
        "taken for {user}"
    );
    println!("token file: rotated within a watch; the next request came with the new token");
    Ok(())
}

/// Writes a plugin: a shell script that prints a token which lasts two seconds, and counts its runs.
fn script(root: &Path, token: &str) -> anyhow::Result<PathBuf> {
    let file = root.join("plugin.sh");
    let text = format!(
        r#"printf x >> '{}/runs'
end=$(date -u -d '+2 seconds' +%Y-%m-%dT%H:%M:%SZ)
printf '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{"token":"%s","expirationTimestamp":"%s"}}}}' '{token}' "$end"
"#,
        root.display()
    );
    fs::write(&file, text)?;
    Ok(file)
}

fn runs(root: &Path) -> usize {
    fs::read(root.join("runs")).map_or(0, |bytes| bytes.len())
}

/// A plugin whose tokens end: each request after that has a new one, and a watch is left alone.
async fn plugin(world: &World, root: &Path) -> anyhow::Result<()> {
    let file = script(root, &account(world, "plugin").await?)?;
    let exec = ExecConfig::new(ExecVersion::V1, "sh")
        .args([file.to_string_lossy()])
        .interactive_mode(InteractiveMode::Never);
    let network = Forwarder::start(world.port()?).await?;
    let client = client(world, network.port(), AuthInfo::default().exec(exec))?;
    let following = Following::start(&client, ListMode::Auto)?;
    following.synced().await?;
    ensure!(
        runs(root) == 1,
        "{} runs for the first requests",
        runs(root)
    );
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    all_see(world, &[&following], "plugin-ended").await?;
    ensure!(runs(root) == 1, "a running watch needs no new token");
    network.cut();
    all_see(world, &[&following], "plugin-again").await?;
    let count = runs(root);
    ensure!(
        count > 1,
        "the token ended and the plugin was not run again"
    );
    println!("exec plugin: tokens of 2 s, {count} runs, and the informer followed");
    Ok(())
}

/// The command runs plugins only where it is told to.
async fn plugin_in_command(world: &World, root: &Path) -> anyhow::Result<()> {
    let file = script(root, &token(world, "plugin").await?)?;
    let kubeconfig = root.join("kubeconfig");
    let text = json!({
        "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "k", "user": "u" } }],
        "clusters": [{ "name": "k", "cluster": {
            "server": world.server.url(), "certificate-authority": world.server.authority(),
        } }],
        "users": [{ "name": "u", "user": { "exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
            "args": [file], "interactiveMode": "Never",
        } } }],
    });
    fs::write(&kubeconfig, text.to_string())?;
    let watch = |arguments: &str| crate::command::Watching::start(&kubeconfig, arguments);
    let before = runs(root);
    let denied = watch("pods --once")?.ended().await?;
    ensure!(
        denied.code == Some(2) && denied.stderr.contains("--allow-exec") && runs(root) == before,
        "without --allow-exec: {denied:?}"
    );
    let other = watch("pods --once --allow-exec=aws")?.ended().await?;
    ensure!(
        other.code == Some(2) && runs(root) == before,
        "not in the list: {other:?}"
    );
    for allowed in ["--allow-exec", "--allow-exec=aws,sh"] {
        let ended = watch(&format!("pods --once {allowed}"))?.ended().await?;
        ensure!(ended.code == Some(0), "{allowed}: {ended:?}");
    }
    println!("informer watch: exit 2, {}", denied.stderr.trim());
    Ok(())
}
