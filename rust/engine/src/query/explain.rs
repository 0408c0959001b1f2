//! Why each word of a query is searched for, or is not.

use super::alias::{self, AliasTable};
use super::ast::{Connective, Operator, Query, Token};
use super::compile::{MatchOptions, compile_fts, compile_match};
use super::parse::{Fate, OperatorFate, Reason, scan};
use super::stopwords::ENGLISH;
use crate::error::Result;
use crate::text::tokenizer::TokenizerKind;

/// A query with every step it took from text to expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The text after normalisation.
    pub normalised: String,
    /// Whether short words and stop words were dropped: no quote and no operator in the text.
    pub filtered: bool,
    /// Every word of the text, in order.
    pub words: Vec<ExplainedWord>,
    /// The normative text.
    pub fts: String,
    /// What SQLite runs.
    pub match_text: String,
}

/// One word and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedWord {
    /// As it stands in the normalised text, a phrase without its quotes.
    pub source: String,
    /// `kept`, `operator` or `dropped`.
    pub outcome: &'static str,
    /// What it became: none, one, or the alternatives of its alias.
    pub tokens: Vec<Token>,
    /// A word for why, from the list in spec/query.md, "Explanation".
    pub reason: &'static str,
    /// The same in a sentence.
    pub detail: String,
}

/// Explain `text` as [`super::parse()`], [`compile_fts`] and [`compile_match`] treat it.
pub fn explain(
    text: &str,
    aliases: Option<&AliasTable>,
    tokenizer: TokenizerKind,
) -> Result<Explanation> {
    let query = super::parse(text)?;
    let mut words = Vec::new();
    let mut first_token = true;
    for word in scan(&query.raw).words {
        let source = word.source.to_owned();
        words.push(match word.fate {
            Fate::Operator(operator, fate) => operator_word(source, operator, fate, first_token),
            Fate::Dropped(reason) => dropped_word(source, &reason, aliases),
            Fate::Kept(token) => {
                first_token = false;
                kept_word(source, &token, aliases, tokenizer)?
            }
        });
    }
    let expanded = expand_if_given(&query, aliases)?;
    let options = MatchOptions {
        tokenizer,
        ..MatchOptions::default()
    };
    Ok(Explanation {
        fts: compile_fts(&expanded, None, Connective::Or)?,
        match_text: compile_match(&expanded, &options)?,
        filtered: !query.has_operators,
        normalised: query.raw,
        words,
    })
}

fn expand_if_given(query: &Query, aliases: Option<&AliasTable>) -> Result<Query> {
    aliases.map_or_else(
        || Ok(query.clone()),
        |aliases| alias::expand(query, aliases),
    )
}

fn operator_word(
    source: String,
    operator: Operator,
    fate: OperatorFate,
    first_token: bool,
) -> ExplainedWord {
    let (outcome, reason, detail) = match fate {
        OperatorFate::Attached if first_token && operator == Operator::Not => (
            "dropped",
            "leading_not",
            "a NOT before the first token has nothing to exclude from",
        ),
        OperatorFate::Attached if first_token => (
            "dropped",
            "leading_operator",
            "nothing stands before it to join",
        ),
        OperatorFate::Attached => ("operator", "attached", "applies to the next token"),
        OperatorFate::Replaced => ("dropped", "replaced", "a later operator takes its place"),
        OperatorFate::Cleared => (
            "dropped",
            "cleared",
            "the next word is only punctuation and takes it along",
        ),
        OperatorFate::Dangling => ("dropped", "dangling", "no token follows"),
    };
    ExplainedWord {
        source,
        outcome,
        tokens: Vec::new(),
        reason,
        detail: detail.to_owned(),
    }
}

fn dropped_word(source: String, reason: &Reason, aliases: Option<&AliasTable>) -> ExplainedWord {
    let (text, reason, detail) = match reason {
        Reason::OnlyPunctuation => ("", "only_punctuation", "only punctuation".to_owned()),
        Reason::EmptyPhrase => ("", "empty_phrase", "a phrase without text".to_owned()),
        Reason::TooShort(text) => (
            text.as_str(),
            "too_short",
            "too short: at most 2 UTF-16 units".to_owned(),
        ),
        Reason::Filler(text) => (
            text.as_str(),
            "filler",
            "operators count in upper case only".to_owned(),
        ),
        Reason::StopWord(text) => (text.as_str(), "stop_word", stop_word_detail(text)),
    };
    let detail = if aliases.is_some_and(|aliases| aliases.has_key(text)) {
        format!("dropped before aliases: {detail}")
    } else {
        detail
    };
    ExplainedWord {
        source,
        outcome: "dropped",
        tokens: Vec::new(),
        reason,
        detail,
    }
}

fn stop_word_detail(text: &str) -> String {
    // The two lists have no word in common.
    let language = if ENGLISH.contains(text) {
        "English"
    } else {
        "Dutch"
    };
    format!("a stop word: {language}")
}

fn kept_word(
    source: String,
    token: &Token,
    aliases: Option<&AliasTable>,
    tokenizer: TokenizerKind,
) -> Result<ExplainedWord> {
    let tokens = aliases.map_or_else(|| vec![token.clone()], |aliases| aliases.expand(token));
    let replaced = tokens.len() != 1 || tokens.first() != Some(token);
    let mut searchable = false;
    for token in &tokens {
        searchable |= tokenizer.finds_token(&token.text)?;
    }
    let (reason, detail) = if !searchable {
        let detail = format!(
            "the {} tokenizer finds nothing to search in it",
            tokenizer.as_str()
        );
        ("unsearchable", detail)
    } else if replaced {
        ("alias", format!("{} is an alias", token.text))
    } else {
        (token.kind.as_str(), String::new())
    };
    Ok(ExplainedWord {
        source,
        outcome: "kept",
        tokens,
        reason,
        detail,
    })
}
