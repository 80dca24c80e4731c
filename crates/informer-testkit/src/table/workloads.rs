//! The cells of pods and of what makes pods.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{between, since, since_creation};
use super::text::{NONE, each, has_condition, is_terminating, joined, number, or, plain, selector};

/// Returns the cells of these kinds.
pub(super) fn cells(plural: &str, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (name, age) = (
        object["metadata"]["name"].clone(),
        since_creation(object, now),
    );
    let desired = spec["replicas"].as_i64().unwrap_or(1);
    let containers = |template: &Value| {
        let containers = &template["spec"]["containers"];
        [
            joined(containers, "name", ","),
            joined(containers, "image", ","),
        ]
    };
    let ready = number(&status["readyReplicas"]);
    let mut cells = match plural {
        "pods" => return Some(pod(object, now)),
        "podtemplates" => {
            let [names, images] = containers(&object["template"]);
            let labels = super::text::labels(&object["template"]["metadata"]["labels"]);
            return Some(vec![name, names.into(), images.into(), labels.into()]);
        }
        "deployments" => vec![
            name,
            format!("{ready}/{desired}").into(),
            number(&status["updatedReplicas"]).into(),
            number(&status["availableReplicas"]).into(),
            age,
        ],
        "replicasets" | "replicationcontrollers" => vec![
            name,
            desired.into(),
            number(&status["replicas"]).into(),
            ready.into(),
            age,
        ],
        "statefulsets" => vec![name, format!("{ready}/{desired}").into(), age],
        "daemonsets" => {
            let number = |field: &str| Value::from(number(&status[field]));
            vec![
                name,
                number("desiredNumberScheduled"),
                number("currentNumberScheduled"),
                number("numberReady"),
                number("updatedNumberScheduled"),
                number("numberAvailable"),
                super::text::labels(&spec["template"]["spec"]["nodeSelector"]).into(),
                age,
            ]
        }
        "jobs" => vec![
            name,
            job_status(object).into(),
            completions(object).into(),
            between(&status["startTime"], &status["completionTime"], now),
            age,
        ],
        "cronjobs" => vec![
            name,
            spec["schedule"].clone(),
            or(&spec["timeZone"], NONE),
            if spec["suspend"] == true {
                "True"
            } else {
                "False"
            }
            .into(),
            each(&status["active"]).count().into(),
            match status["lastScheduleTime"].is_string() {
                true => since(&status["lastScheduleTime"], now),
                false => NONE.into(),
            },
            age,
        ],
        _ => return None,
    };
    let template = match plural {
        "cronjobs" => &spec["jobTemplate"]["spec"]["template"],
        _ => &spec["template"],
    };
    cells.extend(containers(template).map(Value::from));
    match plural {
        "statefulsets" => {}
        "replicationcontrollers" => cells.push(super::text::labels(&spec["selector"]).into()),
        "cronjobs" => cells.push(selector(&spec["jobTemplate"]["spec"]["selector"]).into()),
        _ => cells.push(selector(&spec["selector"]).into()),
    }
    Some(cells)
}

fn job_status(job: &Value) -> &'static str {
    let is = |kind: &str| has_condition(job, kind, "True");
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if is_terminating(job) => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let succeeded = number(&job["status"]["succeeded"]);
    let (wanted, parallelism) = (
        &job["spec"]["completions"],
        number(&job["spec"]["parallelism"]),
    );
    match wanted.as_i64() {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    }
}

fn pod(pod: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let all = each(&spec["containers"]).count();
    let statuses = || each(&status["containerStatuses"]);
    let ready = statuses().filter(|status| status["ready"] == true).count();
    let restarts: i64 = statuses()
        .map(|status| number(&status["restartCount"]))
        .sum();
    let last = statuses()
        .filter_map(|status| status["lastState"]["terminated"]["finishedAt"].as_str())
        .max();
    let restarts = match last {
        Some(last) if restarts > 0 => {
            format!("{restarts} ({} ago)", plain(&since(&json!(last), now)))
        }
        _ => restarts.to_string(),
    };
    let is_met = |gate: &&Value| {
        let kind = gate["conditionType"].as_str().unwrap_or_default();
        has_condition(pod, kind, "True")
    };
    let gates = || each(&spec["readinessGates"]);
    let (gates, met) = (gates().count(), gates().filter(is_met).count());
    vec![
        pod["metadata"]["name"].clone(),
        format!("{ready}/{all}").into(),
        pod_status(pod).into(),
        restarts.into(),
        since_creation(pod, now),
        or(&status["podIP"], NONE),
        or(&spec["nodeName"], NONE),
        or(&status["nominatedNodeName"], NONE),
        match gates {
            0 => NONE.into(),
            _ => format!("{met}/{gates}").into(),
        },
    ]
}

/// The reason of the phase, as far as the containers say one.
fn pod_status(pod: &Value) -> String {
    let status = &pod["status"];
    let mut reason = plain(&or(&status["reason"], &plain(&status["phase"])));
    let mut is_running = false;
    for container in each(&status["containerStatuses"])
        .collect::<Vec<_>>()
        .iter()
        .rev()
    {
        let state = &container["state"];
        let (waiting, ended) = (&state["waiting"]["reason"], &state["terminated"]);
        if let Some(why) = waiting.as_str().filter(|why| !why.is_empty()) {
            reason = why.to_owned();
        } else if let Some(why) = ended["reason"].as_str().filter(|why| !why.is_empty()) {
            reason = why.to_owned();
        } else if ended.is_object() {
            reason = match number(&ended["signal"]) {
                0 => format!("ExitCode:{}", number(&ended["exitCode"])),
                signal => format!("Signal:{signal}"),
            };
        } else if container["ready"] == true && state["running"].is_object() {
            is_running = true;
        }
    }
    if reason == "Completed" && is_running {
        let is_ready = has_condition(pod, "Ready", "True");
        reason = if is_ready { "Running" } else { "NotReady" }.to_owned();
    }
    let has_ended = matches!(status["phase"].as_str(), Some("Failed" | "Succeeded"));
    match is_terminating(pod) {
        true if status["reason"] == "NodeLost" => "Unknown".to_owned(),
        true if !has_ended => "Terminating".to_owned(),
        _ => reason,
    }
}
