//! Reads the text of a label selector.

use crate::selector::error::SelectorError;
use crate::selector::requirement::{Operator, Requirement};

/// Characters that end a word and stand for themselves.
const SYMBOLS: [char; 7] = ['=', '!', '(', ')', ',', '>', '<'];

/// Returns the requirements of a text, in its order. Blank text has none.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut parser = Parser { text, at: 0 };
    let mut found = Vec::new();
    if parser.peek() == Token::End {
        return Ok(found);
    }
    loop {
        found.push(parser.requirement()?);
        match parser.peek() {
            Token::End => return Ok(found),
            Token::Symbol(",") => parser.skip(),
            _ => return Err(parser.unexpected("',' or the end")),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

struct Parser<'a> {
    text: &'a str,
    /// The text before it was read.
    at: usize,
}

impl<'a> Parser<'a> {
    /// Returns the start of the next token, and the token.
    fn look(&self) -> (usize, Token<'a>) {
        let rest = self.text[self.at..].trim_start();
        let start = self.text.len() - rest.len();
        for symbol in ["!=", "=="] {
            if rest.starts_with(symbol) {
                return (start, Token::Symbol(&rest[..2]));
            }
        }
        if rest.starts_with(SYMBOLS) {
            return (start, Token::Symbol(&rest[..1]));
        }
        let end = rest.find(|c: char| c.is_whitespace() || SYMBOLS.contains(&c));
        match &rest[..end.unwrap_or(rest.len())] {
            "" => (start, Token::End),
            word => (start, Token::Word(word)),
        }
    }

    fn peek(&self) -> Token<'a> {
        self.look().1
    }

    fn skip(&mut self) {
        let (start, token) = self.look();
        self.at = start
            + match token {
                Token::Word(text) | Token::Symbol(text) => text.len(),
                Token::End => 0,
            };
    }

    fn unexpected(&self, expected: &'static str) -> SelectorError {
        let (at, token) = self.look();
        let found = match token {
            Token::Word(text) | Token::Symbol(text) => format!("{text:?}"),
            Token::End => "the end".to_owned(),
        };
        SelectorError::Syntax {
            text: self.text.to_owned(),
            at,
            found,
            expected,
        }
    }

    fn word(&mut self, expected: &'static str) -> Result<&'a str, SelectorError> {
        let Token::Word(word) = self.peek() else {
            return Err(self.unexpected(expected));
        };
        self.skip();
        Ok(word)
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        if self.peek() == Token::Symbol("!") {
            self.skip();
            let key = self.word("a label key")?;
            return Requirement::new::<&str>(key, Operator::DoesNotExist, []);
        }
        let key = self.word("a label key or '!'")?;
        let operator = match self.peek() {
            Token::End | Token::Symbol(",") => {
                return Requirement::new::<&str>(key, Operator::Exists, []);
            }
            Token::Symbol("=" | "==") => Operator::Equals,
            Token::Symbol("!=") => Operator::NotEquals,
            Token::Symbol(">") => Operator::GreaterThan,
            Token::Symbol("<") => Operator::LessThan,
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            _ => {
                return Err(
                    self.unexpected("an operator (=, ==, !=, in, notin, >, <), ',' or the end")
                );
            }
        };
        self.skip();
        match operator {
            Operator::In | Operator::NotIn => Requirement::new(key, operator, self.values()?),
            _ => Requirement::new(key, operator, [self.exact_value()?]),
        }
    }

    /// Reads the value after `=` and its like; nothing is the empty value.
    fn exact_value(&mut self) -> Result<&'a str, SelectorError> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(""),
            _ => self.word("a label value"),
        }
    }

    /// Reads the values between brackets. Nothing before or after a comma is the empty value.
    fn values(&mut self) -> Result<Vec<&'a str>, SelectorError> {
        if self.peek() != Token::Symbol("(") {
            return Err(self.unexpected("'('"));
        }
        self.skip();
        let mut values = Vec::new();
        if self.peek() == Token::Symbol(")") {
            self.skip();
            return Ok(values);
        }
        loop {
            let value = match self.peek() {
                Token::Symbol("," | ")") => "",
                _ => self.word("a label value, ',' or ')'")?,
            };
            values.push(value);
            match self.peek() {
                Token::Symbol(",") => self.skip(),
                Token::Symbol(")") => {
                    self.skip();
                    return Ok(values);
                }
                _ => return Err(self.unexpected("',' or ')'")),
            }
        }
    }
}
