//! From text to tokens (spec/query.md, "Grammar").
//!
//! Parsing cannot fail, except over the limits: every text means something.

use std::borrow::Cow;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::ast::{Operator, Query, Token, TokenKind};
use super::limits;
use super::stopwords::StopWords;
use crate::error::Result;
use crate::text::lower::lower;
use crate::text::normalise::normalise;
use crate::text::{utf16, whitespace, words};

/// Normalise and parse `text`; fails only over the limits.
pub fn parse(text: &str) -> Result<Query> {
    parse_with(text, Default::default())
}

/// [`parse`] with other stop words than the specification's.
pub fn parse_with(text: &str, stopwords: &StopWords) -> Result<Query> {
    limits::check_text(text)?;
    parsed(text, stopwords, |raw, scan| {
        limits::check_tokens(raw, scan.tokens().map(|token| &token.text))
    })
}

/// Parse `text` with its dates added. The limits of a query apply to the given text; dates may add
/// as much to it as aliases may.
pub fn parse_augmented(text: &str, augmented: &str, stopwords: &StopWords) -> Result<Query> {
    parse_with(text, stopwords)?;
    parsed(augmented, stopwords, |_, scan| {
        limits::check_expanded(scan.tokens().count())
    })
}

fn parsed(
    text: &str,
    stopwords: &StopWords,
    check: impl FnOnce(&str, &ParsedWords<'_>) -> Result<()>,
) -> Result<Query> {
    let raw = normalise(text);
    let scan = scan(&raw, stopwords);
    check(&raw, &scan)?;
    let has_operators = scan.has_operators;
    let tokens = scan
        .words
        .into_iter()
        .filter_map(|word| match word.outcome {
            WordOutcome::Kept(token) => Some(token.into_owned()),
            _ => None,
        });
    let tokens = tokens.collect();
    Ok(Query {
        raw: raw.into_owned(),
        tokens,
        has_operators,
        groups: None,
    })
}

/// Every word of a normalised text, with what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedWords<'a> {
    /// The words, in the order of the text.
    pub words: Vec<QueryWord<'a>>,
    /// Whether the text has a quote or an operator.
    pub has_operators: bool,
}

impl<'a> ParsedWords<'a> {
    /// The tokens of the query.
    pub fn tokens(&self) -> impl Iterator<Item = &Token<Cow<'a, str>>> {
        self.words.iter().filter_map(|word| match &word.outcome {
            WordOutcome::Kept(token) => Some(token),
            _ => None,
        })
    }
}

/// A word, phrase or operator of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWord<'a> {
    /// The word in the normalised text, a phrase without its quotes.
    pub source: &'a str,
    /// The outcome of the word.
    pub outcome: WordOutcome<'a>,
}

