//! A TCP forwarder on loopback: the network between informers and their server, which a scenario can cut.

use std::net::Ipv4Addr;

use anyhow::Context;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Passes connections on to another port of this machine while it is open.
///
/// It ends with its value, and all connections with it.
pub(crate) struct Forwarder {
    port: u16,
    gate: watch::Sender<Gate>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Clone, Copy)]
struct Gate {
    open: bool,
    /// Counts the cuts, so that one that is mended at once ends connections too.
    cuts: u64,
}

impl Forwarder {
    /// An open forwarder to a port.
    pub(crate) async fn start(target: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("listen for the forwarder")?;
        let port = listener.local_addr()?.port();
        let gate = watch::Sender::new(Gate {
            open: true,
            cuts: 0,
        });
        let accepting = tokio::spawn(accept(listener, target, gate.subscribe()));
        Ok(Self {
            port,
            gate,
            accepting,
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections and lets none through.
    pub(crate) fn close(&self) {
        self.gate.send_modify(|gate| {
            gate.open = false;
            gate.cuts += 1;
        });
    }

    /// Lets connections through again.
    pub(crate) fn open(&self) {
        self.gate.send_modify(|gate| gate.open = true);
    }

    /// Ends all connections; new ones are let through.
    pub(crate) fn cut(&self) {
        self.gate.send_modify(|gate| gate.cuts += 1);
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.accepting.abort();
        self.close();
    }
}

async fn accept(listener: TcpListener, target: u16, gate: watch::Receiver<Gate>) {
    while let Ok((client, _)) = listener.accept().await {
        // Dropping it closes it.
        let Gate { open, cuts } = *gate.borrow();
        if open {
            tokio::spawn(pass(client, target, cuts, gate.clone()));
        }
    }
}

/// Passes bytes both ways until one side ends, or the gate has seen more than these cuts.
async fn pass(mut client: TcpStream, target: u16, cuts: u64, mut gate: watch::Receiver<Gate>) {
    let passing = async {
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await?;
        copy_bidirectional(&mut client, &mut server).await
    };
    tokio::select! {
        biased;
        // However it ended, both sides learn it by the end of the connection.
        _ = passing => {}
        _ = gate.wait_for(|gate| gate.cuts != cuts) => {}
    }
}
