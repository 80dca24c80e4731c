//! Whom a client trusts: the server's certificate wrong, expired, replaced, for another name, or behind a proxy.

use std::fs;
use std::path::PathBuf;

use anyhow::ensure;
use informer::client::{AuthInfo, Config};
use informer::kubeconfig::{Cluster, PemSource};
use informer::{Client, ListMode};

use crate::certificates::Authority;
use crate::following::{Following, all_see};
use crate::forwarder::Forwarder;
use crate::network::Proxy;
use crate::world::{Kind, World};

const ADDRESS: &[&str] = &["127.0.0.1", "localhost", "kubernetes.default.svc"];

pub(crate) async fn run() -> anyhow::Result<()> {
    let mut world = World::start().await?;
    wrong_authority(&world).await?;
    through_a_proxy(&world).await?;
    other_name(&mut world).await?;
    rotation(&mut world).await
}

fn cluster(port: u16, authority: PemSource) -> anyhow::Result<Cluster> {
    Ok(Cluster::new(&format!("https://127.0.0.1:{port}"))?.certificate_authority(authority))
}

fn client(world: &World, cluster: Cluster) -> anyhow::Result<Client> {
    let auth = AuthInfo::default().token(world.server.token());
    Ok(Client::new(Config::new(cluster).auth(auth))?)
}

/// A client that trusts another authority never talks; once its file has the right one it does.
async fn wrong_authority(world: &World) -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    let file = root.path().join("ca");
    fs::write(&file, Authority::new("someone-else")?.pem())?;
    let client = client(world, cluster(world.port()?, PemSource::file(&file))?)?;
    let following = Following::start(&client, ListMode::Auto)?;
    let told = following.fails_with("no trusted connection").await?;
    ensure!(following.keys().is_empty(), "it has objects");
    fs::copy(world.server.authority(), &file)?;
    following.synced().await?;
    println!("wrong authority: {told}; mended in its file, the informer synced");
    Ok(())
}

async fn through_a_proxy(world: &World) -> anyhow::Result<()> {
    let proxy = Proxy::start(world.port()?).await?;
    // The proxy alone knows where that is.
    let mut cluster = Cluster::new("https://kubernetes.default.svc:6443")?
        .certificate_authority(PemSource::file(world.server.authority()));
    cluster = cluster.proxy_url(proxy.url().parse()?);
    let following = Following::start(&client(world, cluster)?, ListMode::Auto)?;
    following.synced().await?;
    all_see(world, &[&following], "by-proxy").await?;
    let asked = proxy.asked();
    ensure!(
        asked.starts_with("CONNECT kubernetes.default.svc:6443 "),
        "the proxy was asked {asked:?}"
    );
    ensure!(
        !asked.contains(world.server.token()),
        "the proxy heard the token"
    );
    println!(
        "through a proxy: {}",
        asked.lines().next().unwrap_or_default()
    );
    Ok(())
}

/// A server that has another certificate for who asks for another name.
async fn other_name(world: &mut World) -> anyhow::Result<()> {
    let inner = Authority::new("inner")?;
    let pki = world.server.dir().join("pki");
    inner
        .server(&["inner.example"], false)?
        .write(&pki, "inner")?;
    let files: [PathBuf; 2] = ["inner.crt", "inner.key"].map(|name| pki.join(name));
    let flag = format!(
        "--tls-sni-cert-key={},{}:inner.example",
        files[0].display(),
        files[1].display()
    );
    world.server.restart_with(&[&flag]).await?;
    world.served(Kind::Widgets).await?;
    let plain = cluster(world.port()?, PemSource::inline(inner.pem()))?;
    let named = client(world, plain.clone().tls_server_name("inner.example"))?;
    let following = Following::start(&named, ListMode::Auto)?;
    following.synced().await?;
    let unnamed = Following::start(&client(world, plain)?, ListMode::Auto)?;
    unnamed.fails_with("no trusted connection").await?;
    all_see(world, &[&following], "by-name").await?;
    println!("tls-server-name: the server showed the certificate of that name, and only then");
    Ok(())
}

/// The server's certificate is replaced by an expired one, then by one of another authority. Watches go on, and new
/// connections are made as soon as they can be trusted.
async fn rotation(world: &mut World) -> anyhow::Result<()> {
    let (pki, port) = (world.server.dir().join("pki"), world.port()?);
    let root = tempfile::tempdir()?;
    let file = root.path().join("ca");
    let next = Authority::new("next")?;
    fs::write(
        &file,
        fs::read_to_string(world.server.authority())? + &next.pem(),
    )?;
    let network = Forwarder::start(port).await?;
    let client = client(world, cluster(network.port(), PemSource::file(&file))?)?;
    let following = Following::start(&client, ListMode::Auto)?;
    following.synced().await?;

    next.server(ADDRESS, true)?.write(&pki, "server")?;
    // The server sees its new files after a while; until then it shows the old certificate.
    let told = loop {
        network.cut();
        let cut = following.fails_with("no trusted connection");
        if let Ok(Ok(told)) = tokio::time::timeout(std::time::Duration::from_secs(2), cut).await {
            break told;
        }
    };
    ensure!(
        told.contains("xpired"),
        "an expired certificate was told of as {told}"
    );
    next.server(ADDRESS, false)?.write(&pki, "server")?;
    fs::write(&file, next.pem())?;
    // The judge and the scenario's own client trust the authority of the beginning.
    let mut config = Config::new(cluster(port, PemSource::inline(next.pem()))?);
    config.auth = AuthInfo::default().token(world.server.token());
    world.client = Client::new(config)?;
    world.judge = informer_e2e::ApiClient::new(&world.server.url(), world.server.token(), &file)?;
    world.served(Kind::Pods).await?;
    all_see(world, &[&following], "rotated").await?;
    println!("server certificate expired: {told}; replaced by another authority's: followed again");
    Ok(())
}