/// The outcome of a word in the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordOutcome<'a> {
    /// The word is a token of the query.
    Kept(Token<Cow<'a, str>>),
    /// The word is an operator.
    Operator(Operator, OperatorFate),
    /// The word is dropped.
    Dropped(DropReason<'a>),
    /// The word begins a group, which takes the operator before it. In extended matching.
    Open(Option<Operator>),
    /// The word ends a group. In extended matching.
    Close,
    /// The word is a minus sign: a result must not have the next token. In extended matching.
    Minus,
}

/// The outcome of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorFate {
    /// The operator belongs to the next token.
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
pub enum DropReason<'a> {
    /// Only characters of the strip set.
    OnlyPunctuation,
    /// A phrase without text.
    EmptyPhrase,
    /// At most two UTF-16 units, in a bare query. Holds the cleaned text.
    TooShort(Cow<'a, str>),
    /// A stop word, in a bare query. Holds the cleaned text.
    StopWord(Cow<'a, str>),
    /// A lower-case `and`, `or` or `not`, in a bare query. Holds the cleaned text.
    Filler(Cow<'a, str>),
    /// A parenthesis without its counterpart, or too deep. In extended matching.
    Parenthesis,
}

/// Read a normalised text word by word.
pub fn scan<'a>(raw: &'a str, stopwords: &StopWords) -> ParsedWords<'a> {
    let mut scanner = Lexer {
        words: Vec::with_capacity(raw.len() / BYTES_A_WORD + 1),
        pending: None,
        has_operators: false,
    };
    let mut rest = raw;
    while let Some(first) = rest.bytes().next() {
        match first {
            b'"' => {
                let after = &rest[1..];
                let end = after.find('"').unwrap_or(after.len());
                scanner.phrase(&after[..end]);
                rest = after.get(end + 1..).unwrap_or_default();
            }
            b' ' => rest = &rest[1..],
            _ => {
                let end = rest.bytes().position(is_word_end).unwrap_or(rest.len());
                scanner.bare_word(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    scanner.finish(stopwords)
}

/// [`scan`] of a query with operators for extended matching, in which parentheses group and a minus sign
/// excludes. Both are separate words.
pub(super) fn scan_groups(raw: &str) -> ParsedWords<'_> {
    let mut scanner = Lexer {
        words: Vec::with_capacity(raw.len() / BYTES_A_WORD + 1),
        pending: None,
        has_operators: true,
    };
    let mut depth = 0;
    let mut at = 0;
    while let Some(first) = raw[at..].bytes().next() {
        let rest = &raw[at..];
        let is_start = at == 0 || matches!(raw.as_bytes()[at - 1], b' ' | b'(');
        at += match first {
            b' ' => 1,
            b'"' => {
                let end = rest[1..].find('"').unwrap_or(rest.len() - 1);
                scanner.phrase(&rest[1..=end]);
                end + 2
            }
            b'(' => {
                scanner.open(&rest[..1], &mut depth);
                1
            }
            b')' => {
                scanner.close(&rest[..1], &mut depth);
                1
            }
            b'-' if is_start && (is_exclusion(rest) || rest.starts_with("-(")) => {
                scanner.minus(&rest[..1]);
                1
            }
            _ => {
                let word = word_of_group(rest);
                scanner.bare_word(word);
                word.len()
            }
        }
        .min(rest.len());
    }
    scanner.finish(Default::default())
}

/// Whether a text begins with a minus sign that excludes what follows it.
pub(super) fn is_exclusion(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next() == Some('-')
        && characters
            .next()
            .is_some_and(|c| c == '"' || c.is_alphabetic() || is_emoji(c))
}

/// A symbol that is a word and no currency sign, which a minus sign before makes an amount.
fn is_emoji(c: char) -> bool {
    words::is_symbol(c) && c.general_category() != GeneralCategory::CurrencySymbol
}

/// The word at the start of a text, without parentheses at its end that close a group.
fn word_of_group(text: &str) -> &str {
    let end = text.bytes().position(is_word_end).unwrap_or(text.len());
    let word = &text[..end];
    let count = |parenthesis: char| word.matches(parenthesis).count();
    let unmatched = count(')').saturating_sub(count('('));
    let at_end = word.len() - word.trim_end_matches(')').len();
    &word[..word.len() - unmatched.min(at_end)]
}

/// The deepest nesting of parentheses. Deeper ones do not group, so that reading takes linear time.
pub(super) const MAX_DEPTH: usize = 16;

/// Bytes of a word in most texts, with the space after it.
const BYTES_A_WORD: usize = 5;

/// The only white space in a normalised text is the space.
fn is_word_end(byte: u8) -> bool {
    matches!(byte, b'"' | b' ')
}

struct Lexer<'a> {
    words: Vec<QueryWord<'a>>,
    /// The operator that waits for a token, by its position in `words`.
    pending: Option<(usize, Operator)>,
    has_operators: bool,
}

impl<'a> Lexer<'a> {
    fn phrase(&mut self, source: &'a str) {
        self.has_operators = true;
        let text = whitespace::trim(source);
        if text.is_empty() {
            // An empty phrase leaves a waiting operator unchanged.
            self.words.push(QueryWord {
                source,
                outcome: WordOutcome::Dropped(DropReason::EmptyPhrase),
            });
        } else {
            let text = Cow::Owned(lower(text.to_owned()));
            self.keep(source, TokenKind::Phrase, text);
        }
    }

    fn bare_word(&mut self, source: &'a str) {
        if let Some(operator) = Operator::from_word(source) {
            self.has_operators = true;
            self.settle(OperatorFate::Replaced);
            self.pending = Some((self.words.len(), operator));
            // Until a later word says otherwise.
            let outcome = WordOutcome::Operator(operator, OperatorFate::Dangling);
            self.words.push(QueryWord { source, outcome });
            return;
        }
        let text = cleaned(source);
        if text.is_empty() {
            self.settle(OperatorFate::Cleared);
            self.words.push(QueryWord {
                source,
                outcome: WordOutcome::Dropped(DropReason::OnlyPunctuation),
            });
            return;
        }
        let kind = if source.ends_with('*') {
            TokenKind::Prefix
        } else {
            TokenKind::Term
        };
        self.keep(source, kind, text);
    }

    /// An opening parenthesis, which takes the waiting operator.
    fn open(&mut self, source: &'a str, depth: &mut usize) {
        *depth += 1;
        let outcome = if *depth > MAX_DEPTH {
            WordOutcome::Dropped(DropReason::Parenthesis)
        } else {
            WordOutcome::Open(self.settle(OperatorFate::Attached))
        };
        self.words.push(QueryWord { source, outcome });
    }

    fn close(&mut self, source: &'a str, depth: &mut usize) {
        let outcome = if *depth == 0 || *depth > MAX_DEPTH {
            WordOutcome::Dropped(DropReason::Parenthesis)
        } else {
            // An operator before it dangles.
            self.pending = None;
            WordOutcome::Close
        };
        *depth = depth.saturating_sub(1);
        self.words.push(QueryWord { source, outcome });
    }

    fn minus(&mut self, source: &'a str) {
        self.settle(OperatorFate::Replaced);
        self.words.push(QueryWord {
            source,
            outcome: WordOutcome::Minus,
        });
    }

    fn keep(&mut self, source: &'a str, kind: TokenKind, text: Cow<'a, str>) {
        let operator = self.settle(OperatorFate::Attached);
        self.words.push(QueryWord {
            source,
            outcome: WordOutcome::Kept(Token {
                kind,
                text,
                operator,
            }),
        });
    }

    /// Record the outcome of the waiting operator, if any, and return the operator.
    fn settle(&mut self, became: OperatorFate) -> Option<Operator> {
        let (index, operator) = self.pending.take()?;
        self.words[index].outcome = WordOutcome::Operator(operator, became);
        Some(operator)
    }

    fn finish(mut self, stopwords: &StopWords) -> ParsedWords<'a> {
        if !self.has_operators {
            for word in &mut self.words {
                word.filter(stopwords);
            }
        }
        ParsedWords {
            words: self.words,
            has_operators: self.has_operators,
        }
    }
}

impl QueryWord<'_> {
    /// In a bare query short words, stop words and lower-case operators are noise.
    fn filter(&mut self, stopwords: &StopWords) {
        let WordOutcome::Kept(token) = &mut self.outcome else {
            return;
        };
        if let Some(reason) = noise(&token.text, stopwords) {
            self.outcome = WordOutcome::Dropped(reason(std::mem::take(&mut token.text)));
        }
    }
}

/// Whether a bare query drops this token (spec/query.md, "Filtering"). Lower case is expected.
pub fn is_noise(token: &str) -> bool {
    noise(token, Default::default()).is_some()
}

/// Why a bare query drops a token, if it does.
fn noise<'a>(text: &str, stopwords: &StopWords) -> Option<fn(Cow<'a, str>) -> DropReason<'a>> {
    if matches!(text, "and" | "or" | "not") {
        Some(DropReason::Filler)
    } else if is_short(text) {
        Some(DropReason::TooShort)
    } else if stopwords.contains(text) {
        Some(DropReason::StopWord)
    } else {
        None
    }
}

/// Whether a word has at most two UTF-16 units, of which none takes more than three bytes here.
fn is_short(word: &str) -> bool {
    word.len() <= 6 && utf16::len(word) <= 2
}

/// `source` without the characters that bare words lose wherever they stand, in lower case.
fn cleaned(source: &str) -> Cow<'_, str> {
    if is_clean(source) {
        return Cow::Borrowed(source);
    }
    let source = source.trim_matches(is_stripped);
    if is_clean(source) {
        return Cow::Borrowed(source);
    }
    let mut text = String::with_capacity(source.len());
    text.extend(source.split(is_stripped));
    Cow::Owned(lower(text))
}

/// Whether a word is clean already. A word that is not ASCII counts as unclean.
fn is_clean(word: &str) -> bool {
    word.bytes().all(|byte| CLEAN[usize::from(byte)])
}

/// The bytes that clean words are made of.
static CLEAN: [bool; 256] = {
    let mut clean = [false; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        clean[byte as usize] = !byte.is_ascii_uppercase() && !is_stripped(byte as char);
        byte += 1;
    }
    clean
};

const fn is_stripped(c: char) -> bool {
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
