//! Extended matching: the words of the text rather than the tokens of the specification,
//! for better recall (spec/compile.md, "Extended matching").

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};

use super::alias::AliasTable;
use super::ast::{Connective, Query, Token, TokenKind};
use super::expression::{MatchExpression, Phrase};
use super::limits;
use super::options::MatchOptions;
use super::parse::{Fate, scan};
use crate::error::Result;
use crate::text::category::{is_digit, is_letter_or_digit};
use crate::text::lower::lower;
use crate::text::tokenizer::TokenizerKind;
use crate::text::{utf16, whitespace, words};

/// How often the same part may count.
const MAX_REPEATS: usize = 3;

/// The expression of a query that was not expanded, and the number of its words.
pub(super) fn expression(
    query: &Query,
    options: &MatchOptions<'_>,
) -> Result<(MatchExpression, usize)> {
    if query.has_operators {
        return Ok((with_operators(query, options)?, 0));
    }
    let mut words = bare_words(&query.raw, options);
    words.retain(|word| !word.groups.is_empty());
    let count = words.len();
    let groups: Vec<Vec<Token>> = words.into_iter().flat_map(|word| word.groups).collect();
    limits::check_count(groups.len())?;
    limits::check_expanded(groups.iter().map(Vec::len).sum())?;
    let groups = groups
        .iter()
        .map(|group| (None, group.iter().map(Phrase::of).collect()));
    Ok((MatchExpression::assemble(groups, Connective::Or), count))
}

/// The parts of words with punctuation inside, which the specification joins to one word, each as a group,
/// and the phrases of all parts of a word.
pub(super) fn compounds(
    query: &Query,
    options: &MatchOptions<'_>,
) -> Result<impl Iterator<Item = Phrase> + use<>> {
    let words = bare_words(&query.raw, options).into_iter();
    let compounds = words
        .map(|word| word.groups)
        .filter(|groups| groups.len() > 1);
    let phrases: Vec<Phrase> = compounds
        .flatten()
        .flatten()
        .map(|token| Phrase::of(&token))
        .collect();
    limits::check_count(phrases.len())?;
    Ok(phrases.into_iter())
}

/// The tokens are the specification's; a word with punctuation inside is a phrase of parts.
fn with_operators(query: &Query, options: &MatchOptions<'_>) -> Result<MatchExpression> {
    let mut groups = Vec::new();
    for word in scan(&query.raw, Default::default()).words {
        if let Fate::Kept(token) = word.fate {
            let token = token.into_owned();
            groups.push((token.operator, stand_in(word.source, &token, options)));
        }
    }
    limits::check_expanded(groups.iter().map(|(_, group)| group.len()).sum())?;
    let groups = groups.iter().map(|(operator, group)| {
        let alternatives = group.iter().map(Phrase::of).collect();
        (*operator, alternatives)
    });
    Ok(MatchExpression::assemble(groups, Connective::Or))
}

/// What is searched for in place of a token of a query with operators: the alternatives of its
/// alias, the phrase of its word's parts where there are several, else itself.
pub(super) fn stand_in(source: &str, token: &Token, options: &MatchOptions<'_>) -> Vec<Token> {
    if let Some(alternatives) = options
        .aliases
        .and_then(|aliases| aliases.replacement(token))
    {
        return alternatives;
    }
    let composed: String = source.nfc().collect();
    let word = Word::read(&composed, options.tokenizer);
    if token.kind == TokenKind::Phrase || word.parts.len() < 2 {
        return vec![token.clone()];
    }
    vec![Token {
        operator: token.operator,
        ..word.phrase_of_parts()
    }]
}

/// A word of a bare query and what is searched for in its place.
#[derive(Debug)]
pub(super) struct BareWord {
    /// As it stands in the composed text.
    pub source: String,
    /// The parts that count, each with the alternatives of its alias, and the phrase of all.
    pub groups: Vec<Vec<Token>>,
    /// Why.
    pub verdict: Verdict,
}

/// What became of a word of a bare query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// At least one part counts.
    Kept,
    /// Noise, kept because the query is nothing else.
    LastResort,
    /// Neither a letter nor a digit in it.
    OnlyPunctuation,
    /// A stop word, or made of stop words.
    StopWord,
    /// No part is long enough.
    TooShort,
    /// All of it counted often enough before.
    Repeated,
}

/// Read a bare query word by word.
pub(super) fn bare_words(raw: &str, options: &MatchOptions<'_>) -> Vec<BareWord> {
    let composed: String = raw.nfc().collect();
    let words: Vec<(&str, Word)> = whitespace::words(&composed)
        .map(|source| (source, Word::read(source, options.tokenizer)))
        .collect();
    let mut counter = Counter {
        seen: HashMap::new(),
        most: MAX_REPEATS,
        options,
    };
    let mut read: Vec<BareWord> = words
        .iter()
        .map(|(source, word)| counter.word(source, word))
        .collect();
    if read.iter().all(|word| word.groups.is_empty()) {
        // Better a search for noise than none at all: every part, once.
        let mut once = Counter {
            seen: HashMap::new(),
            most: 1,
            options,
        };
        for (bare, (_, word)) in read.iter_mut().zip(&words) {
            bare.groups = word
                .parts
                .iter()
                .filter_map(|part| once.part(part))
                .collect();
            if !bare.groups.is_empty() {
                bare.verdict = Verdict::LastResort;
            }
        }
    }
    read
}

/// Counts what a bare query searches for, so that nothing counts too often.
struct Counter<'a> {
    seen: HashMap<Token, usize>,
    most: usize,
    options: &'a MatchOptions<'a>,
}

