//! Extended matching: the words of the text rather than the tokens of the specification,
//! for better recall (spec/compile.md, "Extended matching").

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};

use super::alias::AliasTable;
use super::ast::{Operator, Query, Token, TokenKind};
use super::expression::{Alternatives, MatchExpression, Phrase};
use super::groups::{self, GroupedExpression};
use super::limits;
use super::options::MatchOptions;
use super::parse::{is_exclusion, scan_groups};
use super::variants;
use crate::error::Result;
use crate::rule;
use crate::text::category::{is_digit, is_letter_or_digit};
use crate::text::lower::lower;
use crate::text::tokenizer::TokenizerKind;
use crate::text::{utf16, whitespace, words};

rule! {
    /// Words that the specification drops as too short are searched if they are names, written in capitals, or nearly all that the query has.
    pub(crate) static NAMES_AND_SHORT_WORDS = "names and short words" { SHORT, FEW_WORDS }
}

rule! {
    /// A word with punctuation inside is also searched as the phrase of its parts.
    pub(crate) static PHRASES_OF_PARTS = "phrases of parts" { }
}

/// How often the same part may count.
const MAX_REPEATS: usize = 3;

/// The expression of a query that was not expanded, and the number of its words.
pub(super) fn expression(
    query: &Query,
    options: &MatchOptions<'_>,
) -> Result<(MatchExpression, usize)> {
    if query.has_operators {
        return Ok((with_operators(&query.raw, options)?.expression, 0));
    }
    let mut words = bare_words(&query.raw, options);
    words.retain(|word| !word.groups.is_empty());
    let is_excluded = |word: &BareWord| word.status == WordStatus::Excluded;
    let (excluded, words): (Vec<_>, Vec<_>) = words.into_iter().partition(is_excluded);
    let count = words.len();
    let tokens = |words: &[BareWord]| -> usize {
        let groups = words.iter().flat_map(|word| &word.groups);
        groups.map(Vec::len).sum()
    };
    limits::check_count(words.iter().map(|word| word.groups.len()).sum())?;
    limits::check_expanded(tokens(&words) + tokens(&excluded))?;
    let options = variants::limited(options, count);
    let mut expression = MatchExpression::default();
    for word in &words {
        for phrase in word.phrases(&options)? {
            expression.any.push(vec![phrase]);
        }
    }
    for word in &excluded {
        expression
            .none
            .extend(word.excluded_phrases(options.tokenizer));
    }
    Ok((expression, count))
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

/// A query with operators: its tokens are the specification's, and a word with punctuation inside is the
/// phrase of its parts.
pub(super) fn with_operators(raw: &str, options: &MatchOptions<'_>) -> Result<GroupedExpression> {
    let scan = scan_groups(raw);
    let options = &variants::limited(options, scan.words.len());
    groups::read(&scan, |source, token| {
        let with_symbols = with_symbols(source, options.tokenizer);
        if let [_] = with_symbols.as_slice() {
            return Ok(with_symbols);
        }
        let stand_ins = stand_in(source, token, options);
        let mut phrases: Vec<Phrase> = stand_ins.iter().map(Phrase::of).collect();
        if let [word] = stand_ins.as_slice()
            && word.kind == TokenKind::Term
        {
            phrases.extend(variants::of_word(&word.text, options)?);
        }
        if token.kind == TokenKind::Term {
            phrases.extend(variants::of_hyphened(source, options)?);
        }
        Ok(phrases)
    })
}

/// The words of a query that only their symbols tell from others, such as `C++`, as phrases.
fn with_symbols(source: &str, tokenizer: TokenizerKind) -> Vec<Phrase> {
    if tokenizer != TokenizerKind::Words {
        return Vec::new();
    }
    let words = words::words_with_symbols(source).into_iter();
    words.map(Phrase::with_symbols).collect()
}

/// Return the expression for a token of a query with operators: the alternatives of its alias, the
/// phrase of its word's parts if there are several, else the token.
pub(super) fn stand_in(source: &str, token: &Token, options: &MatchOptions<'_>) -> Vec<Token> {
    if let Some(alternatives) = options
        .aliases
        .and_then(|aliases| aliases.replacement(token))
    {
        return alternatives;
    }
    let composed: String = source.nfc().collect();
    let word = TextWord::read(&composed, options.tokenizer);
    if token.kind == TokenKind::Phrase || word.parts.len() < 2 {
        return vec![token.clone()];
    }
    vec![Token {
        operator: token.operator,
        ..word.phrase_of_parts()
    }]
}

/// A word of a bare query, and the tokens searched in its place.
#[derive(Debug)]
pub(super) struct BareWord {
    /// The word in the composed text.
    pub source: String,
    /// The parts that count, each with the alternatives of its alias, and the phrase of all.
    pub groups: Vec<Vec<Token>>,
    /// Why.
    pub status: WordStatus,
}

/// The outcome of a word of a bare query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordStatus {
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
    /// A minus sign stands before it: results must not have it.
    Excluded,
}

