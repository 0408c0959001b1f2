//! Alias tables and their expansion (spec/query.md, "Aliases").

use std::collections::{HashMap, HashSet};

use super::ast::{Query, Token, TokenKind};
use super::limits;
use crate::error::{Error, ErrorCode, Result};
use crate::text::category::letter_digit_runs;
use crate::text::lower::lower;

/// Other words for a term. Cleaned once, never changed.
#[derive(Debug, Clone, Default)]
pub struct AliasTable {
    alternatives: HashMap<String, Vec<Alternative>>,
}

#[derive(Debug, Clone)]
struct Alternative {
    kind: TokenKind,
    text: String,
}

impl AliasTable {
    /// A table of `(key, alternatives)`; keys are taken as given, a later equal key wins.
    pub fn new<K, V>(entries: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<String>,
        V: IntoIterator<Item: Into<String>>,
    {
        let alternatives = entries
            .into_iter()
            .map(|(key, surfaces)| (key.into(), clean_alternatives(surfaces)))
            .collect();
        Self { alternatives }
    }

    /// Whether `text` is a key.
    pub fn has_key(&self, text: &str) -> bool {
        self.alternatives.contains_key(text)
    }

    /// The tokens that replace a term: itself where the table has nothing for it.
    pub(super) fn expand(&self, token: &Token) -> Vec<Token> {
        let found = self.alternatives_of(token);
        if found.is_empty() {
            return vec![token.clone()];
        }
        let mut operator = token.operator;
        found
            .iter()
            .map(|Alternative { kind, text }| Token {
                kind: *kind,
                text: text.clone(),
                operator: operator.take(),
            })
            .collect()
    }

    /// Return the tokens that replace a term; None if it is unchanged.
    pub(super) fn replacement(&self, token: &Token) -> Option<Vec<Token>> {
        Some(self.expand(token)).filter(|tokens| tokens.as_slice() != [token.clone()])
    }

    /// Phrases and prefixes are literal and have none.
    fn alternatives_of(&self, token: &Token) -> &[Alternative] {
        if token.kind != TokenKind::Term {
            return &[];
        }
        let found = self.alternatives.get(&token.text);
        found
            .or_else(|| self.alternatives.get(&lower(token.text.clone())))
            .map_or(&[], Vec::as_slice)
    }
}

/// Clean the alternatives: a single word becomes a term, several a phrase. Duplicates and empty
/// words are removed.
fn clean_alternatives(surfaces: impl IntoIterator<Item: Into<String>>) -> Vec<Alternative> {
    let (mut cleaned, mut seen) = (Vec::new(), HashSet::new());
    for surface in surfaces {
        let surface = lower(surface.into());
        let words: Vec<&str> = letter_digit_runs(&surface).collect();
        let kind = match words.len() {
            0 => continue,
            1 => TokenKind::Term,
            _ => TokenKind::Phrase,
        };
        // Equal texts are of one kind: phrases alone have a space.
        let text = words.join(" ");
        if seen.insert(text.clone()) {
            cleaned.push(Alternative { kind, text });
        }
    }
    cleaned
}

/// Replace each term that the table knows by its alternatives; expanding twice is an error.
pub fn expand(query: &Query, aliases: &AliasTable) -> Result<Query> {
    if query.is_expanded() {
        return Err(already_expanded(
            "aliases were expanded in this query and do not chain",
        ));
    }
    let groups: Vec<usize> = query
        .tokens
        .iter()
        .map(|token| aliases.alternatives_of(token).len().max(1))
        .collect();
    limits::check_expanded(groups.iter().sum())?;
    let tokens = query
        .tokens
        .iter()
        .flat_map(|token| aliases.expand(token))
        .collect();
    Ok(Query {
        raw: query.raw.clone(),
        tokens,
        has_operators: query.has_operators,
        groups: Some(groups),
    })
}

/// The error of using an expanded query where a fresh one is needed.
pub(super) fn already_expanded(reason: &str) -> Error {
    Error::new(
        ErrorCode::AlreadyExpanded,
        format!("{reason}; pass the text or the query that parse_query returned"),
    )
}
