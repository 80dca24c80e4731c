//! The forms of names, label keys and label values, with a real server's words for what breaks them
//! (apimachinery's `validate/content`).

/// How the names of a kind's objects must look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameForm {
    /// A DNS subdomain: labels joined by dots.
    Subdomain,
    /// One DNS label.
    Label,
    /// Anything that can stand between two slashes of a path.
    PathSegment,
}

impl NameForm {
    /// What is wrong with a name.
    pub(super) fn faults(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label => label(name),
            Self::PathSegment => path_segment(name),
        }
    }

    /// What is wrong with the beginning of a name.
    pub(super) fn prefix_faults(self, prefix: &str) -> Vec<String> {
        match self {
            Self::PathSegment => forbidden_parts(prefix),
            _ => {
                // As in the real server, a letter stands in for the dash and the character before it.
                let mut cut: String = prefix.to_owned();
                if cut.len() > 1 && cut.ends_with('-') {
                    cut.pop();
                    cut.pop();
                    cut.push('a');
                }
                self.faults(&cut)
            }
        }
    }
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

fn lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether it begins and ends with such a byte and has only these and some others in between.
fn is_made_of(text: &str, edge: impl Fn(u8) -> bool, between: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    edge(*first)
        && edge(*last)
        && bytes
            .iter()
            .all(|byte| edge(*byte) || between.contains(byte))
}

fn is_label(text: &str) -> bool {
    is_made_of(text, lower_or_digit, b"-")
}

/// What is wrong with a DNS subdomain.
pub(super) fn subdomain(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 253 {
        faults.push(too_long(253));
    }
    if !name.split('.').all(is_label) {
        faults.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{LABEL}(\\.{LABEL})*')"
        ));
    }
    faults
}

fn label(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 63 {
        faults.push(too_long(63));
    }
    if !is_label(name) {
        faults.push(if name.split('.').all(is_label) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '{LABEL}')"
            )
        });
    }
    faults
}

/// What keeps a name from standing in a path.
pub(super) fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    forbidden_parts(name)
}

fn forbidden_parts(name: &str) -> Vec<String> {
    ["/", "%"]
        .into_iter()
        .filter(|part| name.contains(part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

fn key_form() -> String {
    format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{KEY}')"
    )
}

/// What is wrong with a qualified name: a label's or annotation's key, a finalizer.
pub(crate) fn qualified(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                faults.extend(
                    subdomain(prefix)
                        .into_iter()
                        .map(|fault| format!("prefix part {fault}")),
                );
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                key_form()
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push(format!("name part {}", too_long(63)));
    }
    if !is_made_of(name, |byte| byte.is_ascii_alphanumeric(), b"-_.") {
        faults.push(format!("name part {}", key_form()));
    }
    faults
}

/// What is wrong with the value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > 63 {
        faults.push(too_long(63));
    }
    if !value.is_empty() && !is_made_of(value, |byte| byte.is_ascii_alphanumeric(), b"-_.") {
        faults.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '({KEY})?')"
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_takes_its_names_alone() {
        for (form, good, bad) in [
            (NameForm::Subdomain, "a.b-1.c", "a..b"),
            (NameForm::Subdomain, "0", "A"),
            (NameForm::Subdomain, "a-b", "a-"),
            (NameForm::Label, "a-b", "a.b"),
            (NameForm::Label, "0", "_"),
            (NameForm::PathSegment, "system:Node_a", "a/b"),
            (NameForm::PathSegment, "...", ".."),
        ] {
            assert!(form.faults(good).is_empty(), "{good}");
            assert_eq!(form.faults(bad).len(), 1, "{bad}");
        }
        assert_eq!(NameForm::Label.faults(&"a".repeat(64)).len(), 1);
        assert!(NameForm::Subdomain.prefix_faults("web-").is_empty());
        assert!(NameForm::Subdomain.faults("web-").len() == 1);
        assert!(NameForm::PathSegment.prefix_faults("..").is_empty());
    }

    #[test]
    fn keys_and_values_of_labels_are_checked() {
        for key in ["app", "a.b/c_d", "X", "example.com/A.1"] {
            assert!(qualified(key).is_empty(), "{key}");
        }
        for (key, faults) in [("", 2), ("/a", 1), ("a/", 2), ("A.b/c", 1), ("a/b/c", 1)] {
            assert_eq!(qualified(key).len(), faults, "{key}");
        }
        for value in ["", "a", "A_1.b"] {
            assert!(label_value(value).is_empty(), "{value}");
        }
        for value in ["-a", "a b", "ü"] {
            assert_eq!(label_value(value).len(), 1, "{value}");
        }
    }
}