impl BareWord {
    /// Whether the word is searched.
    fn is_searched(&self) -> bool {
        !self.groups.is_empty() && self.status != WordStatus::Excluded
    }

    /// Return the phrases to search: an alternative for each part, alias or phrase, and their other
    /// spellings.
    fn phrases(&self, options: &MatchOptions<'_>) -> Result<Vec<Alternatives>> {
        let mut phrases: Vec<Alternatives> = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            phrases.push(group.iter().map(Phrase::of).collect());
            if let [word] = group.as_slice()
                && word.kind == TokenKind::Term
            {
                let variants = variants::of_word(&word.text, options)?;
                phrases.extend(variants.into_iter().map(|variant| vec![variant]));
            }
        }
        let joined = variants::of_hyphened(&self.source, options)?;
        phrases.extend(joined.map(|phrase| vec![phrase]));
        let with_symbols = with_symbols(&self.source, options.tokenizer);
        phrases.extend(with_symbols.into_iter().map(|phrase| vec![phrase]));
        Ok(phrases)
    }

    /// Return the excluded phrases: the word with its symbols, or else its parts in a row.
    fn excluded_phrases(&self, tokenizer: TokenizerKind) -> Vec<Phrase> {
        let with_symbols = with_symbols(&self.source, tokenizer);
        if !with_symbols.is_empty() {
            return with_symbols;
        }
        self.groups.iter().flatten().map(Phrase::of).collect()
    }
}

/// A bare query with at most this many words that count is also searched for its short words.
const FEW_WORDS: usize = 1;

/// Read a bare query word by word.
pub(super) fn bare_words(raw: &str, options: &MatchOptions<'_>) -> Vec<BareWord> {
    let composed: String = raw.nfc().collect();
    let sources: Vec<&str> = whitespace::words(&composed).collect();
    let mut words: Vec<TextWord> = sources
        .iter()
        .map(|source| TextWord::read(source, options.tokenizer))
        .collect();
    // Without another word there is nothing to exclude from.
    let has_others = sources
        .iter()
        .zip(&words)
        .any(|(source, word)| !is_excluded(source) && !word.parts.is_empty());
    mark_names(&sources, &mut words);
    let mut counter = Counter {
        seen: HashMap::new(),
        most: MAX_REPEATS,
        options,
    };
    let mut read: Vec<BareWord> = sources
        .iter()
        .zip(&words)
        .map(|(source, word)| {
            if has_others && is_excluded(source) {
                word.excluded(source)
            } else {
                counter.word(source, word)
            }
        })
        .collect();
    let kept = |read: &[BareWord]| read.iter().filter(|word| word.is_searched()).count();
    if kept(&read) <= FEW_WORDS && NAMES_AND_SHORT_WORDS.is_on() {
        for (bare, word) in read.iter_mut().zip(&words) {
            if bare.status == WordStatus::TooShort {
                bare.groups = word
                    .parts
                    .iter()
                    .filter_map(|part| counter.new_part(part))
                    .collect();
                if !bare.groups.is_empty() {
                    bare.status = WordStatus::Kept;
                }
            }
        }
    }
    if kept(&read) == 0 {
        // Better a search for noise than none at all: every part, once.
        let mut once = Counter {
            seen: HashMap::new(),
            most: 1,
            options,
        };
        for (bare, word) in read.iter_mut().zip(&words) {
            if bare.status == WordStatus::Excluded {
                continue;
            }
            bare.groups = word
                .parts
                .iter()
                .filter_map(|part| once.part(part))
                .collect();
            if !bare.groups.is_empty() {
                bare.status = WordStatus::LastResort;
            }
        }
    }
    read
}

