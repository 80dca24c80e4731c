//! Makes the causes of refusals comparable: a real server finds them in any order, and shows whole objects in some.

use serde_json::Value;

/// Where a real server stops to look at the fields of a map, which it does in any order.
const UNDECLARED: &str = "field not declared in schema";

/// Sorts the causes of a status, and leaves out the objects that patches made.
pub(crate) fn normalise(body: &mut Value) {
    if let Some(text) = body["message"]
        .as_str()
        .filter(|text| text.contains(UNDECLARED))
    {
        let start = text.find(": errors:").or_else(|| text.find(": ."));
        let start = start.map_or("", |at| &text[..at]);
        body["message"] = format!("{start}: {UNDECLARED}").into();
    }
    let found = body.pointer_mut("/details/causes");
    let Some(causes) = found.and_then(Value::as_array_mut) else {
        return;
    };
    let mut texts: Vec<String> = Vec::new();
    for cause in causes.iter_mut() {
        if cause["field"] == "patch" {
            let text = cause["message"].as_str().unwrap_or_default();
            cause["message"] = without_object(text).into();
        }
    }
    causes.sort_by_key(ToString::to_string);
    for cause in causes.iter() {
        let text = |field: &str| cause[field].as_str().unwrap_or_default().to_owned();
        let text = format!("{}: {}", text("field"), text("message"));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let message = body["message"].as_str().unwrap_or_default();
    if let Some((start, _)) = message.split_once(" is invalid: ") {
        let what = match texts.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        body["message"] = format!("{start} is invalid: {what}").into();
    }
}

/// The text of a cause without the quoted object in its middle.
fn without_object(text: &str) -> String {
    let found = text.rfind("}\": ").or_else(|| text.rfind("]\": "));
    match found {
        Some(at) => format!("Invalid value: (object){}", &text[at + 2..]),
        None => text.to_owned(),
    }
}