impl Counter<'_> {
    fn word(&mut self, source: &str, word: &Word) -> BareWord {
        let (groups, verdict) = self.judge(word);
        BareWord {
            source: source.to_owned(),
            groups,
            verdict,
        }
    }

    fn judge(&mut self, word: &Word) -> (Vec<Vec<Token>>, Verdict) {
        if word.parts.is_empty() {
            return (Vec::new(), Verdict::OnlyPunctuation);
        }
        if word.is_stopword(self.options) {
            return (Vec::new(), Verdict::StopWord);
        }
        let options = self.options;
        let searched: Vec<&Part> = word
            .parts
            .iter()
            .filter(|part| part.is_worth_searching(options))
            .collect();
        if searched.is_empty() && word.parts.len() == 1 {
            let stopword = word
                .parts
                .iter()
                .any(|part| options.is_stopword(&part.text));
            let verdict = if stopword {
                Verdict::StopWord
            } else {
                Verdict::TooShort
            };
            return (Vec::new(), verdict);
        }
        let mut groups: Vec<Vec<Token>> = searched
            .into_iter()
            .filter_map(|part| self.part(part))
            .collect();
        if word.parts.len() > 1 {
            let whole = word.phrase_of_parts();
            if self.counts(&whole) {
                groups.push(vec![whole]);
            }
        }
        let verdict = if groups.is_empty() {
            Verdict::Repeated
        } else {
            Verdict::Kept
        };
        (groups, verdict)
    }

    /// The part, or the alternatives of its alias; nothing once it came often enough.
    fn part(&mut self, part: &Part) -> Option<Vec<Token>> {
        let kind = if part.prefix {
            TokenKind::Prefix
        } else {
            TokenKind::Term
        };
        let token = Token {
            kind,
            text: part.text.clone(),
            operator: None,
        };
        let counts = self.counts(&token);
        let replacement = |aliases: &AliasTable| aliases.replacement(&token);
        counts.then(|| {
            self.options
                .aliases
                .and_then(replacement)
                .unwrap_or_else(|| vec![token.clone()])
        })
    }

    fn counts(&mut self, token: &Token) -> bool {
        let count = self.seen.entry(token.clone()).or_default();
        *count += 1;
        *count <= self.most
    }
}

/// A word of the text, its parts without the punctuation around and between them.
struct Word {
    text: String,
    parts: Vec<Part>,
}

/// A maximal run of letters and digits inside a word.
struct Part {
    /// In lower case.
    text: String,
    /// Two letters, both written in capitals.
    abbreviation: bool,
    /// The last part of a word that ended in `*`.
    prefix: bool,
}

impl Word {
    fn read(source: &str, tokenizer: TokenizerKind) -> Self {
        let source = source.replace('’', "'");
        let prefix = source.ends_with('*');
        let text = source
            .trim_start_matches(|c| !is_letter_or_digit(c))
            .trim_end_matches(|c| !continues_word(c, tokenizer));
        let lowered = lower(text.to_owned());
        let text = text
            .strip_suffix("'s")
            .or_else(|| text.strip_suffix("'S"))
            .unwrap_or(text);
        let mut parts: Vec<Part> = text
            .split(|c| !continues_word(c, tokenizer))
            .map(|run| run.trim_start_matches(|c| !is_letter_or_digit(c)))
            .filter(|run| !run.is_empty())
            .map(|run| Part {
                text: lower(run.to_owned()),
                abbreviation: is_abbreviation(run),
                prefix: false,
            })
            .collect();
        if let Some(last) = parts.last_mut() {
            last.prefix = prefix;
        }
        Self {
            text: lowered,
            parts,
        }
    }

    /// Dropped whole, unless an alias speaks for it.
    fn is_stopword(&self, options: &MatchOptions<'_>) -> bool {
        let joined = self.text.replace('\'', "");
        let forms = [self.text.as_str(), joined.as_str()];
        forms.into_iter().any(|form| options.is_stopword(form))
            && !forms.into_iter().any(|form| options.has_alias(form))
    }

    fn phrase_of_parts(&self) -> Token {
        let texts: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        let prefix = self.parts.last().is_some_and(|part| part.prefix);
        let kind = if prefix {
            TokenKind::Prefix
        } else {
            TokenKind::Phrase
        };
        Token {
            kind,
            text: texts.join(" "),
            operator: None,
        }
    }
}

impl Part {
    fn is_worth_searching(&self, options: &MatchOptions<'_>) -> bool {
        let text = self.text.as_str();
        self.prefix
            || (utf16::len(text) > 2 && !options.is_stopword(text))
            || self.abbreviation
            || text.chars().any(|c| is_digit(c) || is_unspaced(c))
            || options.has_alias(text)
    }
}

/// `TV`, `AI`, `IL`: exactly two letters, both capitals.
fn is_abbreviation(run: &str) -> bool {
    run.chars().count() == 2 && run.chars().all(char::is_uppercase)
}

/// Whether a character may stand within a word: a letter, a digit, or a mark that does not end the words of
/// the tokenizer.
fn continues_word(c: char, tokenizer: TokenizerKind) -> bool {
    let is_mark = match tokenizer {
        TokenizerKind::Words => words::is_mark(c),
        _ => matches!(c, '\u{300}'..='\u{36F}'),
    };
    is_mark || is_letter_or_digit(c)
}

/// A letter of a script that is written without spaces between words, or of Hangul.
fn is_unspaced(c: char) -> bool {
    is_letter_or_digit(c)
        && matches!(
            c.script(),
            Script::Han
                | Script::Hangul
                | Script::Hiragana
                | Script::Katakana
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
        )
}