/// Whether a text has a word that is worth a search: no stop word, and not too short.
pub fn has_words(text: &str, options: &MatchOptions<'_>) -> bool {
    let composed: String = text.nfc().collect();
    let sources: Vec<&str> = whitespace::words(&composed).collect();
    let mut words: Vec<TextWord> = sources
        .iter()
        .map(|source| TextWord::read(source, options.tokenizer))
        .collect();
    mark_names(&sources, &mut words);
    let mut counter = Counter {
        seen: HashMap::new(),
        most: MAX_REPEATS,
        options,
    };
    words
        .iter()
        .any(|word| counter.judge(word).1 == WordStatus::Kept)
}

/// Whether a word is excluded, perhaps in parentheses, which group nothing in a query without operators.
fn is_excluded(source: &str) -> bool {
    is_exclusion(source.trim_start_matches('('))
}

/// Mark the short words that are written with a capital letter within a sentence, such as *Bo* and *Go*, and those in
/// capitals, such as *WHO*. In a query without a word in small letters capitals mean nothing.
fn mark_names(sources: &[&str], words: &mut [TextWord]) {
    let is_small = |word: &TextWord| !word.is_capitalized && utf16::len(&word.text) > SHORT;
    if !words.iter().any(is_small) || !NAMES_AND_SHORT_WORDS.is_on() {
        return;
    }
    let mut is_start = true;
    for (source, word) in sources.iter().zip(words) {
        if let [part] = word.parts.as_mut_slice() {
            let is_short = utf16::len(&part.text) <= SHORT && part.text != "i";
            part.is_name = part.is_capitals || (is_short && word.is_capitalized && !is_start);
        }
        is_start = source.ends_with(['.', '!', '?', ':']);
    }
}

/// The most UTF-16 units of a short word.
const SHORT: usize = 2;

/// Counts the phrases of a bare query, so that repeats are limited.
struct Counter<'a> {
    seen: HashMap<Token, usize>,
    most: usize,
    options: &'a MatchOptions<'a>,
}

