//! Label selectors: the full grammar, equality-based and set-based.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{label_value, qualified};

/// A parsed label selector; all its requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

impl LabelSelector {
    /// Reads a selector. The error is the message for the client.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let requirements = Parser::new(text).selector()?;
        Ok(Self { requirements })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements
            .iter()
            .all(|wanted| wanted.matches(labels.get(&wanted.key)))
    }
}

impl Requirement {
    fn matches(&self, value: Option<&String>) -> bool {
        match (&self.test, value) {
            (Test::Exists, value) => value.is_some(),
            (Test::DoesNotExist, value) => value.is_none(),
            (Test::In(values), Some(value)) => values.contains(value),
            (Test::NotIn(values), Some(value)) => !values.contains(value),
            // An object without the label satisfies "not".
            (Test::NotIn(_), None) => true,
            (Test::GreaterThan(bound), Some(value)) => {
                value.parse::<i64>().is_ok_and(|value| value > *bound)
            }
            (Test::LessThan(bound), Some(value)) => {
                value.parse::<i64>().is_ok_and(|value| value < *bound)
            }
            (Test::In(_) | Test::GreaterThan(_) | Test::LessThan(_), None) => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self, Self::Symbol(known) if *known == symbol)
    }
}

/// Longer symbols before their prefixes.
const SYMBOLS: [&str; 9] = ["!=", "==", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
        } else {
            let ends = |c: char| c.is_whitespace() || "=!(),<>".contains(c);
            let (word, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
            tokens.push(Token::Word(word.to_owned()));
            rest = after;
        }
        rest = rest.trim_start();
    }
    tokens.push(Token::End);
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn new(text: &str) -> Self {
        Self {
            tokens: tokens(text),
            at: 0,
        }
    }

    fn peek(&self) -> &Token {
        // The last token is `End`, and the position never moves beyond it.
        &self.tokens[self.at]
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(requirements),
                token if matches!(token, Token::Word(_)) || token.is("!") => {}
                token => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        token.text()
                    ));
                }
            }
            let requirement = self
                .requirement()
                .map_err(|message| format!("unable to parse requirement: {message}"))?;
            requirements.push(requirement);
            match self.next() {
                Token::End => return Ok(requirements),
                token if token.is(",") => self.expect_key_after_comma()?,
                token => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        token.text()
                    ));
                }
            }
        }
    }

    fn expect_key_after_comma(&self) -> Result<(), String> {
        let token = self.peek();
        if matches!(token, Token::Word(_)) || token.is("!") {
            return Ok(());
        }
        Err(format!(
            "found '{}', expected: identifier after ','",
            token.text()
        ))
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek().is("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            token => return Err(format!("found '{}', expected: identifier", token.text())),
        };
        check_key(&key)?;
        if negated {
            return Ok(Requirement {
                key,
                test: Test::DoesNotExist,
            });
        }
        if matches!(self.peek(), Token::End) || self.peek().is(",") {
            return Ok(Requirement {
                key,
                test: Test::Exists,
            });
        }
        let test = self.test()?;
        Ok(Requirement { key, test })
    }

    fn test(&mut self) -> Result<Test, String> {
        match self.next() {
            Token::Symbol("=" | "==") => Ok(Test::In(BTreeSet::from([self.exact_value()?]))),
            Token::Symbol("!=") => Ok(Test::NotIn(BTreeSet::from([self.exact_value()?]))),
            Token::Symbol(">") => Ok(Test::GreaterThan(self.bound()?)),
            Token::Symbol("<") => Ok(Test::LessThan(self.bound()?)),
            Token::Word(word) if word == "in" => Ok(Test::In(self.values()?)),
            Token::Word(word) if word == "notin" => Ok(Test::NotIn(self.values()?)),
            token => Err(format!(
                "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                token.text()
            )),
        }
    }

    fn bound(&mut self) -> Result<i64, String> {
        let value = self.exact_value()?;
        value.parse().map_err(|_| {
            format!("values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer")
        })
    }

    fn exact_value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End) || self.peek().is(",") {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(value) => check_value(value),
            token => Err(format!("found '{}', expected: identifier", token.text())),
        }
    }

    /// `(a, b)`; an empty place between commas is the empty value.
    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let open = self.next();
        if !open.is("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        if !matches!(self.peek(), Token::Word(_)) && !self.peek().is(",") && !self.peek().is(")") {
            return Err(format!(
                "found '{}', expected: ',', ')' or identifier",
                self.peek().text()
            ));
        }
        if self.peek().is(")") {
            return Err(
                "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
                    .to_owned(),
            );
        }
        let mut values = BTreeSet::new();
        loop {
            let value = match self.peek() {
                Token::Word(_) => check_value(self.next().text().to_owned())?,
                _ => String::new(),
            };
            values.insert(value);
            match self.next() {
                token if token.is(",") => {}
                token if token.is(")") => return Ok(values),
                token => return Err(format!("found '{}', expected: ',' or ')'", token.text())),
            }
        }
    }
}

fn check_key(key: &str) -> Result<(), String> {
    if qualified(key).is_empty() {
        return Ok(());
    }
    Err(format!(
        "key: Invalid value: \"{key}\": a label key is a name of letters, digits, '-', '_' or '.', \
         with an optional DNS subdomain and '/' before it"
    ))
}

fn check_value(value: String) -> Result<String, String> {
    if label_value(&value).is_empty() {
        return Ok(value);
    }
    Err(format!(
        "values[0]: Invalid value: \"{value}\": a label value has at most 63 letters, digits, '-', \
         '_' or '.', and starts and ends with a letter or digit"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> BTreeMap<String, String> {
        [("app", "demo"), ("n", "7"), ("empty", ""), ("x.io/a", "b")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    #[test]
    fn label_selector_grammar_is_read() {
        for (text, expected) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("!missing", true),
            ("app=demo", true),
            ("app == demo", true),
            ("app!=demo", false),
            ("missing!=demo", true),
            ("app in (demo, other)", true),
            ("app in (other)", false),
            ("app notin (demo)", false),
            ("missing notin (demo)", true),
            ("empty=", true),
            ("empty in (,a)", true),
            ("empty in (a,)", true),
            ("app in (a,,b)", false),
            ("n>6", true),
            ("n<7", false),
            ("app>6", false),
            ("x.io/a=b,n", true),
            ("x.io/a=b,!n", false),
            ("in in (in)", false),
            ("app=demo,app!=other,n in (7),!missing", true),
        ] {
            let selector = LabelSelector::parse(text).unwrap();
            assert_eq!(selector.matches(&labels()), expected, "{text}");
        }
    }

    /// The first message was recorded from a real server.
    #[test]
    fn label_selector_errors_are_as_of_a_real_server() {
        for (text, message) in [
            (
                "a in (",
                "unable to parse requirement: found '', expected: ',', ')' or identifier",
            ),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("a=b,", "found '', expected: identifier after ','"),
            (
                "=b",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            (
                "!",
                "unable to parse requirement: found '', expected: identifier",
            ),
            (
                "a in b",
                "unable to parse requirement: found 'b' expected: '('",
            ),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap_err(), message, "{text}");
        }
    }

    #[test]
    fn invalid_keys_and_values_are_refused() {
        for text in [
            "a/b/c", "/a", "-a", "a=-b", "a in ()", "A.io/x", "a>b", "a=ü",
        ] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }
}
