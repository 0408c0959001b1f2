//! The reason that each word of a query is searched or not.

use std::collections::HashSet;

use super::ast::{Operator, Query, Token, TokenKind};
use super::compile::{compile_fts, compile_match, with_plain_signs};
use super::extended::{self, BareWord, WordStatus};
use super::options::{MatchOptions, Matching};
use super::parse::{DropReason, OperatorFate, QueryWord, WordOutcome, scan, scan_groups};
use super::stopwords::{DUTCH_FUNCTION, ENGLISH};
use crate::error::Result;
use crate::text::category::letter_digit_runs;
use crate::text::lower::lower;
use crate::text::tokenizer::TokenizerKind;
use crate::text::words;

/// A query with every step it took from text to expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryExplanation {
    /// The text after normalisation.
    pub normalised: String,
    /// Whether short words and stop words were dropped: no quote and no operator in the text.
    pub filtered: bool,
    /// Every word of the text, in order.
    pub words: Vec<ExplainedWord>,
    /// The normative text.
    pub fts: String,
    /// The expression that SQLite runs.
    pub match_text: String,
}

/// A word and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedWord {
    /// The word in the normalised text, a phrase without its quotes.
    pub source: String,
    /// `kept`, `operator` or `dropped`.
    pub outcome: &'static str,
    /// The tokens of the word: none, one, or the alternatives of its alias.
    pub tokens: Vec<Token>,
    /// A word for why, from the list in spec/query.md, "Explanation".
    pub reason: &'static str,
    /// The outcome in a sentence.
    pub detail: String,
}

/// The words of `text` that a bare query is not searched for: noise, each once, as they stand there.
pub fn not_searched_for(text: &str, options: &MatchOptions<'_>) -> Result<Vec<String>> {
    let query = super::parse_with(text, options.stopwords)?;
    let query = with_plain_signs(&query, options)?.unwrap_or(query);
    let noise = words(&query, options).into_iter().filter(|word| {
        word.outcome == "dropped" && matches!(word.reason, "stop_word" | "too_short" | "filler")
    });
    let mut seen = HashSet::new();
    Ok(noise
        .map(|word| word.source)
        .filter(|word| seen.insert(word.clone()))
        .collect())
}

/// Explain `text` as [`super::parse()`], [`compile_fts`] and [`compile_match`] treat it.
pub fn explain(text: &str, options: &MatchOptions<'_>) -> Result<QueryExplanation> {
    let query = super::parse_with(text, options.stopwords)?;
    let plain = with_plain_signs(&query, options)?;
    let executed = plain.as_ref().unwrap_or(&query);
    let words = words(executed, options);
    let mut explanation = QueryExplanation {
        fts: compile_fts(&query, options.aliases, options.default_operator)?,
        match_text: compile_match(executed, options)?,
        filtered: !executed.has_operators,
        normalised: query.raw,
        words,
    };
    for word in &mut explanation.words {
        word.note_unsearchable(options.tokenizer)?;
    }
    Ok(explanation)
}

fn words(query: &Query, options: &MatchOptions<'_>) -> Vec<ExplainedWord> {
    if options.matching == Matching::Extended && !query.has_operators {
        return extended::bare_words(&query.raw, options)
            .into_iter()
            .map(|word| bare_word(word, options))
            .collect();
    }
    scanned_words(query, options)
}

fn scanned_words(query: &Query, options: &MatchOptions<'_>) -> Vec<ExplainedWord> {
    let mut first_token = true;
    let explain_word = |word: QueryWord<'_>| {
        let source = word.source.to_owned();
        match word.outcome {
            WordOutcome::Operator(operator, outcome) => {
                operator_word(source, operator, outcome, first_token)
            }
            WordOutcome::Dropped(DropReason::TooShort(text))
                if options.tokenizer == TokenizerKind::Words && words::has_run(&text) =>
            {
                let token = Token {
                    kind: TokenKind::Term,
                    text: text.into_owned(),
                    operator: None,
                };
                kept_word(source, &token, options)
            }
            WordOutcome::Dropped(reason) => dropped_word(source, &reason, options),
            WordOutcome::Open(_) => group_word(source, "group", "begins a group"),
            WordOutcome::Close => group_word(source, "group", "ends a group"),
            WordOutcome::Minus => {
                group_word(source, "minus", "results must not have the next token")
            }
            WordOutcome::Kept(token) => {
                first_token = false;
                kept_word(source, &token.into_owned(), options)
            }
        }
    };
    let scan = match options.matching {
        Matching::Extended => scan_groups(&query.raw),
        Matching::Spec => scan(&query.raw, options.stopwords),
    };
    scan.words.into_iter().map(explain_word).collect()
}

