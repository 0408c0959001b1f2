//! From text to tokens (spec/query.md, "Grammar").
//!
//! ```text
//! query     = { space | operator | phrase | term } ;
//! operator  = "AND" | "OR" | "NOT" ;            (* a whole bare word, upper case only *)
//! phrase    = '"' , { character - '"' } , ( '"' | end ) ;
//! term      = word , [ "*" ] ;                  (* a final "*" makes it a prefix *)
//! word      = ( character - space - '"' ) , { character - space - '"' } ;
//! ```
//!
//! Not supported on purpose: parentheses, column filters, NEAR and boosts. Their characters
//! are stripped like any other punctuation. Parsing cannot fail: every text means something.

use super::ast::{Operator, Query, Token, TokenKind};
use super::limits;
use super::stopwords::is_stopword;
use crate::error::Result;
use crate::text::{lower::lower, normalise::normalise, utf16, whitespace};

/// Normalise and parse `text`; fails only over the limits.
pub fn parse(text: &str) -> Result<Query> {
    limits::check_text(text)?;
    let raw = normalise(text);
    let scan = scan(&raw);
    let has_operators = scan.has_operators;
    let tokens: Vec<Token> = scan
        .words
        .into_iter()
        .filter_map(|word| match word.fate {
            Fate::Kept(token) => Some(token),
            _ => None,
        })
        .collect();
    limits::check_tokens(tokens.len())?;
    Ok(Query {
        raw,
        tokens,
        has_operators,
        groups: None,
    })
}

/// Every word of a normalised text, with what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan<'a> {
    /// The words, in the order of the text.
    pub words: Vec<Word<'a>>,
    /// Whether the text has a quote or an operator.
    pub has_operators: bool,
}

/// One word, phrase or operator of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'a> {
    /// As it stands in the normalised text, a phrase without its quotes.
    pub source: &'a str,
    /// What became of it.
    pub fate: Fate,
}

/// What the parser made of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is a token of the query.
    Kept(Token),
    /// It is an operator.
    Operator(Operator, OperatorFate),
    /// It is left out.
    Dropped(Reason),
}

/// What an operator came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorFate {
    /// It belongs to the next token.
    Attached,
    /// A later operator took its place.
    Replaced,
    /// The next word stripped to nothing and took the operator with it.
    Cleared,
    /// No token follows.
    Dangling,
}

/// Why a word is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Only characters of the strip set.
    OnlyPunctuation,
    /// A phrase without text.
    EmptyPhrase,
    /// At most two UTF-16 units, in a bare query. Holds the cleaned text.
    TooShort(String),
    /// A stop word, in a bare query. Holds the cleaned text.
    StopWord(String),
    /// A lower-case `and`, `or` or `not`, in a bare query. Holds the cleaned text.
    Filler(String),
}

/// Read a normalised text word by word.
pub fn scan(raw: &str) -> Scan<'_> {
    let mut scanner = Scanner {
        words: Vec::new(),
        pending: None,
        has_operators: false,
    };
    let mut rest = raw;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let after = &rest[1..];
            let end = after.find('"').unwrap_or(after.len());
            scanner.phrase(&after[..end]);
            rest = after.get(end + 1..).unwrap_or_default();
        } else if whitespace::is_whitespace(first) {
            rest = &rest[first.len_utf8()..];
        } else {
            let end = rest.find(is_word_end).unwrap_or(rest.len());
            scanner.bare_word(&rest[..end]);
            rest = &rest[end..];
        }
    }
    scanner.finish()
}

fn is_word_end(c: char) -> bool {
    c == '"' || whitespace::is_whitespace(c)
}

struct Scanner<'a> {
    words: Vec<Word<'a>>,
    /// The operator that waits for a token: where it stands in `words`.
    pending: Option<(usize, Operator)>,
    has_operators: bool,
}

impl<'a> Scanner<'a> {
    fn phrase(&mut self, source: &'a str) {
        self.has_operators = true;
        let text = whitespace::trim(source);
        if text.is_empty() {
            // An empty phrase leaves a waiting operator as it is.
            self.words.push(Word {
                source,
                fate: Fate::Dropped(Reason::EmptyPhrase),
            });
        } else {
            self.keep(source, TokenKind::Phrase, lower(text.to_owned()));
        }
    }

    fn bare_word(&mut self, source: &'a str) {
        if let Some(operator) = Operator::from_word(source) {
            self.has_operators = true;
            self.settle(OperatorFate::Replaced);
            self.pending = Some((self.words.len(), operator));
            // Until a later word says otherwise.
            let fate = Fate::Operator(operator, OperatorFate::Dangling);
            self.words.push(Word { source, fate });
            return;
        }
        let text = strip(source);
        if text.is_empty() {
            self.settle(OperatorFate::Cleared);
            self.words.push(Word {
                source,
                fate: Fate::Dropped(Reason::OnlyPunctuation),
            });
            return;
        }
        let kind = if source.ends_with('*') {
            TokenKind::Prefix
        } else {
            TokenKind::Term
        };
        self.keep(source, kind, lower(text));
    }

    fn keep(&mut self, source: &'a str, kind: TokenKind, text: String) {
        let operator = self.settle(OperatorFate::Attached);
        self.words.push(Word {
            source,
            fate: Fate::Kept(Token {
                kind,
                text,
                operator,
            }),
        });
    }

    /// Note what became of the waiting operator, if there is one, and return it.
    fn settle(&mut self, became: OperatorFate) -> Option<Operator> {
        let (place, operator) = self.pending.take()?;
        self.words[place].fate = Fate::Operator(operator, became);
        Some(operator)
    }

    fn finish(mut self) -> Scan<'a> {
        if !self.has_operators {
            for word in &mut self.words {
                word.filter();
            }
        }
        Scan {
            words: self.words,
            has_operators: self.has_operators,
        }
    }
}

impl Word<'_> {
    /// In a bare query short words, stop words and lower-case operators are noise.
    fn filter(&mut self) {
        let Fate::Kept(token) = &mut self.fate else {
            return;
        };
        let text = &mut token.text;
        let reason = if matches!(text.as_str(), "and" | "or" | "not") {
            Reason::Filler
        } else if utf16::len(text) <= 2 {
            Reason::TooShort
        } else if is_stopword(text) {
            Reason::StopWord
        } else {
            return;
        };
        self.fate = Fate::Dropped(reason(std::mem::take(text)));
    }
}

/// `source` without the characters that bare words lose wherever they stand.
fn strip(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    for run in source.split(is_stripped) {
        text.push_str(run);
    }
    text
}

fn is_stripped(c: char) -> bool {
    matches!(
        c,
        '*' | '('
            | ')'
            | ':'
            | '^'
            | '+'
            | '"'
            | '-'
            | '?'
            | '!'
            | '.'
            | ','
            | ';'
            | '/'
            | '\\'
            | '['
            | ']'
            | '{'
            | '}'
            | '<'
            | '>'
            | '|'
            | '&'
            | '\''
            | '$'
            | '#'
            | '@'
            | '%'
            | '='
            | '~'
            | '`'
    )
}
