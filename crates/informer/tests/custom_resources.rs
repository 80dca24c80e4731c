//! Types that kube's derive makes of a spec, in informers and controllers over HTTP.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use futures_util::StreamExt as _;
use informer::controller::{Action, Controller, EventSource, ReconcileRequest};
use informer::http::HttpListerWatcher;
use informer::{
    Api, Client, Compact, Event, InformerFactory, Object, ObjectMetadata, Scope, SharedInformer,
    StaticResource, View, kube_object,
};
use informer_testkit::ApiServer;
use kube::{CustomResource, CustomResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A widget as a user of kube writes it.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq)]
#[kube(
    group = "demo.example",
    version = "v1",
    kind = "Widget",
    status = "WidgetStatus",
    namespaced
)]
struct WidgetSpec {
    size: u32,
}

#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq)]
struct WidgetStatus {
    seen: u32,
}

/// Without namespaces, and with a plural of its own.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Debug, Clone)]
#[kube(
    group = "demo.example",
    version = "v1beta1",
    kind = "Depot",
    plural = "depositories"
)]
struct DepotSpec {}

kube_object!(Widget);
kube_object!(Depot);

/// One field of it alone.
#[derive(Deserialize, Debug)]
struct Size {
    spec: SizeSpec,
}

#[derive(Deserialize, Debug)]
struct SizeSpec {
    size: u32,
}

impl StaticResource for Size {
    fn resource() -> informer::Resource {
        Widget::resource()
    }
}

/// A server that knows widgets because somebody created their definition, as kube writes it.
async fn server() -> (ApiServer, Client) {
    let server = ApiServer::builder()
        .create_namespaces(true)
        .start()
        .await
        .unwrap();
    for definition in [Widget::crd(), Depot::crd()] {
        let definition = serde_json::to_value(definition).unwrap();
        server
            .create("customresourcedefinitions", definition)
            .unwrap();
    }
    let client = Client::anonymous(&server.url()).unwrap();
    (server, client)
}

fn widget(name: &str, size: u32) -> Widget {
    let mut widget = Widget::new(name, WidgetSpec { size });
    widget.metadata.namespace = Some("shop".to_owned());
    widget
}

async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    let waited = tokio::time::timeout(PATIENCE, future).await;
    waited.unwrap_or_else(|_| panic!("never: {what}"))
}

#[test]
fn derived_type_has_its_resource() {
    let widgets = Widget::resource();
    assert_eq!(widgets.to_string(), "demo.example/v1/widgets");
    assert_eq!(
        (&*widgets.kind, widgets.scope),
        ("Widget", Scope::Namespaced)
    );
    let depots = Depot::resource();
    assert_eq!(depots.to_string(), "demo.example/v1beta1/depositories");
    assert_eq!((&*depots.kind, depots.scope), ("Depot", Scope::Cluster));
}

#[tokio::test]
async fn informer_follows_derived_type() {
    let (server, client) = server().await;
    let api = Api::<Widget>::namespaced(client.clone(), "shop");
    api.create(&widget("a", 1)).await.unwrap();
    let depots = Api::<Depot>::cluster(client.clone());
    depots.create(&Depot::new("d", DepotSpec {})).await.unwrap();

    // One factory: the whole object, its bytes, some fields of it.
    let factory = InformerFactory::new(client);
    let widgets = factory.informer::<Widget>();
    let bytes = factory.informer::<Compact<Widget>>();
    let sizes = factory.informer::<View<Size>>();
    let depots = factory.informer::<Depot>();
    let mut events = widgets.events().unwrap();
    factory.start().unwrap();
    factory
        .wait_for_cache_sync()
        .deadline(PATIENCE)
        .await
        .unwrap();
    assert!(depots.store().get("d").is_some());

    let first = soon("the first state", events.next()).await.unwrap();
    let Event::Added { object, initial } = first else {
        panic!("{first:?}");
    };
    assert!(initial);
    assert_eq!(object.name(), "a");
    assert_eq!(object.spec, WidgetSpec { size: 1 });

    let mut changed = (*object).clone();
    changed.spec.size = 2;
    let answer = api.replace("a", &changed).await.unwrap();
    let event = soon("the update", events.next()).await.unwrap();
    let Event::Updated { old, new, .. } = event else {
        panic!("{event:?}");
    };
    assert_eq!((old.spec.size, new.spec.size), (1, 2));
    let version = answer.metadata().resource_version().unwrap();
    for waited in [
        bytes.wait_until(version.clone()),
        sizes.wait_until(version.clone()),
    ] {
        waited.deadline(PATIENCE).await.unwrap();
    }
    let whole = bytes.store().get("shop/a").unwrap().decode().unwrap();
    assert_eq!(whole.spec, WidgetSpec { size: 2 });
    assert_eq!(sizes.store().get("shop/a").unwrap().fields.spec.size, 2);

    server.delete("widgets", "shop", "a").unwrap();
    let event = soon("the deletion", events.next()).await.unwrap();
    assert!(matches!(event, Event::Deleted { .. }), "{event:?}");
    factory.shutdown().await.unwrap();
}

#[tokio::test]
async fn controller_reconciles_derived_type() {
    let (_server, client) = server().await;
    let api = Api::<Widget>::namespaced(client.clone(), "shop");
    let widgets: SharedInformer<Widget> =
        SharedInformer::builder(HttpListerWatcher::all(client.clone()))
            .build()
            .unwrap();
    let controller = Controller::new("widgets")
        .watch(EventSource::objects(&widgets))
        .unwrap();
    widgets.start().unwrap();
    let stop = CancellationToken::new();
    let reconcile = {
        let (store, status) = (widgets.store().clone(), api.clone().subresource("status"));
        move |request: ReconcileRequest| {
            let (widget, status) = (store.get(&request.key), status.clone());
            async move {
                let Some(widget) = widget else {
                    return Ok(Action::Done);
                };
                let seen = WidgetStatus {
                    seen: widget.spec.size,
                };
                if widget.status.as_ref() == Some(&seen) {
                    return Ok(Action::Done);
                }
                let mut widget = (*widget).clone();
                widget.status = Some(seen);
                let name = widget.name().to_owned();
                status.replace(&name, &widget).await?;
                Ok(Action::Done)
            }
        }
    };
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { controller.run(&stop, reconcile).await }
    });

    for size in [3, 8] {
        let written = match api.get("a").await {
            Ok(mut known) => {
                known.spec.size = size;
                let patch = informer::client::Patch::Merge(json!({"spec": {"size": size}}));
                api.patch("a", &patch).await
            }
            Err(_) => api.create(&widget("a", size)).await,
        };
        written.unwrap();
        let seen = async {
            let is_seen = |widget: Widget| widget.status.is_some_and(|status| status.seen == size);
            while !api.get("a").await.is_ok_and(is_seen) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        soon("the status", seen).await;
    }
    stop.cancel();
    soon("the end", running).await.unwrap().unwrap();
}