/// A word of a bare query in extended matching.
fn bare_word(word: BareWord, options: &MatchOptions<'_>) -> ExplainedWord {
    let (outcome, reason, detail) = match word.status {
        WordStatus::Kept => ("kept", "parts", ""),
        WordStatus::LastResort => (
            "kept",
            "last_resort",
            "noise, but the query is nothing else",
        ),
        WordStatus::OnlyPunctuation => ("dropped", "only_punctuation", "only punctuation"),
        WordStatus::StopWord => ("dropped", "stop_word", function_word_detail(&word, options)),
        WordStatus::TooShort => ("dropped", "too_short", "too short: at most 2 UTF-16 units"),
        WordStatus::Repeated => ("dropped", "repeated", "counted three times already"),
        WordStatus::Excluded => ("kept", "excluded", "results must not have it"),
    };
    let tokens = word.groups.into_iter().flatten().collect();
    ExplainedWord {
        source: word.source,
        outcome,
        tokens,
        reason,
        detail: detail.to_owned(),
    }
}

/// A parenthesis or a minus sign.
fn group_word(source: String, reason: &'static str, detail: &str) -> ExplainedWord {
    ExplainedWord {
        source,
        outcome: "operator",
        tokens: Vec::new(),
        reason,
        detail: detail.to_owned(),
    }
}

fn operator_word(
    source: String,
    operator: Operator,
    outcome: OperatorFate,
    first_token: bool,
) -> ExplainedWord {
    let (outcome, reason, detail) = match outcome {
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

fn dropped_word(
    source: String,
    reason: &DropReason<'_>,
    options: &MatchOptions<'_>,
) -> ExplainedWord {
    let (text, reason, detail) = match reason {
        DropReason::OnlyPunctuation => ("", "only_punctuation", "only punctuation".to_owned()),
        DropReason::EmptyPhrase => ("", "empty_phrase", "a phrase without text".to_owned()),
        DropReason::Parenthesis => (
            "",
            "parenthesis",
            "it has no counterpart, or is too deep".to_owned(),
        ),
        DropReason::TooShort(text) => (
            &**text,
            "too_short",
            "too short: at most 2 UTF-16 units".to_owned(),
        ),
        DropReason::Filler(text) => (
            &**text,
            "filler",
            "operators count in upper case only".to_owned(),
        ),
        DropReason::StopWord(text) => (&**text, "stop_word", stop_word_detail(text, options)),
    };
    let has_alias = options.aliases.is_some_and(|table| table.has_key(text));
    let detail = if has_alias {
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

const OWN_STOP_WORD: &str = "a stop word of this index";

/// The list of function words that a dropped word is in; of a word with several parts, that of the first
/// part.
fn function_word_detail(word: &BareWord, options: &MatchOptions<'_>) -> &'static str {
    let text = lower(word.source.clone());
    let first = letter_digit_runs(&text).next().unwrap_or_default();
    if options.stopwords.name().is_none() {
        OWN_STOP_WORD
    } else if DUTCH_FUNCTION.contains(first) {
        "a stop word: function words of Dutch"
    } else {
        "a stop word: function words of English"
    }
}

fn stop_word_detail(text: &str, options: &MatchOptions<'_>) -> String {
    // The two lists have no word in common.
    if options.stopwords.name().is_none() {
        OWN_STOP_WORD.to_owned()
    } else if ENGLISH.contains(text) {
        "a stop word: English".to_owned()
    } else {
        "a stop word: Dutch".to_owned()
    }
}

fn kept_word(source: String, token: &Token, options: &MatchOptions<'_>) -> ExplainedWord {
    let tokens = match (options.matching, options.aliases) {
        (Matching::Extended, _) => extended::stand_in(&source, token, options),
        (Matching::Spec, Some(aliases)) => aliases.expand(token),
        (Matching::Spec, None) => vec![token.clone()],
    };
    let replacement = options
        .aliases
        .and_then(|aliases| aliases.replacement(token));
    let (reason, detail) = if replacement.is_some() {
        ("alias", format!("{} is an alias", token.text))
    } else if tokens.iter().any(|stand_in| stand_in.kind != token.kind) {
        ("parts", String::new())
    } else {
        (token.kind.as_str(), String::new())
    };
    ExplainedWord {
        source,
        outcome: "kept",
        tokens,
        reason,
        detail,
    }
}

impl ExplainedWord {
    /// Mark a kept word as unsearchable if the tokenizer of the index finds no token in it.
    fn note_unsearchable(&mut self, tokenizer: TokenizerKind) -> Result<()> {
        for token in &self.tokens {
            if tokenizer.finds_token(&token.text)? {
                return Ok(());
            }
        }
        if self.outcome == "kept" {
            self.reason = "unsearchable";
            self.detail = format!(
                "the {} tokenizer finds nothing to search in it",
                tokenizer.as_str()
            );
        }
        Ok(())
    }
}
