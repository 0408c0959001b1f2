//! Extended matching: the words of the text rather than the tokens of the specification,
//! for better recall (spec/compile.md, "Extended matching").

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};

use super::alias::AliasTable;
use super::ast::{Connective, Query, Token, TokenKind};
use super::compile::{assemble, phrase};
use super::expression::{Alternatives, MatchExpression, Phrase};
use super::limits;
use super::parse::{Fate, scan};
use super::stopwords::is_stopword;
use crate::error::Result;
use crate::text::category::{is_digit, is_letter_or_digit, letter_digit_runs};
use crate::text::{lower::lower, utf16, whitespace};

/// How often the same part may count.
const MAX_REPEATS: usize = 3;

/// The expression of a query that was not expanded.
pub(super) fn expression(query: &Query, aliases: Option<&AliasTable>) -> Result<MatchExpression> {
    if query.has_operators {
        with_operators(query, aliases)
    } else {
        bare(query, aliases)
    }
}

/// The tokens are the specification's; a word with punctuation inside is a phrase of parts.
fn with_operators(query: &Query, aliases: Option<&AliasTable>) -> Result<MatchExpression> {
    let mut groups = Vec::new();
    for word in scan(&query.raw).words {
        let Fate::Kept(token) = word.fate else {
            continue;
        };
        let replaced = replacement(&token, aliases);
        let alternatives = match replaced {
            Some(alternatives) => alternatives,
            None if token.kind == TokenKind::Phrase => vec![phrase(&token)],
            None => vec![word_phrase(word.source, &token)],
        };
        groups.push((token.operator, alternatives));
    }
    limits::check_expanded(
        groups
            .iter()
            .map(|(_, alternatives)| alternatives.len())
            .sum(),
    )?;
    Ok(assemble(groups.into_iter(), Connective::Or))
}

/// The phrase of a word's parts where it has several, else the token as the parser has it.
fn word_phrase(source: &str, token: &Token) -> Phrase {
    let composed: String = source.nfc().collect();
    let word = Word::read(&composed);
    if word.parts.len() > 1 {
        word.phrase_of_parts()
    } else {
        phrase(token)
    }
}

fn bare(query: &Query, aliases: Option<&AliasTable>) -> Result<MatchExpression> {
    let composed: String = query.raw.nfc().collect();
    let words: Vec<Word> = whitespace::words(&composed).map(Word::read).collect();
    let mut picked = Picked {
        groups: Vec::new(),
        seen: HashMap::new(),
        aliases,
    };
    for word in words.iter().filter(|word| !word.is_stopword(aliases)) {
        for part in word
            .parts
            .iter()
            .filter(|part| part.is_worth_searching(aliases))
        {
            picked.add_part(part, MAX_REPEATS);
        }
        if word.parts.len() > 1 {
            picked.add(word.phrase_of_parts(), MAX_REPEATS);
        }
    }
    if picked.groups.is_empty() {
        // Better a search for noise than none at all: every part, once.
        for part in words.iter().flat_map(|word| &word.parts) {
            picked.add_part(part, 1);
        }
    }
    limits::check_tokens(picked.groups.len())?;
    limits::check_expanded(picked.groups.iter().map(Vec::len).sum())?;
    let any = picked
        .groups
        .into_iter()
        .map(|alternatives| vec![alternatives])
        .collect();
    Ok(MatchExpression {
        any,
        none: Vec::new(),
    })
}

/// What a bare query searches for, in order.
struct Picked<'a> {
    groups: Vec<Alternatives>,
    seen: HashMap<Phrase, usize>,
    aliases: Option<&'a AliasTable>,
}

impl Picked<'_> {
    fn add_part(&mut self, part: &Part, most: usize) {
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
        if self.counts(phrase(&token), most) {
            let alternatives = replacement(&token, self.aliases);
            self.groups
                .push(alternatives.unwrap_or_else(|| vec![phrase(&token)]));
        }
    }

    fn add(&mut self, phrase: Phrase, most: usize) {
        if self.counts(phrase.clone(), most) {
            self.groups.push(vec![phrase]);
        }
    }

    fn counts(&mut self, phrase: Phrase, most: usize) -> bool {
        let count = self.seen.entry(phrase).or_default();
        *count += 1;
        *count <= most
    }
}

/// What the alias table puts in a token's place, if it knows it.
fn replacement(token: &Token, aliases: Option<&AliasTable>) -> Option<Alternatives> {
    let group = aliases?.expand(token);
    let replaced = group.len() != 1 || group.first() != Some(token);
    replaced.then(|| group.iter().map(phrase).collect())
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
    fn read(source: &str) -> Self {
        let source = source.replace('’', "'");
        let prefix = source.ends_with('*');
        let text = source.trim_matches(|c| !is_letter_or_digit(c));
        let lowered = lower(text.to_owned());
        let text = text
            .strip_suffix("'s")
            .or_else(|| text.strip_suffix("'S"))
            .unwrap_or(text);
        let mut parts: Vec<Part> = letter_digit_runs(text)
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
    fn is_stopword(&self, aliases: Option<&AliasTable>) -> bool {
        let joined = self.text.replace('\'', "");
        let forms = [self.text.as_str(), joined.as_str()];
        forms.into_iter().any(is_stopword)
            && !forms.into_iter().any(|form| is_alias_key(form, aliases))
    }

    fn phrase_of_parts(&self) -> Phrase {
        let texts: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        let prefix = self.parts.last().is_some_and(|part| part.prefix);
        Phrase {
            text: texts.join(" "),
            prefix,
        }
    }
}

impl Part {
    fn is_worth_searching(&self, aliases: Option<&AliasTable>) -> bool {
        let text = self.text.as_str();
        self.prefix
            || (utf16::len(text) > 2 && !is_stopword(text))
            || self.abbreviation
            || text.chars().any(|c| is_digit(c) || is_unspaced(c))
            || is_alias_key(text, aliases)
    }
}

fn is_alias_key(text: &str, aliases: Option<&AliasTable>) -> bool {
    aliases.is_some_and(|aliases| aliases.has_key(text))
}

/// `TV`, `AI`, `IL`: exactly two letters, both capitals.
fn is_abbreviation(run: &str) -> bool {
    run.chars().count() == 2 && run.chars().all(char::is_uppercase)
}

/// A letter of a script that is written without spaces between words.
fn is_unspaced(c: char) -> bool {
    is_letter_or_digit(c)
        && matches!(
            c.script(),
            Script::Han
                | Script::Hiragana
                | Script::Katakana
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
        )
}
