//! Error answers: a `Status` from whatever body a server, a proxy or a load balancer sent.

use crate::protobuf::enveloped_status;
use crate::status::Status;

/// The most bytes of a body without a `Status` that become its message.
const MAX_TEXT: usize = 2048;

impl Status {
    /// The most bytes of an error answer's body that are worth reading.
    pub const MAX_BODY: usize = 1 << 20;

    /// Reads the error from an HTTP answer with this status code, `Content-Type` and body.
    ///
    /// Whatever the body is, the result has a code and a message. A `Status`, in JSON or in protobuf, is taken as it
    /// is, its kind and content type may be missing; the text of another body, cut short, becomes the message; of an
    /// HTML page only its title, and of a body that is no text nothing.
    ///
    /// ```
    /// use informer_wire::Status;
    ///
    /// let status = Status::from_response(503, Some("text/plain"), b"no endpoints available\n");
    /// assert_eq!(status.to_string(), "no endpoints available (503 ServiceUnavailable)");
    /// let status = Status::from_response(504, Some("text/html"), b"<html><title>Bad day</title></html>");
    /// assert_eq!(status.message, "Bad day");
    /// ```
    #[must_use]
    pub fn from_response(code: u16, content_type: Option<&str>, body: &[u8]) -> Self {
        let body = &body[..body.len().min(Self::MAX_BODY)];
        if let Some(status) = written_status(code, body) {
            return status;
        }
        let text = String::from_utf8_lossy(&body[..body.len().min(4 * MAX_TEXT)]);
        let kind = content_type.map(str::to_ascii_lowercase);
        let is = |what| kind.as_ref().is_some_and(|kind| kind.contains(what));
        let message = if is("html") || text.trim_start().starts_with('<') {
            title(&text)
        } else if kind.is_none() || is("text/") || is("json") {
            plain(&text)
        } else {
            String::new()
        };
        let mut status = Self::failure(code, reason_of(code), message);
        status.fill_message();
        status
    }

    /// Writes a message if there is none.
    fn fill_message(&mut self) {
        if self.message.trim().is_empty() {
            self.message = format!("HTTP {} without a message", self.code);
        }
    }
}

/// Returns the body's `Status`, if it is one and not empty.
fn written_status(code: u16, body: &[u8]) -> Option<Status> {
    let mut status = json_status(body).or_else(|| enveloped_status(body))?;
    let is_empty = status.message.is_empty() && status.reason.is_empty() && status.code == 0;
    if is_empty || status.status == "Success" {
        return None;
    }
    // Some servers leave the code out, and a code of success is no code of an error.
    if status.code < 400 {
        status.code = code;
    }
    "Failure".clone_into(&mut status.status);
    if status.reason.is_empty() {
        reason_of(status.code).clone_into(&mut status.reason);
    }
    status.fill_message();
    Some(status)
}

fn json_status(body: &[u8]) -> Option<Status> {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(default)]
        kind: Option<String>,
    }
    if !body.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let Kind { kind } = serde_json::from_slice(body).ok()?;
    if kind.is_some_and(|kind| !kind.is_empty() && kind != "Status") {
        return None;
    }
    serde_json::from_slice(body).ok()
}

/// The text in one line, without control characters, cut short.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for word in text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
    {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > MAX_TEXT {
            let end = (0..=MAX_TEXT)
                .rev()
                .find(|&at| out.is_char_boundary(at))
                .unwrap_or(0);
            out.truncate(end);
            out.push('…');
            break;
        }
    }
    out
}

/// The title of an HTML page.
fn title(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let Some(from) = lower.find("<title>").map(|at| at + "<title>".len()) else {
        return String::new();
    };
    let to = lower[from..]
        .find("</title>")
        .map_or(html.len(), |at| from + at);
    plain(&html[from..to])
}

/// Returns the reason that API servers send with a code.
const fn reason_of(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // INV-WIRE-11
    #[test]
    fn every_error_answer_has_code_and_message() {
        let cases: [(u16, Option<&str>, &[u8], &str); 17] = [
            (403, Some("application/vnd.kubernetes.protobuf"), b"k8s\0\n\x0c", "HTTP 403 without a message (403 Forbidden)"),
            (
                403,
                Some("application/json"),
                br#"{"kind":"Status","status":"Failure","message":"no","reason":"Forbidden","code":403}"#,
                "no (403 Forbidden)",
            ),
            // A request that took too long: no kind, no content type.
            (504, None, br#"{"metadata":{},"status":"Failure","message":"timed out","reason":"Timeout","code":504}"#, "timed out (504 Timeout)"),
            (500, None, br#" {"message":"x"}"#, "x (500 InternalError)"),
            (429, Some("text/plain"), b"Too many requests, please try again later.\n", "Too many requests, please try again later. (429 TooManyRequests)"),
            (502, Some("text/html; charset=utf-8"), b"<html>\n<head><TITLE>502\n Bad Gateway</TITLE></head>", "502 Bad Gateway (502)"),
            (502, None, b"<!doctype html><p>", "HTTP 502 without a message (502)"),
            (404, None, b"", "HTTP 404 without a message (404 NotFound)"),
            (500, Some("application/json"), br#"{"kind":"Pod","message":"not a status"}"#, r#"{"kind":"Pod","message":"not a status"} (500 InternalError)"#),
            (500, Some("application/json"), br#"{"message":5}"#, r#"{"message":5} (500 InternalError)"#),
            (500, None, b"\xff\x00\x1b[31mred", "\u{fffd} [31mred (500 InternalError)"),
            (
                502,
                None,
                br#"{"kind":"Status","status":"Success","message":"all well"}"#,
                r#"{"kind":"Status","status":"Success","message":"all well"} (502)"#,
            ),
            (500, None, b"null", "null (500 InternalError)"),
            (500, None, br#"{"kind":"Status","code":500}"#, "HTTP 500 without a message (500 InternalError)"),
            (503, None, br#"{"kind":"Status","reason":"Busy","message":" "}"#, "HTTP 503 without a message (503 Busy)"),
            (500, None, br#"{"kind":"Status","status":"Odd","message":"x","code":200}"#, "x (500 InternalError)"),
            (409, None, br#"{"kind":"Status","message":"x","code":404}"#, "x (404 NotFound)"),
        ];
        for (code, content_type, body, expected) in cases {
            let status = Status::from_response(code, content_type, body);
            assert_eq!(status.to_string(), expected);
            assert!(status.code == code || body.ends_with(b"404}"));
            assert_eq!(status.status, "Failure");
        }
    }

    #[test]
    fn long_body_is_cut_short() {
        let body = "ü".repeat(1 << 20);
        let status = Status::from_response(500, None, body.as_bytes());
        assert!(status.message.len() <= MAX_TEXT + '…'.len_utf8());
        assert!(status.message.ends_with('…'));
    }
}
