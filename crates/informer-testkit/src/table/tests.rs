//! Tests of tables: the cells of each kind.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::resource::Registry;

fn row(name: &str, object: &Value) -> Vec<String> {
    let resource = Registry::with_builtin().resolve(name).unwrap();
    let cells = cells(&resource, object, Timestamp::UNIX_EPOCH);
    assert_eq!(
        cells.len(),
        definitions(&resource).as_array().unwrap().len(),
        "{name}"
    );
    let text = |cell: &Value| {
        cell.as_str()
            .map_or_else(|| cell.to_string(), str::to_owned)
    };
    cells.iter().map(text).collect()
}

#[test]
fn every_kind_has_a_cell_for_each_column() {
    for resource in Registry::with_builtin().iter() {
        let empty = json!({"metadata": {"name": "a"}});
        let name = format!("{}/{}", resource.api_version(), resource.plural);
        row(&name, &empty);
    }
}

/// The cells of a real server.
#[test]
fn cells_are_those_of_a_real_server() {
    let template = json!({"spec": {"containers": [{"name": "web", "image": "example/web:3"}]}});
    let shop = json!({
        "metadata": {"name": "shop"},
        "spec": {"replicas": 5, "selector": {"matchLabels": {"app": "shop"}}, "template": template},
        "status": {"readyReplicas": 3, "updatedReplicas": 2, "availableReplicas": 1},
    });
    let expected = [
        "shop",
        "3/5",
        "2",
        "1",
        "<unknown>",
        "web",
        "example/web:3",
        "app=shop",
    ];
    assert_eq!(row("deployments", &shop), expected);
    let balanced = json!({
        "metadata": {"name": "b"},
        "spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30620}]},
    });
    let expected = [
        "b",
        "LoadBalancer",
        "10.0.0.1",
        "<pending>",
        "80:30620/TCP",
        "<unknown>",
        "<none>",
    ];
    assert_eq!(row("services", &balanced), expected);
    let readers = json!({
        "metadata": {"name": "readers"},
        "roleRef": {"kind": "Role", "name": "reader"},
        "subjects": [
            {"kind": "User", "name": "joe"},
            {"kind": "ServiceAccount", "namespace": "shop", "name": "robot"},
        ],
    });
    let expected = [
        "readers",
        "Role/reader",
        "<unknown>",
        "joe",
        "",
        "shop/robot",
    ];
    assert_eq!(row("rolebindings", &readers), expected);
    let node = json!({
        "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"unschedulable": true},
    });
    assert_eq!(
        row("nodes", &node)[1..3],
        ["Unknown,SchedulingDisabled", "worker"]
    );
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{}, {}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"ready": true, "restartCount": 2, "state": {"running": {}}},
            {"ready": false, "restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        ]},
    });
    assert_eq!(row("pods", &pod)[1..4], ["1/2", "CrashLoopBackOff", "3"]);
}

#[test]
fn custom_resource_has_the_columns_of_its_definition() {
    let mut widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets");
    let widget = json!({
        "metadata": {"name": "w"},
        "spec": {"size": 3},
        "status": {"conditions": [{"type": "Other", "status": "No"}, {"type": "Ready", "status": "True"}]},
    });
    assert_eq!(
        cells(&widgets, &widget, Timestamp::UNIX_EPOCH),
        [json!("w"), json!("<unknown>")]
    );
    widgets.definition.columns = vec![
        json!({"name": "Size", "type": "integer", "jsonPath": ".spec.size"}),
        json!({"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}),
        json!({"name": "First", "type": "string", "jsonPath": ".status.conditions[0].status"}),
        json!({"name": "None", "type": "string", "jsonPath": ".spec.none"}),
    ];
    let expected = [
        json!("w"),
        json!(3),
        json!("True"),
        json!("No"),
        Value::Null,
    ];
    assert_eq!(cells(&widgets, &widget, Timestamp::UNIX_EPOCH), expected);
    assert_eq!(definitions(&widgets)[1]["name"], "Size");
}
