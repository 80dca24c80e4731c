//! Stands between client and server, and counts the connections that are open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_testkit::ApiServer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(crate) struct Connections {
    port: u16,
    open: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Connections {
    /// Passes everything on to this server.
    pub(crate) async fn to(server: &ApiServer) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (address, open) = (server.address(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&open);
        let accepting = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(address).await {
                        // However it ends: it is over.
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    }
                    count.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self {
            port,
            open,
            accepting,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
