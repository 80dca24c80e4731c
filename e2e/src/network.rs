//! A network on loopback that misbehaves, and a proxy.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// How long a byte takes when they drip.
const DRIP: Duration = Duration::from_micros(500);

/// What happens to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// Reset, those that are open and those that come.
    Reset,
    /// Closed in good order, wherever they are.
    Close,
    /// Not a byte comes through any more, and nobody is told, not even when the fault is over.
    Silence,
    /// The server's bytes come one by one.
    Drip,
    /// Broken in the middle of the next bytes that the server sends.
    Cut,
}

/// Passes connections on to a port of this machine, or fails to. It ends with its value.
pub(crate) struct BadNetwork {
    port: u16,
    fault: watch::Sender<Fault>,
    accepting: JoinHandle<()>,
}

impl BadNetwork {
    pub(crate) async fn start(target: u16) -> anyhow::Result<Self> {
        let (listener, port) = listen().await?;
        let fault = watch::Sender::new(Fault::None);
        let seen = fault.subscribe();
        let accepting = tokio::spawn(async move {
            // They end with this task.
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(pass(client, target, seen.clone()));
            }
        });
        Ok(Self {
            port,
            fault,
            accepting,
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }
}

impl Drop for BadNetwork {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn listen() -> anyhow::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .context("listen")?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

async fn pass(mut client: TcpStream, target: u16, mut fault: watch::Receiver<Fault>) {
    let Ok(mut server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await else {
        return;
    };
    let now = fault.clone();
    let ended = {
        let (mut from_client, mut to_client) = client.split();
        let (mut from_server, mut to_server) = server.split();
        let up = copy(&mut from_client, &mut to_server);
        let down = down(&mut from_server, &mut to_client, &now);
        let fatal = |fault: &Fault| matches!(fault, Fault::Reset | Fault::Close | Fault::Silence);
        tokio::select! {
            biased;
            fault = fault.wait_for(fatal) => fault.map_or(Fault::Close, |fault| *fault),
            _ = up => Fault::Close,
            ended = down => ended,
        }
    };
    match ended {
        // For ever, with both sides open.
        Fault::Silence => std::future::pending().await,
        Fault::Reset | Fault::Cut => {
            let _ = client.set_zero_linger();
        }
        _ => {}
    }
}

/// Passes the server's bytes on, as fast as the fault lets them.
async fn down(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    fault: &watch::Receiver<Fault>,
) -> Fault {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else {
            return Fault::Close;
        };
        let bytes = &buffer[..read];
        let now = *fault.borrow();
        let written = match now {
            Fault::Drip => drip(to, bytes).await,
            Fault::Cut => {
                let _ = to.write_all(&bytes[..read / 2]).await;
                return Fault::Cut;
            }
            _ => to.write_all(bytes).await,
        };
        if written.is_err() {
            return Fault::Close;
        }
    }
}

async fn drip(to: &mut (impl AsyncWriteExt + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        to.write_all(&[*byte]).await?;
        to.flush().await?;
        tokio::time::sleep(DRIP).await;
    }
    Ok(())
}

/// A proxy that opens tunnels to one port of this machine, whatever host it is asked for. It ends with its value.
pub(crate) struct Proxy {
    port: u16,
    asked: watch::Receiver<String>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(target: u16) -> anyhow::Result<Self> {
        let (listener, port) = listen().await?;
        let (tell, asked) = watch::channel(String::new());
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(tunnel(client, target, tell.clone()));
            }
        });
        Ok(Self {
            port,
            asked,
            accepting,
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The head of the last request for a tunnel.
    pub(crate) fn asked(&self) -> String {
        self.asked.borrow().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn tunnel(
    mut client: TcpStream,
    target: u16,
    tell: watch::Sender<String>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < 8192 {
        head.push(client.read_u8().await?);
    }
    tell.send_replace(String::from_utf8_lossy(&head).into_owned());
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}
