//! Plays a sequence against a server, one operation after another.

use std::time::Duration;

use anyhow::Context;
use informer_e2e::RealApiServer;
use informer_testkit::ApiServer;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WARNING};
use reqwest::{Certificate, Client, Method, Response};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::judge::definitions::definitions;
use super::judge::op::Op;
use super::judge::session::{Answer, Request, Session};
use super::kinds::KINDS;

const LIMIT: Duration = Duration::from_secs(30);
/// A watch that sends nothing for this long has sent what there was.
const QUIET: Duration = Duration::from_millis(250);
/// How long a real server's cache may lag behind its writes.
const LAG: Duration = Duration::from_millis(40);

/// One of the two servers.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    http: Client,
    url: String,
    token: String,
}

impl Player {
    pub(crate) fn real(server: &RealApiServer) -> anyhow::Result<Self> {
        let pem = std::fs::read(server.authority()).context("the authority")?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Client::builder()
            .tls_certs_only(Certificate::from_pem_bundle(&pem)?)
            .build()?;
        let token = server.token().to_owned();
        let url = server.url();
        Ok(Self { http, url, token })
    }

    pub(crate) fn kit(server: &ApiServer) -> anyhow::Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Client::builder().build()?;
        let url = server.url();
        Ok(Self {
            http,
            url,
            token: "none".to_owned(),
        })
    }

    /// Makes what every play needs: the definitions of the custom kinds, served, and an object behind the last of each
    /// cluster-scoped kind, since a page with a selector says whether objects follow that it does not select.
    pub(crate) async fn prepare(&self) -> anyhow::Result<()> {
        for definition in definitions() {
            let plural = definition["spec"]["names"]["plural"].clone();
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            self.must("POST", path, Some(definition)).await?;
            let path = format!(
                "/apis/parity.example/v1/{}",
                plural.as_str().unwrap_or_default()
            );
            let served = async {
                while self.must("GET", &path, None).await.is_err() {
                    sleep(Duration::from_millis(100)).await;
                }
            };
            timeout(LIMIT, served)
                .await
                .context("a definition is not served")?;
        }
        for kind in KINDS.iter().filter(|kind| !kind.namespaced) {
            let last = kind.object(json!({ "name": "zz-last" }), 0);
            self.must("POST", &kind.collection(None), Some(last))
                .await?;
        }
        Ok(())
    }

    /// Plays the sequence in two fresh namespaces.
    pub(crate) async fn play(&self, run: &str, ops: &[Op]) -> anyhow::Result<Vec<Answer>> {
        for name in ["a", "b"] {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": format!("{run}-{name}") } });
            self.must("POST", "/api/v1/namespaces", Some(namespace))
                .await?;
        }
        let mut session = Session::new(run);
        let mut answers = Vec::new();
        for op in ops {
            if op.query.contains_key("resourceVersion") || op.is_watch() {
                sleep(LAG).await;
            }
            let request = session.request(op);
            let answer = self.send(&request, op.is_watch()).await;
            let answer = answer.with_context(|| format!("{} {}", op.method, request.target))?;
            session.answered(op, answer.clone());
            answers.push(answer);
        }
        Ok(answers)
    }

    pub(crate) async fn must(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<()> {
        let request = Request {
            method: method.to_owned(),
            target: path.to_owned(),
            media: Some("application/json".to_owned()),
            body: body.map(|body| body.to_string()),
        };
        let answer = self.send(&request, false).await?;
        anyhow::ensure!(answer.code < 300, "{method} {path}: {}", answer.body);
        Ok(())
    }

    pub(crate) async fn send(&self, request: &Request, watch: bool) -> anyhow::Result<Answer> {
        let method = Method::from_bytes(request.method.as_bytes())?;
        let mut sending = self
            .http
            .request(method, format!("{}{}", self.url, request.target))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(ACCEPT, "application/json");
        if let Some(media) = &request.media {
            sending = sending.header(CONTENT_TYPE, media);
        }
        if let Some(body) = &request.body {
            sending = sending.body(body.clone());
        }
        let response = timeout(LIMIT, sending.send())
            .await
            .context("no answer")??;
        let code = response.status().as_u16();
        let texts = response.headers().get_all(WARNING).iter();
        let mut warnings: Vec<String> = texts
            .filter_map(|text| text.to_str().ok().map(str::to_owned))
            .collect();
        warnings.sort();
        let text = if watch && code == 200 {
            events(response).await?
        } else {
            timeout(LIMIT, response.bytes())
                .await
                .context("no end")??
                .to_vec()
        };
        let body = if watch && code == 200 {
            let lines = text
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty());
            lines
                .map(serde_json::from_slice::<Value>)
                .collect::<Result<Value, _>>()?
        } else {
            let text = String::from_utf8_lossy(&text);
            serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()))
        };
        Ok(Answer {
            code,
            body,
            warnings,
        })
    }
}

/// What a watch sends until it is quiet or ends.
async fn events(mut response: Response) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    while let Ok(chunk) = timeout(QUIET, response.chunk()).await {
        match chunk? {
            Some(chunk) => text.extend_from_slice(&chunk),
            None => break,
        }
    }
    Ok(text)
}