impl Counter<'_> {
    fn word(&mut self, source: &str, word: &TextWord) -> BareWord {
        let (groups, status) = self.judge(word);
        BareWord {
            source: source.to_owned(),
            groups,
            status,
        }
    }

    fn judge(&mut self, word: &TextWord) -> (Vec<Vec<Token>>, WordStatus) {
        if word.parts.is_empty() {
            return (Vec::new(), WordStatus::OnlyPunctuation);
        }
        if !word.is_name() && word.is_stopword(self.options) {
            return (Vec::new(), WordStatus::StopWord);
        }
        let options = self.options;
        let searched: Vec<&WordPart> = word
            .parts
            .iter()
            .filter(|part| part.is_worth_searching(options))
            .collect();
        if searched.is_empty() && word.parts.len() == 1 {
            let stopword = word
                .parts
                .iter()
                .any(|part| options.is_stopword(&part.text));
            let status = if stopword {
                WordStatus::StopWord
            } else {
                WordStatus::TooShort
            };
            return (Vec::new(), status);
        }
        let mut groups: Vec<Vec<Token>> = searched
            .into_iter()
            .filter_map(|part| self.part(part))
            .collect();
        if word.parts.len() > 1 {
            let whole = word.phrase_of_parts();
            if PHRASES_OF_PARTS.is_on() && self.counts(&whole) {
                groups.push(vec![whole]);
            }
        }
        let status = if groups.is_empty() {
            WordStatus::Repeated
        } else {
            WordStatus::Kept
        };
        (groups, status)
    }

    /// [`Self::part`] of a part that was not counted before.
    fn new_part(&mut self, part: &WordPart) -> Option<Vec<Token>> {
        let is_known = self.seen.contains_key(&part.token());
        if is_known { None } else { self.part(part) }
    }

    /// The part, or the alternatives of its alias; nothing once it came often enough.
    fn part(&mut self, part: &WordPart) -> Option<Vec<Token>> {
        let token = part.token();
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
struct TextWord {
    text: String,
    parts: Vec<WordPart>,
    /// Whether its first letter is a capital one.
    is_capitalized: bool,
}

/// A maximal run of letters and digits inside a word.
struct WordPart {
    /// In lower case.
    text: String,
    /// Two letters or more, all written in capitals.
    is_capitals: bool,
    /// The last part of a word that ended in `*`.
    prefix: bool,
    /// A short word with a capital letter within a sentence.
    is_name: bool,
}

impl TextWord {
    fn read(source: &str, tokenizer: TokenizerKind) -> Self {
        let source = source.replace('’', "'");
        let prefix = source.ends_with('*');
        let text = source
            .trim_start_matches(|c| !begins_word(c, tokenizer))
            .trim_end_matches(|c| !continues_word(c, tokenizer));
        let lowered = lower(text.to_owned());
        let text = text
            .strip_suffix("'s")
            .or_else(|| text.strip_suffix("'S"))
            .unwrap_or(text);
        let mut parts: Vec<WordPart> = text
            .split(|c| !continues_word(c, tokenizer))
            .map(|run| run.trim_start_matches(|c| !begins_word(c, tokenizer)))
            .filter(|run| !run.is_empty())
            .map(|run| WordPart {
                text: lower(run.to_owned()),
                is_capitals: is_capitals(run),
                prefix: false,
                is_name: false,
            })
            .collect();
        if let Some(joined) = joined(text, tokenizer) {
            parts = vec![joined];
        }
        if let Some(last) = parts.last_mut() {
            last.prefix = prefix;
        }
        Self {
            is_capitalized: text.starts_with(char::is_uppercase),
            text: lowered,
            parts,
        }
    }

    fn is_name(&self) -> bool {
        self.parts.iter().any(|part| part.is_name)
    }

    /// The word as one that results must not have.
    fn excluded(&self, source: &str) -> BareWord {
        let mut token = self.phrase_of_parts();
        if self.parts.len() == 1 && token.kind == TokenKind::Phrase {
            token.kind = TokenKind::Term;
        }
        token.operator = Some(Operator::Not);
        BareWord {
            source: source.to_owned(),
            groups: vec![vec![token]],
            status: WordStatus::Excluded,
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

impl WordPart {
    fn token(&self) -> Token {
        let kind = if self.prefix {
            TokenKind::Prefix
        } else {
            TokenKind::Term
        };
        Token {
            kind,
            text: self.text.clone(),
            operator: None,
        }
    }

    fn is_worth_searching(&self, options: &MatchOptions<'_>) -> bool {
        let text = self.text.as_str();
        self.prefix
            || self.is_name
            || (utf16::len(text) > SHORT && !options.is_stopword(text))
            || (self.is_capitals && text.chars().count() == SHORT)
            || text.chars().any(|c| is_digit(c) || is_unspaced(c))
            || options.has_alias(text)
    }
}

/// The only part of a word within which signs do not count: `U.S.A.`, `12,000`. It is searched like one in capitals.
fn joined(text: &str, tokenizer: TokenizerKind) -> Option<WordPart> {
    let text = words::joined(text).filter(|_| tokenizer == TokenizerKind::Words)?;
    Some(WordPart {
        text,
        is_capitals: true,
        prefix: false,
        is_name: false,
    })
}

/// `TV`, `WHO`: two letters or more, all of them capitals.
fn is_capitals(run: &str) -> bool {
    run.chars().nth(1).is_some() && run.chars().all(char::is_uppercase)
}

/// Whether a character may stand within a word: a letter, a digit, or a mark that does not end the words of
/// the tokenizer.
fn continues_word(c: char, tokenizer: TokenizerKind) -> bool {
    let is_mark = match tokenizer {
        TokenizerKind::Words => words::is_mark(c),
        _ => matches!(c, '\u{300}'..='\u{36F}'),
    };
    is_mark || begins_word(c, tokenizer)
}

/// Whether a character may stand at the beginning of a word: a letter, a digit, or a symbol that is a word of the
/// tokenizer.
fn begins_word(c: char, tokenizer: TokenizerKind) -> bool {
    is_letter_or_digit(c) || (tokenizer == TokenizerKind::Words && words::is_symbol(c))
}

/// A letter of a script that is written without spaces between words, or of Hangul; a symbol that is a word.
fn is_unspaced(c: char) -> bool {
    let is_letter = is_letter_or_digit(c)
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
        );
    is_letter || words::is_symbol(c)
}
